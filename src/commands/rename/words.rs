//! The names of a kind, a version or a group in code and in other text. Pure.

use ra_ap_rustc_lexer::{FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

use crate::commands::error::Result;
use crate::commands::rename::error::RenameError;
use crate::tree::Tree;

use crate::commands::moves;

/// The suffixes that may follow a kind in the name of a type.
const ENDINGS: [&str; 7] = [
    "",
    "Converter",
    "Defaulter",
    "List",
    "Spec",
    "Status",
    "Validator",
];

/// Pairs of old and new names.
#[derive(Debug, Default)]
pub struct Words {
    /// The group, including the domain.
    pub group: [String; 2],
    /// The kind, if it changes.
    pub kind: Option<[String; 2]>,
    /// The version, if it changes.
    pub version: Option<[String; 2]>,
    /// The plurals of the kinds concerned; empty if these are all kinds of the group.
    pub plurals: Vec<[String; 2]>,
    /// The names of the webhooks in the API server's configuration.
    pub webhooks: Vec<[String; 2]>,
    pub left: Left,
}

/// How to recognize that a text still has an old name.
#[derive(Debug)]
pub enum Left {
    /// The kind in lower case; the other names are in [`Words`].
    Kind(String),
    /// One of these names; unless `beside` is empty, one of its words must also be in the text.
    Names {
        names: Vec<String>,
        beside: Vec<String>,
    },
}

impl Default for Left {
    fn default() -> Self {
        Self::Names {
            names: Vec::new(),
            beside: Vec::new(),
        }
    }
}

/// The position relative to an attribute while reading tokens.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Attribute {
    No,
    /// After `#` or `#!`.
    Begins,
    /// Inside an attribute, with this many open brackets.
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
    /// Refuses a new kind whose names already exist in the project's code.
    pub fn check(&self, tree: &Tree) -> Result<()> {
        let Some([_, kind]) = &self.kind else {
            return Ok(());
        };
        let sources = moves::sources(tree);
        for (path, text) in sources.iter().filter(|(path, _)| path.ends_with(".rs")) {
            let mut at = 0;
            for token in tokenize(text, FrontmatterAllowed::Yes) {
                let word = &text[at..at + token.len as usize];
                at += token.len as usize;
                let ending = word.strip_prefix(kind);
                let is_taken = ending.is_some_and(|ending| ENDINGS.contains(&ending));
                if token.kind == TokenKind::Ident && is_taken {
                    let (name, path) = (word.to_owned(), (*path).to_owned());
                    return Err(RenameError::NameInUse { name, path }.into());
                }
            }
        }
        Ok(())
    }

    /// Rust code with the new names: types of the kind as identifiers, in links of doc comments and in
    /// literals of attributes that contain nothing else; the group of `#[kube]`; its version if `has_type`;
    /// and all of them in code markers.
    pub fn in_code(&self, text: &str, has_type: bool) -> String {
        let mut result = String::with_capacity(text.len());
        let mut at = 0;
        let mut attribute = Attribute::No;
        // The name before a value.
        let mut key = "";
        for token in tokenize(text, FrontmatterAllowed::Yes) {
            let word = &text[at..at + token.len as usize];
            at += token.len as usize;
            match token.kind {
                TokenKind::Ident => {
                    key = word;
                    result.push_str(&self.identifier(word));
                }
                TokenKind::Literal {
                    kind: LiteralKind::Str { terminated: true },
                    ..
                } if matches!(attribute, Attribute::Inside(_)) => {
                    let pair = match key {
                        "group" => Some(&self.group),
                        "version" => self.version.as_ref().filter(|_| has_type),
                        _ => None,
                    };
                    let pair = pair.filter(|[old, _]| bare(word) == old);
                    result.push_str(&match pair {
                        Some([old, new]) => word.replace(old, new),
                        None => self.path(word),
                    });
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
        let renamed = self.kind.as_ref().and_then(|[old, new]| {
            let ending = word.strip_prefix(old.as_str())?;
            ENDINGS.contains(&ending).then(|| format!("{new}{ending}"))
        });
        renamed.unwrap_or_else(|| word.to_owned())
    }

    /// Renames each identifier in a text, if the text is a path of identifiers.
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

    /// Renames the links in a doc comment.
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

    /// Renames in a comment, if it is a code marker for the renamed resource.
    fn marker(&self, comment: &str) -> String {
        let body = comment.trim_start_matches('/').trim_start();
        let is_marker = body.starts_with("+kbr:") || body.starts_with("+kubebuilder:");
        let has = |name: &str, is_meant: &dyn Fn(&str) -> bool| {
            let mut arguments = comment.split(',').filter_map(argument);
            arguments.any(|(argument, value)| argument == name && value.split(';').any(is_meant))
        };
        let is_ours = has("groups", &|it| bare(it) == self.group[0])
            && (self.plurals.is_empty() || has("resources", &|it| self.resource(it).is_some()));
        if !is_marker || !is_ours {
            return comment.to_owned();
        }
        let each = |text: &str, value: &str, new: &dyn Fn(&str) -> Option<String>| {
            let words = value.split(';');
            let words: Vec<String> = words
                .map(|it| new(it).unwrap_or_else(|| it.to_owned()))
                .collect();
            text.replace(value, &words.join(";"))
        };
        let renamed = comment.split(',').map(|text| match argument(text) {
            Some(("groups", value)) => each(text, value, &|it| renamed(&self.group, it)),
            Some(("resources", value)) => each(text, value, &|it| self.resource(it)),
            Some(("versions", value)) => {
                each(text, value, &|it| renamed(self.version.as_ref()?, it))
            }
            Some(("name", value)) => {
                let mut webhooks = self.webhooks.iter();
                let webhook = webhooks.find_map(|pair| renamed(pair, value));
                webhook.map_or(text.to_owned(), |new| text.replace(value, &new))
            }
            _ => text.to_owned(),
        });
        renamed.collect::<Vec<_>>().join(",")
    }

    /// The new name of a resource in a marker, perhaps with a subresource, if it is renamed.
    fn resource(&self, text: &str) -> Option<String> {
        self.plurals.iter().find_map(|[old, new]| {
            let rest = bare(text).strip_prefix(old.as_str())?;
            (rest.is_empty() || rest.starts_with('/')).then(|| text.replacen(old, new, 1))
        })
    }

    /// The first of the old names that is in a text.
    pub fn left_in<'a>(&'a self, text: &str) -> Option<&'a str> {
        match &self.left {
            Left::Kind(lower) => self.kind_left_in(text, lower),
            Left::Names { names, beside } => {
                let is_beside = beside.is_empty() || beside.iter().any(|it| text.contains(it));
                let mut names = names.iter().filter(|_| is_beside);
                let is_part = |c: Option<char>, others: &str| {
                    c.is_some_and(|c| c.is_alphanumeric() || others.contains(c))
                };
                let name = names.find(|name| {
                    text.match_indices(name.as_str()).any(|(at, _)| {
                        let behind = text[at + name.len()..].chars().next();
                        let before = text[..at].chars().next_back();
                        !is_part(before, ".-") && !is_part(behind, "-")
                    })
                });
                name.map(String::as_str)
            }
        }
    }

    fn kind_left_in<'a>(&'a self, text: &str, lower: &'a str) -> Option<&'a str> {
        let [old, new] = self.kind.as_ref()?;
        let text = text.replace(new, "");
        let is_letter = |c: Option<char>| c.is_some_and(char::is_alphanumeric);
        let is_in = |name: &str| {
            let is_kind = name == old;
            text.match_indices(name).any(|(at, _)| {
                let behind = text[at + name.len()..].chars().next();
                // `CaptainSpec` also contains the old kind.
                let is_end = is_kind && behind.is_some_and(char::is_uppercase);
                !is_letter(text[..at].chars().next_back()) && (is_end || !is_letter(behind))
            })
        };
        let plurals = self.plurals.iter().map(|[old, _]| old.as_str());
        let mut names = [old.as_str()].into_iter().chain(plurals).chain([lower]);
        names.find(|name| is_in(name))
    }
}

/// The new name, if the text is the old name.
fn renamed([old, new]: &[String; 2], text: &str) -> Option<String> {
    (bare(text) == old).then(|| text.replace(old, new))
}

/// The name and value of a marker's argument.
fn argument(text: &str) -> Option<(&str, &str)> {
    let (name, value) = text.split_once('=')?;
    Some((name.rsplit(':').next()?.trim(), value))
}

/// A value without quotes, braces and spaces around it.
fn bare(value: &str) -> &str {
    value.trim().trim_matches(['"', '{', '}'])
}
