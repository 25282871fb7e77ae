//! Splits a CEL expression into tokens. Pure.

use std::sync::LazyLock;

use regex_lite::Regex;

/// A word, symbol or literal of an expression.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Token {
    Word(String),
    Number,
    Text(usize),
    Symbol(&'static str),
    End,
}

/// Longer symbols first.
const SYMBOLS: [&str; 24] = [
    "==", "!=", "<=", ">=", "&&", "||", "<", ">", "+", "-", "*", "/", "%", "!", "?", ":", ".", ",",
    "(", ")", "[", "]", "{", "}",
];

/// The beginning of a string, up to its first quote.
static PREFIX: LazyLock<Regex> = LazyLock::new(|| regex(r#"^(?i:b|r|br|rb)?["']"#));

static ESCAPE: LazyLock<Regex> = LazyLock::new(|| {
    regex(
        r#"^\\([abfnrtv\\?"'`]|[xX][0-9a-fA-F]{2}|u[0-9a-fA-F]{4}|U[0-9a-fA-F]{8}|[0-3][0-7]{2})"#,
    )
});

/// A dot is a part of a number only before a digit: `1.size()` is a call.
static NUMBER: LazyLock<Regex> =
    LazyLock::new(|| regex(r"^(0[xX][0-9a-fA-F]*|[0-9]*(\.[0-9]+)?([eE][-+]?[0-9]+)?)[uU]?"));

fn regex(pattern: &str) -> Regex {
    Regex::new(pattern).expect("a pattern of kbr's own")
}

/// The tokens with their positions, in characters from 1, and one for the end.
pub(super) fn tokens(text: &str) -> Result<Vec<(Token, usize)>, String> {
    let mut tokens = Vec::new();
    let (mut rest, mut at) = (text, 1);
    while !rest.is_empty() {
        let is_blank = rest.starts_with([' ', '\t', '\n', '\r', '\u{c}']);
        let length = match rest.starts_with("//").then(|| rest.find('\n')) {
            _ if is_blank => 1,
            Some(end) => end.unwrap_or(rest.len()),
            None => {
                let found = token(rest).map_err(|wrong| format!("{wrong} at character {at}"));
                let (token, length) = found?;
                tokens.push((token, at));
                length
            }
        };
        at += rest[..length].chars().count();
        rest = &rest[length..];
    }
    tokens.push((Token::End, at));
    Ok(tokens)
}

/// The first token of a non-empty text, and its length in bytes.
fn token(rest: &str) -> Result<(Token, usize), String> {
    if let Some(prefix) = PREFIX.find(rest).map(|found| found.as_str()) {
        let (before, is_raw) = (prefix.len() - 1, prefix.contains(['r', 'R']));
        let (characters, length) = quoted(&rest[before..], is_raw)?;
        return Ok((Token::Text(characters), before + length));
    }
    let is_digit = |text: &str| text.starts_with(|c: char| c.is_ascii_digit());
    if is_digit(rest) || rest.strip_prefix('.').is_some_and(is_digit) {
        let length = NUMBER.find(rest).map_or(0, |found| found.len());
        return match word(&rest[length..]) {
            0 => Ok((Token::Number, length)),
            more => Err(format!("`{}` is not a number", &rest[..length + more])),
        };
    }
    if rest.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        let length = word(rest);
        return Ok((Token::Word(rest[..length].to_owned()), length));
    }
    if let Some((name, _)) = rest.strip_prefix('`').and_then(|rest| rest.split_once('`')) {
        return Ok((Token::Word(name.to_owned()), name.len() + 2));
    }
    if let Some(symbol) = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol)) {
        return Ok((Token::Symbol(symbol), symbol.len()));
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

/// The length of the word with which a text begins.
fn word(text: &str) -> usize {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '_';
    text.find(|c| !is_part(c)).unwrap_or(text.len())
}

/// The number of characters in a string, and its length in bytes with its quotes.
fn quoted(text: &str, is_raw: bool) -> Result<(usize, usize), String> {
    const OPEN: &str = "unterminated string";
    let quote = ["\"\"\"", "'''", "\"", "'"]
        .into_iter()
        .find(|quote| text.starts_with(quote))
        .unwrap_or("\"");
    let (mut at, mut characters) = (quote.len(), 0);
    loop {
        let rest = text.get(at..).unwrap_or_default();
        if rest.starts_with(quote) {
            return Ok((characters, at + quote.len()));
        }
        let next = rest.chars().next().ok_or(OPEN)?;
        if next == '\n' && quote.len() == 1 {
            return Err(OPEN.to_owned());
        }
        at += match next {
            '\\' if is_raw => 1,
            '\\' => escape(rest)?,
            _ => next.len_utf8(),
        };
        characters += 1;
    }
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
