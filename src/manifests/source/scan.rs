//! Reads the types that a source declares. Pure.
//!
//! The text is split into tokens by rustc's lexer and parsed only as far as the names of variants.

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
    /// The names of the variants, after any `rename`.
    pub variants: Vec<String>,
    /// Whether a variant has a doc comment.
    pub documents_variants: bool,
    /// The types of keys of maps in its body, and their lines.
    pub map_keys: Vec<(String, usize)>,
    /// The names in its body.
    pub mentions: BTreeSet<String>,
}

/// What the API server will not do with a field, which schemars cannot express.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub path: String,
    pub line: usize,
    pub text: String,
}

/// A token that is neither whitespace nor a plain comment.
struct Token<'a> {
    kind: TokenKind,
    text: &'a str,
    start: usize,
}

/// The types of a source, and remarks on their fields.
pub fn scan(path: &str, source: &str) -> (Vec<Declared>, Vec<Remark>) {
    let tokens = tokens(source);
    let line_of = |start: usize| source[..start].matches('\n').count() + 1;
    let remark = |start: usize, text: String| Remark {
        path: path.to_owned(),
        line: line_of(start),
        text,
    };
    let mut types = Vec::new();
    let mut remarks = Vec::new();
    // What precedes an item: attributes without whitespace, and doc comments as `doc`.
    let mut before: Vec<String> = Vec::new();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        at += 1;
        match token.text {
            _ if is_doc(token.kind) => before.push("doc".to_owned()),
            "#" => {
                let (attribute, end) = attribute(&tokens, at);
                remarks.extend(strings_of(&attribute, "alias").map(|name| {
                    let text = format!("the API server does not know the alias `{name}`: kubectl refuses it, and other clients lose it");
                    remark(token.start, text)
                }));
                before.push(attribute);
                at = end;
            }
            "struct" | "enum" => {
                if let Some(name) = tokens.get(at) {
                    let is_enum = token.text == "enum";
                    let body = body(&tokens[at + 1..]);
                    let unbounded = unbounded(body, has_durations_of_kube(source));
                    remarks.extend(unbounded.map(|(start, text)| remark(start, text.to_owned())));
                    let (variants, documents_variants) = match is_enum {
                        true => variants(&tokens[at..]),
                        false => Default::default(),
                    };
                    types.push(Declared {
                        path: path.to_owned(),
                        name: name.text.trim_start_matches("r#").to_owned(),
                        is_documented: before.iter().any(|one| is_documentation(one)),
                        is_kubes: before.iter().any(|one| one.contains("KubeSchema")),
                        line: line_of(name.start),
                        mentions: mentions(body),
                        map_keys: map_keys(body)
                            .map(|key| (key.text.to_owned(), line_of(key.start)))
                            .collect(),
                        variants,
                        documents_variants,
                    });
                }
                before.clear();
            }
            "pub" | "(" | ")" | "crate" | "super" | "in" => {}
            _ => before.clear(),
        }
    }
    (types, remarks)
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

/// The attribute whose bracket is at `at`, without whitespace and brackets, and the position after it.
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

/// The texts that an attribute gives an argument of serde.
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

/// The rest of the item.
fn body<'t, 'a>(tokens: &'t [Token<'a>]) -> &'t [Token<'a>] {
    let mut depth = 0usize;
    let is_end = |token: &Token<'_>| {
        match token.kind {
            TokenKind::OpenBrace => depth += 1,
            TokenKind::CloseBrace if depth <= 1 => return true,
            TokenKind::CloseBrace => depth -= 1,
            _ => {}
        }
        depth == 0 && token.kind == TokenKind::Semi
    };
    let end = tokens.iter().position(is_end).unwrap_or(tokens.len());
    &tokens[..end]
}

/// The names in the body of an item.
fn mentions(body: &[Token<'_>]) -> BTreeSet<String> {
    let names = body.iter().filter(|token| token.kind == TokenKind::Ident);
    names.map(|token| token.text.to_owned()).collect()
}

/// The last path segment of each map's key type.
fn map_keys<'t, 'a>(body: &'t [Token<'a>]) -> impl Iterator<Item = &'t Token<'a>> {
    let is_map = |at: &usize| {
        matches!(body[*at].text, "BTreeMap" | "HashMap")
            && body.get(at + 1).is_some_and(|next| next.text == "<")
    };
    let key = |at: usize| {
        let rest = &body[at..];
        let end = rest
            .iter()
            .position(|token| token.kind == TokenKind::Comma)?;
        rest.get(end.checked_sub(1)?)
    };
    (0..body.len()).filter(is_map).filter_map(key)
}

/// Whether `Duration` is kube's, which is written as a string.
fn has_durations_of_kube(source: &str) -> bool {
    let imports = source.split("kube::core::").skip(1);
    imports
        .filter_map(|rest| rest.split([';', '\n']).next())
        .any(|rest| {
            rest.starts_with("Duration") || rest.starts_with('{') && rest.contains("Duration")
        })
}

/// Where a field is any string for schemars but not for Rust, and no attribute restricts it.
fn unbounded(
    body: &[Token<'_>],
    has_durations: bool,
) -> impl Iterator<Item = (usize, &'static str)> {
    let mut is_bounded = false;
    let found = body.iter().enumerate().filter_map(move |(at, token)| {
        let is_of_std = at >= 3 && body[at - 3].text == "time";
        match token.text {
            "," | "{" => is_bounded = false,
            "regex" | "pattern" | "with" | "schema_with" => is_bounded = true,
            _ if is_bounded => {}
            "SocketAddr" | "SocketAddrV4" | "SocketAddrV6" => {
                return Some((
                    token.start,
                    "the API server accepts any text for a socket address: write two fields, `IpAddr` and `u16`",
                ));
            }
            "Duration" if has_durations && !is_of_std => {
                return Some((
                    token.start,
                    "the API server accepts any text for a `Duration` of kube: write the pattern in `kbr help types`",
                ));
            }
            _ => {}
        }
        None
    });
    found.collect::<Vec<_>>().into_iter()
}

/// The variants of the enum whose name starts `tokens`, and whether one has a doc comment.
fn variants(tokens: &[Token<'_>]) -> (Vec<String>, bool) {
    let (mut variants, mut is_documented) = (Vec::new(), false);
    let mut renamed: Option<String> = None;
    let (mut depth, mut is_next) = (0usize, true);
    let mut at = tokens
        .iter()
        .position(|token| token.kind == TokenKind::OpenBrace)
        .map_or(tokens.len(), |open| open + 1);
    while let Some(token) = tokens.get(at) {
        at += 1;
        is_documented |= depth == 0 && is_doc(token.kind);
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
    (variants, is_documented)
}
