//! Carries the edits of a file's owner from one text that kbr has rendered to the next, by lines. Pure.

use std::collections::{BTreeMap, BTreeSet};

use diffy::{ConflictStyle, MergeOptions};
use similar::{DiffTag, TextDiff};

use crate::cargo_toml::Manifest;
use crate::layout;
use crate::rendered::normalized;

/// The first and the last line of a conflict.
const CONFLICT: [&str; 2] = ["<<<<<<< ours", ">>>>>>> theirs"];

/// `ours`, which was made from `base`, as if it had been made from `new`. The error is the text with its conflicts, as
/// git writes them. A manifest is merged by its tables.
///
/// A line that its owner did not touch becomes the new one even if the lines next to it are the owner's. In a rename, lines
/// of `new` that are those of `base` with other names are no difference: whoever has changed or removed such a line has no
/// conflict.
pub(crate) fn carried(
    path: &str,
    [base, ours, new]: [&str; 3],
    is_rename: bool,
) -> Result<String, String> {
    if ours == base {
        return Ok(new.to_owned());
    }
    if base == new {
        return Ok(ours.to_owned());
    }
    if path.ends_with(layout::MANIFEST)
        && let Some(merged) = manifest(Some(base), ours, new, &BTreeSet::new())
    {
        return Ok(merged);
    }
    let [base, ours] = replaced(base, ours, new, is_rename);
    merged(&base, &ours, new)
}

/// A manifest merged by its tables; `None` if one of the texts is none. Without a base, everything that `ours` lacks is
/// added. Dependencies of the workspace that are `inherited` stay.
pub(crate) fn manifest(
    base: Option<&str>,
    ours: &str,
    new: &str,
    inherited: &BTreeSet<String>,
) -> Option<String> {
    let mut manifest: Manifest = ours.parse().ok()?;
    let base: Option<Manifest> = base.map(str::parse).transpose().ok()?;
    manifest.merge(base.as_ref(), new.parse().ok()?, inherited);
    Some(manifest.to_string())
}

/// `ours` with those lines of `base` that are in it replaced: for a file of which kbr has rendered only these.
pub(crate) fn with_lines_of(base: &str, ours: &str, new: &str) -> String {
    if ours == base {
        return new.to_owned();
    }
    let [_, ours] = replaced(base, ours, new, true);
    ours
}

/// `base` and `ours` with each line replaced that both have, and that is another one in `new`; in `base`, `all` such lines
/// or only those.
fn replaced(base: &str, ours: &str, new: &str, all: bool) -> [String; 2] {
    let (mut base, mut ours, new) = (lines(base), lines(ours), lines(new));
    let replaced = pairs(&base, &new, DiffTag::Replace);
    let kept = pairs(&base, &ours, DiffTag::Equal);
    for (at, in_new) in replaced {
        let in_ours = kept.get(&at).copied();
        if is_like(base[at], new[in_new]) && (in_ours.is_some() || all) {
            base[at] = new[in_new];
            if let Some(in_ours) = in_ours {
                ours[in_ours] = new[in_new];
            }
        }
    }
    [base.concat(), ours.concat()]
}

/// Whether a line may be another one with other names. What is not alike is merged in blocks.
fn is_like(one: &str, other: &str) -> bool {
    TextDiff::from_chars(one, other).ratio() > 0.4
}

/// How many of their words two texts have in common, between 0 and 1.
pub(crate) fn similarity(one: &str, other: &str) -> f32 {
    TextDiff::from_words(one, other).ratio()
}

fn lines(text: &str) -> Vec<&str> {
    text.split_inclusive('\n').collect()
}

/// Which lines of two texts correspond: in changes of that kind that have equally many lines on both sides.
fn pairs(old: &[&str], new: &[&str], tag: DiffTag) -> BTreeMap<usize, usize> {
    let diff = TextDiff::from_slices(old, new);
    let of_kind = diff.ops().iter().filter(|op| op.tag() == tag);
    let (olds, news) = (
        |op: &similar::DiffOp| op.old_range(),
        |op: &similar::DiffOp| op.new_range(),
    );
    let same = of_kind.filter(|op| olds(op).len() == news(op).len());
    same.flat_map(|op| olds(op).zip(news(op))).collect()
}

/// `ours` with the changes from `base` to `new`.
fn merged(base: &str, ours: &str, new: &str) -> Result<String, String> {
    let mut options = MergeOptions::new();
    options.set_conflict_style(ConflictStyle::Merge);
    options.merge(base, ours, new).or_else(|conflicting| {
        if ours.ends_with('\n') {
            return Err(conflicting);
        }
        // Otherwise a line of the conflict would follow the last word.
        options.merge(base, &format!("{ours}\n"), new)
    })
}

/// Whether a merge has left a conflict in a file that is still there.
pub(crate) fn has_conflict(text: &str) -> bool {
    let has = |line: &str| text.lines().any(|it| it.trim_end() == line);
    CONFLICT.into_iter().any(has)
}

/// The text with the line ends that `old` has.
pub(crate) fn with_line_ends_of(old: &str, text: String) -> String {
    if old.contains("\r\n") {
        normalized(&text).replace('\n', "\r\n")
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_conflict_is_found_and_no_line_of_it_follows_a_word() {
        for ours in ["a\nours", "a\nours\n"] {
            let text = merged("a\nb\n", ours, "a\nnew\n").expect_err("a conflict");
            assert_eq!(
                text,
                "a\n<<<<<<< ours\nours\n=======\nnew\n>>>>>>> theirs\n"
            );
            assert!(has_conflict(&text));
            assert!(has_conflict(&with_line_ends_of("\r\n", text)));
        }
        // Half of it may have been resolved.
        assert!(has_conflict("a\n<<<<<<< ours\n"));
        assert!(has_conflict("a\n=======\n>>>>>>> theirs\n"));
        assert!(!has_conflict("Title\n=======\n"));
    }

    #[test]
    fn line_ends_of_windows_come_back() {
        let text = "a\r\nb\r\n";
        assert_eq!(normalized(text), "a\nb\n");
        assert_eq!(with_line_ends_of(text, normalized(text).into_owned()), text);
        assert_eq!(with_line_ends_of("a\n", "b\n".to_owned()), "b\n");
    }
}
