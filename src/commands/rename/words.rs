//! The names of a kind, where they stand in code and in other text. Pure.

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

use crate::error::{RenameError, Result};
use crate::tree::Tree;

use super::super::moves;

/// What may stand behind a kind in the name of a type.
const ENDINGS: [&str; 7] = [
    "",
    "Converter",
    "Defaulter",
    "List",
    "Spec",
    "Status",
    "Validator",
];

/// The names of a kind, the old one and the new one.
#[derive(Debug, Default)]
pub struct Words {
    /// The group, with the domain; it stays.
    pub group: String,
    pub kind: [String; 2],
    pub lower: [String; 2],
    pub plural: [String; 2],
    /// Of the webhooks, in the API server's configuration.
    pub webhooks: Vec<[String; 2]>,
}

/// What the tokens of an attribute begin with.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attribute {
    No,
    /// Behind `#` or `#!`.
    Begins,
    /// As many brackets are open.
    Inside(usize),
}

impl Attribute {
    fn after(self, kind: TokenKind) -> Self {
        match (self, kind) {
            (Self::No | Self::Begins, TokenKind::Pound) => Self::Begins,
            (Self::Begins, TokenKind::Bang | TokenKind::Whitespace) => Self::Begins,
            (Self::Begins, TokenKind::OpenBracket) => Self::Inside(1),
            (Self::Inside(depth), TokenKind::OpenBracket) => Self::Inside(depth + 1),
            (Self::Inside(1), TokenKind::CloseBracket) => Self::No,
            (Self::Inside(depth), TokenKind::CloseBracket) => Self::Inside(depth - 1),
            (Self::Inside(depth), _) => Self::Inside(depth),
            _ => Self::No,
        }
    }
}

impl Words {
    /// Refuses a new name that the project's code has already.
    pub fn check(&self, tree: &Tree) -> Result<()> {
        let sources = moves::sources(tree);
        for (path, text) in sources.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let mut at = 0;
            for token in tokenize(text, FrontmatterAllowed::Yes) {
                let word = &text[at..at + token.len as usize];
                at += token.len as usize;
                let ending = word.strip_prefix(&self.kind[1]);
                let is_taken = ending.is_some_and(|ending| ENDINGS.contains(&ending));
                if token.kind == TokenKind::Ident && is_taken {
                    let (name, path) = (word.to_owned(), (*path).to_owned());
                    return Err(RenameError::NameInUse { name, path }.into());
                }
            }
        }
        Ok(())
    }

    /// Rust code with the types of the kind under their new names: as identifiers, in links of doc
    /// comments, in literals of attributes that are nothing else, and in code markers.
    pub fn in_code(&self, text: &str) -> String {
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        let mut attribute = Attribute::No;
        for token in tokenize(text, FrontmatterAllowed::Yes) {
            let word = &text[at..at + token.len as usize];
            at += token.len as usize;
            match token.kind {
                TokenKind::Ident => result.push_str(&self.identifier(word)),
                TokenKind::Literal {
                    kind: LiteralKind::Str { terminated: true },
                    ..
                } if matches!(attribute, Attribute::Inside(_)) => {
                    result.push_str(&self.path(word));
                }
                TokenKind::LineComment { doc_style: None } => result.push_str(&self.marker(word)),
                TokenKind::LineComment { .. }
                | TokenKind::BlockComment {
                    doc_style: Some(_), ..
                } => result.push_str(&self.links(word)),
                _ => result.push_str(word),
            }
            attribute = attribute.after(token.kind);
        }
        result
    }

    fn identifier(&self, word: &str) -> String {
        match word.strip_prefix(&self.kind[0]) {
            Some(ending) if ENDINGS.contains(&ending) => format!("{}{ending}", self.kind[1]),
            _ => word.to_owned(),
        }
    }

    /// A text with each identifier in it under its new name, if it is a path of them.
    fn path(&self, text: &str) -> String {
        let is_path = |c: char| c.is_alphanumeric() || "_:`\"()!@".contains(c);
        if !text.chars().all(is_path) {
            return text.to_owned();
        }
        let is_between = |c: char| !c.is_alphanumeric() && c != '_';
        let words = text.split_inclusive(is_between);
        words
            .map(|word| {
                let bare = word.trim_end_matches(is_between);
                format!("{}{}", self.identifier(bare), &word[bare.len()..])
            })
            .collect()
    }

    /// A doc comment with its links under their new names.
    fn links(&self, comment: &str) -> String {
        let mut result = String::new();
        let mut rest = comment;
        while let Some(open) = rest.find(['[', '(']) {
            let is_link = rest[open..].starts_with('[') || rest[..open].ends_with(']');
            let (before, behind) = rest.split_at(open + 1);
            result.push_str(before);
            let end = behind.find(['[', ']', ')']).unwrap_or(behind.len());
            let (inner, behind) = behind.split_at(end);
            result.push_str(&if is_link {
                self.path(inner)
            } else {
                inner.to_owned()
            });
            rest = behind;
        }
        result + rest
    }

    /// A comment with the resource and the webhooks under their new names, if it is a code marker for
    /// them.
    fn marker(&self, comment: &str) -> String {
        let body = comment.trim_start_matches('/').trim_start();
        let is_marker = body.starts_with("+kbr:") || body.starts_with("+kubebuilder:");
        let mut arguments = comment.split(',').filter_map(argument);
        let is_ours = |(name, value): (&str, &str)| {
            name == "groups" && value.split(';').any(|it| bare(it) == self.group)
        };
        if !is_marker || !arguments.any(is_ours) {
            return comment.to_owned();
        }
        let renamed = comment.split(',').map(|text| match argument(text) {
            Some(("resources", value)) => {
                let resources: Vec<String> = value.split(';').map(|it| self.resource(it)).collect();
                text.replace(value, &resources.join(";"))
            }
            Some(("name", value)) => {
                let mut webhooks = self.webhooks.iter();
                let webhook = webhooks.find(|[old, _]| bare(value) == old);
                webhook.map_or(text.to_owned(), |[old, new]| text.replace(old, new))
            }
            _ => text.to_owned(),
        });
        renamed.collect::<Vec<_>>().join(",")
    }

    /// A resource of a marker, perhaps with a subresource.
    fn resource(&self, text: &str) -> String {
        let [old, new] = &self.plural;
        let rest = bare(text).strip_prefix(old.as_str());
        match rest.filter(|rest| rest.is_empty() || rest.starts_with('/')) {
            Some(_) => text.replacen(old, new, 1),
            None => text.to_owned(),
        }
    }

    /// The first of the old names in a text.
    pub fn left_in<'a>(&'a self, text: &str) -> Option<&'a str> {
        let text = text.replace(&self.kind[1], "");
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_in = |name: &str| {
            let is_kind = name == self.kind[0];
            text.match_indices(name).any(|(at, _)| {
                let behind = text[at + name.len()..].chars().next();
                // A kind is left in `CaptainSpec` as well.
                let is_end = is_kind && behind.is_some_and(char::is_uppercase);
                !is_letter(text[..at].chars().next_back()) && (is_end || !is_letter(behind))
            })
        };
        let names = [&self.kind[0], &self.plural[0], &self.lower[0]];
        names
            .map(String::as_str)
            .into_iter()
            .find(|name| is_in(name))
    }
}

/// Name and value of a marker's argument.
fn argument(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    Some((name.rsplit(':').next()?.trim(), value))
}

/// A value without what may be around it.
fn bare(value: &str) -> &str {
    value.trim().trim_matches(['"', '{', '}'])
}
