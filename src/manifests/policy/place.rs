//! Where the expressions of a policy are in its file. Pure.
//!
//! The YAML reader does not tell. So each expression is looked for behind its key, in the order in which they are
//! written, and its characters are followed through quotes, escapes and line breaks.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::yaml;

/// The keys whose values are expressions.
const KEYS: [&str; 3] = ["expression", "messageExpression", "valueExpression"];

/// The places in one file.
pub(super) struct Places {
    /// The first byte of each document.
    starts: Vec<usize>,
    /// The byte of each character of an expression, by its document and pointer.
    expressions: BTreeMap<(usize, String), Vec<usize>>,
    /// Line and column of the key `kind` of each document.
    kinds: Vec<(usize, usize)>,
}

impl Places {
    pub(super) fn of(text: &str, documents: &[Value]) -> Self {
        let found = yaml::documents(text).into_iter();
        let mut starts: Vec<usize> = found.map(|document| document.start).collect();
        if starts.len() != documents.len() {
            starts = vec![0; documents.len()];
        }
        let kind = |start: &usize| {
            line_and_column(text, key(text, *start, "kind").map_or(*start, |it| it.0))
        };
        let kinds = starts.iter().map(kind).collect();
        let mut expressions = BTreeMap::new();
        let mut from = 0;
        for (number, document) in documents.iter().enumerate() {
            from = from.max(starts[number]);
            let mut found = Vec::new();
            collect(document, String::new(), &mut found);
            for (pointer, name, value) in found {
                if let Some(places) = find(text, from, name, value) {
                    from = places.last().copied().unwrap_or(from);
                    expressions.insert((number, pointer), places);
                }
            }
        }
        Self {
            starts,
            expressions,
            kinds,
        }
    }

    /// Line and column of a document, by its index.
    pub(super) fn document(&self, number: usize) -> (usize, usize) {
        self.kinds.get(number).copied().unwrap_or((1, 1))
    }

    /// Line and column of a key in a document, or of the document if the key is written in another way.
    pub(super) fn key(&self, text: &str, number: usize, name: &str) -> (usize, usize) {
        let start = self.starts.get(number).copied().unwrap_or_default();
        let found = key(text, start, name);
        found.map_or_else(
            || self.document(number),
            |(at, _)| line_and_column(text, at),
        )
    }

    /// Line and column of a character of an expression; characters count from 1.
    pub(super) fn expression(
        &self,
        text: &str,
        number: usize,
        pointer: &str,
        character: usize,
    ) -> (usize, usize) {
        let places = self.expressions.get(&(number, pointer.to_owned()));
        let place = places.and_then(|places| {
            let index = character
                .saturating_sub(1)
                .min(places.len().checked_sub(1)?);
            places.get(index)
        });
        place.map_or_else(|| self.document(number), |at| line_and_column(text, *at))
    }
}

/// The expressions in a document, in the order in which they are written: pointer, key and text.
fn collect<'a>(value: &'a Value, pointer: String, found: &mut Vec<(String, &'a str, &'a str)>) {
    match value {
        Value::Object(map) => {
            for (key, value) in map {
                let pointer = format!("{pointer}/{key}");
                match value {
                    Value::String(text) if KEYS.contains(&key.as_str()) => {
                        found.push((pointer, key, text));
                    }
                    value => collect(value, pointer, found),
                }
            }
        }
        Value::Array(list) => {
            for (index, value) in list.iter().enumerate() {
                collect(value, format!("{pointer}/{index}"), found);
            }
        }
        _ => {}
    }
}

/// The byte of a key and the one behind its colon, from that byte on.
fn key(text: &str, from: usize, name: &str) -> Option<(usize, usize)> {
    let is_part = |c: char| c.is_alphanumeric() || c == '_' || c == '-' || c == '.' || c == '/';
    let mut found = text[from..].match_indices(name).map(|(at, _)| from + at);
    found.find_map(|at| {
        let before = text[..at].chars().next_back();
        let line = text[..at].rsplit('\n').next().unwrap_or_default();
        let rest = text[at + name.len()..].trim_start_matches(['"', '\'']);
        let colon = rest.trim_start_matches(' ').strip_prefix(':')?;
        let is_key =
            !before.is_some_and(is_part) && !line.trim_start_matches(['-', ' ']).starts_with('#');
        is_key.then(|| (at, text.len() - colon.len()))
    })
}

/// The byte of each character of a value, which is the first one of that key from a byte on, and of its end.
fn find(text: &str, mut from: usize, name: &str, value: &str) -> Option<Vec<usize>> {
    loop {
        let (_, behind) = key(text, from, name)?;
        if let Some(places) = follow(text, behind, value) {
            return Some(places);
        }
        from = behind;
    }
}

/// The byte of each character of a value that is written from that byte on, and of its end.
fn follow(text: &str, start: usize, value: &str) -> Option<Vec<usize>> {
    let skip_blanks = |at: usize| at + text[at..].len() - text[at..].trim_start().len();
    let mut at = skip_blanks(start);
    let quote = text[at..]
        .chars()
        .next()
        .filter(|c| matches!(c, '"' | '\''));
    if quote.is_some() {
        at += 1;
    } else if text[at..].starts_with(['|', '>']) {
        at += text[at..].find('\n')?;
    }
    let mut places = Vec::new();
    for wanted in value.chars() {
        if wanted.is_whitespace() {
            places.push(at);
            continue;
        }
        at = skip_blanks(at);
        // An escaped blank or line break.
        while quote == Some('"') && text[at..].starts_with(['\\']) {
            match text[at + 1..].chars().next()? {
                'n' | 't' | 'r' | ' ' | '\n' => at = skip_blanks(at + 2),
                _ if wanted == '\\' || text[at + 1..].starts_with(wanted) => {
                    at += 1;
                    break;
                }
                _ => return None,
            }
        }
        if !text[at..].starts_with(wanted) {
            return None;
        }
        places.push(at);
        at += wanted.len_utf8();
        if quote == Some('\'') && wanted == '\'' {
            at += 1;
        }
    }
    places.push(at);
    Some(places)
}

/// Line and column of a byte, both from 1; the column in characters.
fn line_and_column(text: &str, at: usize) -> (usize, usize) {
    let before = &text[..at.min(text.len())];
    let line = before.matches('\n').count() + 1;
    let start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (line, before[start..].chars().count() + 1)
}
