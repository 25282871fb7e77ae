//! The difference of two texts, short enough for PROJECT. Pure.
//!
//! A patch is a list of replacements in the order of the lines. `12,2` replaces two lines from the twelfth with the
//! lines that follow it, each after a `+`.

use similar::TextDiff;

/// The patch that makes `new` of `old`.
pub(super) fn of(old: &str, new: &str) -> String {
    let (olds, news): (Vec<&str>, Vec<&str>) = (lines(old), lines(new));
    let diff = TextDiff::from_slices(&olds, &news);
    let changed = diff
        .ops()
        .iter()
        .filter(|op| op.tag() != similar::DiffTag::Equal);
    let hunks = changed.map(|op| {
        let (old, new) = (op.old_range(), op.new_range());
        let lines: String = news[new].iter().map(|line| format!("+{line}\n")).collect();
        format!("{},{}\n{lines}", old.start + 1, old.len())
    });
    hunks.collect()
}

/// `old` with the patch; `None` if the patch is not for it.
pub(super) fn applied(patch: &str, old: &str) -> Option<String> {
    let olds = lines(old);
    let (mut news, mut at) = (Vec::new(), 0);
    for line in patch.lines() {
        if let Some(new) = line.strip_prefix('+') {
            news.push(new);
            continue;
        }
        let (first, count) = line.split_once(',')?;
        let start = first.parse::<usize>().ok()?.checked_sub(1)?;
        news.extend(olds.get(at..start)?);
        at = start.checked_add(count.parse().ok()?)?;
    }
    news.extend(olds.get(at..)?);
    Some(news.join("\n"))
}

/// The lines of a text. The last one is empty if the text ends with a newline.
fn lines(text: &str) -> Vec<&str> {
    text.split('\n').collect()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #![proptest_config(crate::fuzz::random::properties())]

        #[test]
        fn a_patch_makes_the_new_text(old in "([ab+1,]{0,2}\n){0,9}[a]?", new in "([ab+1,]{0,2}\n){0,9}[a]?") {
            prop_assert_eq!(applied(&of(&old, &new), &old), Some(new));
        }

        #[test]
        fn no_patch_panics(patch in "([0-9+,a]{0,4}\n){0,5}", old in "([ab]\n){0,3}") {
            let _ = applied(&patch, &old);
        }
    }
}
