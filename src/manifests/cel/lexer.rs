//! Splits a CEL expression into tokens. Pure.

use std::sync::LazyLock;

use regex_lite::Regex;

use super::{CelError, Literal};
use crate::manifests::pattern::regex;

/// A word, symbol or literal of an expression.
#[derive(Clone, Copy)]
pub(super) enum CelToken<'a> {
    Word(&'a str),
    Number(Literal),
    /// A string or bytes, with its length.
    Text(u64),
    Symbol(&'static str),
    End,
}

/// Longer symbols first.
const SYMBOLS: &str = "== != <= >= && || < > + - * / % ! ? : . , ( ) [ ] { }";

/// The beginning of a string: its prefix, and the quotes.
static OPENING: LazyLock<Regex> = LazyLock::new(|| regex(r#"^((?i:b|r|br|rb)?)("""|'''|"|')"#));

static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^\\([abfnrtv\\?"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"#,
    )
});

/// A dot is a part of a number only before a digit: `1.size()` is a call.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(0[xX][0-9a-fA-F]*|[0-9]*(\.[0-9]+)?([eE][-+]?[0-9]+)?)[uU]?"));

/// The tokens with their positions, in characters from 1, and one for the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(CelToken<'_>, usize)>, CelError> {
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while !rest.is_empty() {
        let is_blank = rest.starts_with([' ', '\t', '\n', '\r', '\u{c}']);
        let length = match rest.starts_with("//").then(|| rest.find('\n')) {
            _ if is_blank => 1,
            Some(end) => end.unwrap_or(rest.len()),
            None => {
                let found = token(rest).map_err(|wrong| CelError::new(at, wrong));
                let (token, length) = found?;
                tokens.push((token, at));
                length
            }
        };
        at += rest[..length].chars().count();
        rest = &rest[length..];
    }
    tokens.push((CelToken::End, at));
    Ok(tokens)
}

/// The first token of a non-empty text, and its length in bytes.
fn token(rest: &str) -> Result<(CelToken<'_>, usize), String> {
    // Most tokens are no strings, and the expression is slow to say so.
    if rest.starts_with(['"', '\'', 'b', 'B', 'r', 'R'])
        && let Some(opening) = OPENING.captures(rest)
    {
        return string(rest, &opening[1], &opening[2]);
    }
    let is_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if is_digit(rest) || rest.strip_prefix('.').is_some_and(is_digit) {
        let length = NUMBER.find(rest).map_or(0, |found| found.len());
        return match word(&rest[length..]) {
            "" => Ok((CelToken::Number(kind_of_number(&rest[..length])), length)),
            more => Err(format!("`{}{more}` is not a number", &rest[..length])),
        };
    }
    let word = word(rest);
    if !word.is_empty() {
        return Ok((CelToken::Word(word), word.len()));
    }
    if let Some((name, _)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        return Ok((CelToken::Word(name), name.len() + 2));
    }
    if let Some(symbol) = SYMBOLS.split(' ').find(|symbol| rest.starts_with(symbol)) {
        return Ok((CelToken::Symbol(symbol), symbol.len()));
    }
    let found = rest.chars().next().unwrap_or_default();
    let help = match found {
        '&' => ": `and` is `&&`",
        '|' => ": `or` is `||`",
        '=' => ": equality is `==`",
        _ => "",
    };
    Err(format!("`{found}` is not CEL{help}"))
}

/// The type of a number.
fn kind_of_number(text: &str) -> Literal {
    let is_hexadecimal = text.starts_with("0x") || text.starts_with("0X");
    if text.ends_with(['u', 'U']) {
        Literal::Uint
    } else if !is_hexadecimal && text.contains(['.', 'e', 'E']) {
        Literal::Double
    } else {
        Literal::Int
    }
}

/// The word with which a text begins.
fn word(text: &str) -> &str {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    &text[..text.find(|c| !is_part(c)).unwrap_or(text.len())]
}

/// A string that begins with that prefix and these quotes, and its length in bytes.
fn string<'a>(text: &str, prefix: &str, quotes: &str) -> Result<(CelToken<'a>, usize), String> {
    let is_raw = prefix.contains(['r', 'R']);
    let (mut at, mut characters) = (prefix.len() + quotes.len(), 0);
    while !text[at..].starts_with(quotes) {
        let rest = &text[at..];
        let next = rest
            .chars()
            .next()
            .filter(|c| *c != '\n' || quotes.len() > 1);
        at += match next.ok_or("unterminated string")? {
            '\\' if !is_raw => escape(rest)?,
            next => next.len_utf8(),
        };
        characters += 1;
    }
    Ok((CelToken::Text(characters), at + quotes.len()))
}

/// The length of an escape sequence, which begins with a backslash.
fn escape(text: &str) -> Result<usize, String> {
    ESCAPE.find(text).map(|found| found.len()).ok_or_else(|| {
        let kind = text[1..].chars().next().unwrap_or_default();
        format!(
            "unknown escape `\\{kind}` in a string: write a backslash as `\\\\`, or begin the string \
             with `r`"
        )
    })
}
