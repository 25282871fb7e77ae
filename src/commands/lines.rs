//! Lines in which a name changes: those above scaffold markers, such as a registration, and those that kbr renders. Pure.

use similar::{DiffTag, TextDiff};

use crate::commands::error::Result;
use crate::marker::ScaffoldMarker;

/// A line above a marker, before and after.
pub struct RenamedLine {
    pub marker: ScaffoldMarker,
    pub old: String,
    pub new: String,
}

/// Renames these lines in a file, and sorts them by their new names if kbr had sorted the old ones. In Rust
/// files, `text` already has the new names.
pub fn in_order(path: &str, was: &str, text: &str, lines: &[RenamedLine]) -> Result<String> {
    let mut sorted = text.to_owned();
    let mut taken = Vec::new();
    for line in lines {
        if !is_movable(path, was, line) {
            let lines = sorted.split_inclusive('\n');
            let renamed = lines.map(|it| match it.trim() == line.old {
                true => it.replace(&line.old, &line.new),
                false => it.to_owned(),
            });
            sorted = renamed.collect();
            continue;
        }
        let mut names = [&line.old, &line.new].into_iter();
        if let Some(without) = names.find_map(|name| line.marker.remove(&sorted, name)) {
            sorted = without;
            taken.push(line);
        }
    }
    for line in taken {
        let inserted = line.marker.insert(path, &sorted, &line.new)?;
        sorted = inserted.unwrap_or(sorted);
    }
    Ok(sorted)
}

/// Whether the line is where kbr would put it, without an attribute or a doc comment above it, which would
/// have to move along.
fn is_movable(path: &str, was: &str, line: &RenamedLine) -> bool {
    let Some(without) = line.marker.remove(was, &line.old) else {
        return false;
    };
    let again = line.marker.insert(path, &without, &line.old);
    let mut above = "";
    for it in was.lines().map(str::trim) {
        if it == line.old && (above.ends_with(']') || above.starts_with("///")) {
            return false;
        }
        above = it;
    }
    again.is_ok_and(|again| again.as_deref() == Some(was))
}

/// `text` with the lines in which `old` and `new` differ changed to those of `new`; imports only on request, because
/// they are paths, which a rename rewrites separately, in the form that their owner uses.
pub fn with_changes(text: &str, old: &str, new: &str, with_imports: bool) -> String {
    let blocks = blocks(old, new, with_imports);
    let lines: Vec<&str> = text.split_inclusive('\n').collect();
    let bare = |line: &str| line.trim_end_matches(['\r', '\n']).to_owned();
    let mut result = String::with_capacity(text.len());
    let mut at = 0;
    while at < lines.len() {
        let matches_here = |old: &Vec<&str>| {
            let here = lines.get(at..at + old.len());
            here.is_some_and(|here| here.iter().zip(old).all(|(a, b)| bare(a) == *b))
        };
        let Some((old, new)) = blocks.iter().find(|(old, _)| matches_here(old)) else {
            result.push_str(lines[at]);
            at += 1;
            continue;
        };
        let last = lines[at + old.len() - 1];
        let ending = &last[bare(last).len()..];
        result.push_str(&new.join(if ending.is_empty() { "\n" } else { ending }));
        result.push_str(ending);
        at += old.len();
    }
    result
}

/// The lines in which two texts differ: in pairs, or as whole blocks if one side has more lines.
fn blocks<'a>(old: &'a str, new: &'a str, with_imports: bool) -> Vec<(Vec<&'a str>, Vec<&'a str>)> {
    let (olds, news): (Vec<&str>, Vec<&str>) = (old.lines().collect(), new.lines().collect());
    let diff = TextDiff::from_slices(&olds, &news);
    let mut blocks = Vec::new();
    let is_import = |line: &str| !with_imports && line.starts_with("use ");
    for op in diff.ops().iter().filter(|op| op.tag() == DiffTag::Replace) {
        let (old, new) = (&olds[op.old_range()], &news[op.new_range()]);
        if old.len() == new.len() {
            let both = old.iter().zip(new);
            let pairs = both.filter(|(old, _)| !is_import(old));
            blocks.extend(pairs.map(|(old, new)| (vec![*old], vec![*new])));
        } else if !old.iter().any(|line| is_import(line)) {
            blocks.push((old.to_vec(), new.to_vec()));
        }
    }
    blocks
}
