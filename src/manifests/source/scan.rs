//! Reads the types that a source declares. Pure.
//!
//! The text is cut into tokens by rustc's lexer and read no further than to the names of variants.

use std::collections::BTreeSet;

use ra_ap_rustc_lexer::{DocStyle, FrontmatterAllowed, TokenKind, tokenize};

/// A struct or an enum.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Declared {
    pub path: String,
    pub name: String,
    pub is_documented: bool,
    pub line: usize,
    /// Whether kube derives its schema.
    pub is_kubes: bool,
    /// The variants as they are renamed, or as they are.
    pub variants: Vec<String>,
    /// The names in its body.
    pub mentions: BTreeSet<String>,
}

/// Another name by which serde reads a field or a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Alias {
    pub path: String,
    pub line: usize,
    pub name: String,
}

/// A token that is no blank, nor a comment without meaning.
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
    start: usize,
}

/// The types of a source, and the aliases in it.
pub fn scan(path: &str, source: &str) -> (Vec<Declared>, Vec<Alias>) {
    let tokens = tokens(source);
    let mut types = Vec::new();
    let mut aliases = Vec::new();
    // What stands before an item: attributes without blanks, and doc comments as `doc`.
    let mut before: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.text {
            _ if is_doc(token.kind) => before.push("doc".to_owned()),
            "#" => {
                let (attribute, end) = attribute(&tokens, at);
                aliases.extend(strings_of(&attribute, "alias").map(|name| Alias {
                    path: path.to_owned(),
                    line: source[..token.start].matches('\n').count() + 1,
                    name: name.to_owned(),
                }));
                before.push(attribute);
                at = end;
            }
            "struct" | "enum" => {
                if let Some(name) = tokens.get(at) {
                    let is_enum = token.text == "enum";
                    types.push(Declared {
                        path: path.to_owned(),
                        name: name.text.trim_start_matches("r#").to_owned(),
                        is_documented: before.iter().any(|one| is_documentation(one)),
                        is_kubes: before.iter().any(|one| one.contains("KubeSchema")),
                        line: source[..name.start].matches('\n').count() + 1,
                        mentions: mentions(&tokens[at + 1..]),
                        variants: if is_enum {
                            variants(&tokens[at..])
                        } else {
                            Vec::new()
                        },
                    });
                }
                before.clear();
            }
            "pub" | "(" | ")" | "crate" | "super" | "in" => {}
            _ => before.clear(),
        }
    }
    (types, aliases)
}

fn tokens(source: &str) -> Vec<Token<'_>> {
    let mut end = 0;
    let all = tokenize(source, FrontmatterAllowed::Yes).map(|token| {
        let start = end;
        end += token.len as usize;
        let (kind, text) = (token.kind, &source[start..end]);
        Token { kind, text, start }
    });
    all.filter(|token| match token.kind {
        TokenKind::Whitespace => false,
        TokenKind::LineComment { .. } | TokenKind::BlockComment { .. } => is_doc(token.kind),
        _ => true,
    })
    .collect()
}

fn is_doc(kind: TokenKind) -> bool {
    matches!(
        kind,
        TokenKind::LineComment {
            doc_style: Some(DocStyle::Outer)
        } | TokenKind::BlockComment {
            doc_style: Some(DocStyle::Outer),
            ..
        }
    )
}

fn is_documentation(before: &str) -> bool {
    let words = ["doc=", "description="];
    before.starts_with("doc") || words.iter().any(|word| before.contains(word))
}

/// The attribute whose bracket is at `at`, without blanks and brackets, and what follows it.
fn attribute(tokens: &[Token<'_>], at: usize) -> (String, usize) {
    let (mut text, mut depth, mut end) = (String::new(), 0usize, at);
    while let Some(token) = tokens.get(end) {
        end += 1;
        match token.kind {
            TokenKind::OpenBracket => depth += 1,
            TokenKind::CloseBracket => depth = depth.saturating_sub(1),
            _ => text.push_str(token.text),
        }
        if depth == 0 && token.kind != TokenKind::Bang {
            break;
        }
    }
    (text, end)
}

/// The texts that an attribute gives an argument of serde's.
fn strings_of<'t>(attribute: &'t str, argument: &str) -> impl Iterator<Item = &'t str> {
    let of_serde = attribute.strip_prefix("serde(").unwrap_or_default();
    let begin = format!("{argument}=\"");
    let starts: Vec<usize> = of_serde
        .match_indices(&begin)
        .map(|(at, _)| at + begin.len())
        .collect();
    let text = move |start: usize| of_serde[start..].split('"').next();
    starts.into_iter().filter_map(text)
}

/// The names up to the end of the item.
fn mentions(tokens: &[Token<'_>]) -> BTreeSet<String> {
    let mut mentions = BTreeSet::new();
    let mut depth = 0usize;
    for token in tokens {
        match token.kind {
            TokenKind::OpenBrace => depth += 1,
            TokenKind::CloseBrace if depth <= 1 => break,
            TokenKind::CloseBrace => depth -= 1,
            TokenKind::Semi if depth == 0 => break,
            TokenKind::Ident => drop(mentions.insert(token.text.to_owned())),
            _ => {}
        }
    }
    mentions
}

/// The variants of the enum whose name begins `tokens`.
fn variants(tokens: &[Token<'_>]) -> Vec<String> {
    let mut variants = Vec::new();
    let mut renamed: Option<String> = None;
    let (mut depth, mut is_next) = (0usize, true);
    let mut at = tokens
        .iter()
        .position(|token| token.kind == TokenKind::OpenBrace)
        .map_or(tokens.len(), |open| open + 1);
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.kind {
            TokenKind::Pound if depth == 0 => {
                let (attribute, end) = attribute(tokens, at);
                renamed = strings_of(&attribute, "rename")
                    .next()
                    .map(str::to_owned)
                    .or(renamed);
                at = end;
            }
            TokenKind::OpenBrace | TokenKind::OpenParen | TokenKind::OpenBracket => depth += 1,
            TokenKind::CloseBrace if depth == 0 => break,
            TokenKind::CloseBrace | TokenKind::CloseParen | TokenKind::CloseBracket => depth -= 1,
            TokenKind::Comma if depth == 0 => is_next = true,
            TokenKind::Ident if depth == 0 && is_next => {
                variants.push(renamed.take().unwrap_or_else(|| token.text.to_owned()));
                is_next = false;
            }
            _ => {}
        }
    }
    variants
}
