//! Paths in text: links of doc comments, and literals that consist of a path. Pure.

use std::ops::Range;

/// One name of a path, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Segment {
    pub(crate) text: String,
    pub(crate) range: Range<usize>,
}

impl Segment {
    pub(crate) fn new(text: &str, range: Range<usize>) -> Self {
        Self {
            text: text[range.clone()].to_owned(),
            range,
        }
    }
}

/// The names alone.
pub(crate) fn names(path: &[Segment]) -> Vec<String> {
    path.iter().map(|name| name.text.clone()).collect()
}

/// The paths of the links in a doc comment that begins at `start`, in brackets or in parentheses
/// after them.
pub(crate) fn links(comment: &str, start: usize) -> Vec<Vec<Segment>> {
    let mut found = Vec::new();
    for (at, opening) in comment.match_indices(['[', '(']) {
        if opening == "(" && !comment[..at].ends_with(']') {
            continue;
        }
        let rest = &comment[at + 1..];
        let plain = rest.strip_prefix('`').unwrap_or(rest);
        let is_in_name = |c: char| c.is_alphanumeric() || c == '_';
        // `struct@Name`
        let named = plain.trim_start_matches(is_in_name).strip_prefix('@');
        let inner = named.unwrap_or(plain);
        let end = inner.find(|c| !is_in_name(c) && c != ':');
        let length = end.unwrap_or(inner.len());
        let is_whole = inner[length..].starts_with([']', ')', '`', '(', '!', '#']);
        let begin = start + comment.len() - inner.len();
        found.extend(path(&inner[..length], begin).filter(|_| is_whole));
    }
    found
}

/// The names of a text at `start`, if it is a path and nothing else.
pub(crate) fn path(text: &str, start: usize) -> Option<Vec<Segment>> {
    let mut next = start;
    let names = text.split("::").map(|name| {
        let range = next..next + name.len();
        next = range.end + "::".len();
        let is_name = name.starts_with(|c: char| c.is_alphabetic() || c == '_')
            && name.chars().all(|c| c.is_alphanumeric() || c == '_');
        let text = name.to_owned();
        is_name.then_some(Segment { text, range })
    });
    names.collect()
}
