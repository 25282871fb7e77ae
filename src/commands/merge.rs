//! Merges what kbr renders anew into a file that its owner has edited, by lines. Pure.

use diffy::{ConflictStyle, MergeOptions};

/// The first and the last line of a conflict.
const CONFLICT: [&str; 2] = ["<<<<<<< ours", ">>>>>>> theirs"];

/// `ours` with the changes from `base` to `new`; the error is the text with its conflicts, as git writes them.
pub fn merged(base: &str, ours: &str, new: &str) -> Result<String, String> {
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
pub fn has_conflict(text: &str) -> bool {
    let has = |line: &str| text.lines().any(|it| it.trim_end() == line);
    CONFLICT.into_iter().all(has)
}

/// A normalized text, with the line ends that `old` has.
pub fn with_line_ends_of(old: &str, text: String) -> String {
    match old.contains("\r\n") {
        true => text.replace('\n', "\r\n"),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rendered::normalized;

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
        assert!(!has_conflict("<<<<<<< ours\n"));
    }

    #[test]
    fn line_ends_of_windows_come_back() {
        let text = "a\r\nb\r\n";
        assert_eq!(normalized(text), "a\nb\n");
        assert_eq!(with_line_ends_of(text, normalized(text).into_owned()), text);
        assert_eq!(with_line_ends_of("a\n", "b\n".to_owned()), "b\n");
    }
}
