//! The constant below the marker of a webhook, which has its path. Pure.

use crate::rust::{Code, Segment};

/// The text of the constant that is a webhook's path, among the constants that begin with the token `at`: the one that
/// is registered, else the first that looks like a path.
pub(super) fn constant(code: &Code<'_>, at: usize) -> Option<Segment> {
    let all: Vec<(usize, Segment)> = constants(code, at).collect();
    let registered = |name: usize| {
        (0..code.len()).any(|at| {
            matches!(code.word(at), "mutate" | "validate")
                && code.back(at, 1) == "."
                && code.word(at + 1) == "("
                && code.word(at + 2) == code.word(name)
                && code.word(at + 3) == ","
        })
    };
    let served = all.iter().find(|(name, _)| registered(*name));
    let found = served
        .or_else(|| all.iter().find(|(_, text)| text.text.starts_with('/')))
        .or(all.first());
    found.map(|(_, text)| text.clone())
}

/// The names and the texts of the constants that follow each other from the token `at`.
fn constants(code: &Code<'_>, mut at: usize) -> impl Iterator<Item = (usize, Segment)> {
    let items = std::iter::from_fn(move || {
        let mut keyword = at;
        while let Some(attribute) = code.attribute(keyword) {
            keyword = attribute.end;
        }
        if code.word(keyword) == "pub" {
            keyword += 1;
            if code.word(keyword) == "(" {
                keyword = code.after(keyword);
            }
        }
        at = code.end(at);
        matches!(code.word(keyword), "const" | "static").then_some(keyword + 1..at)
    });
    items.filter_map(|mut item| {
        let name = item.start;
        let value = item.find(|&at| code.word(at) == "=")?;
        Some((name, code.string(value + 1)?))
    })
}
