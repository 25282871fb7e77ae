//! Lines above scaffold markers in which a name changes, such as a registration. Pure.

use std::collections::BTreeMap;

use crate::commands::error::Result;
use crate::marker::ScaffoldMarker;
use crate::scaffold::{Part, What};

/// A line above a marker, before and after.
pub struct Line {
    marker: ScaffoldMarker,
    old: String,
    new: String,
}

/// The lines that differ between old and new parts, by file.
pub fn renamed<'a>(
    pairs: impl Iterator<Item = (&'a Part, &'a Part)>,
) -> BTreeMap<&'a str, Vec<Line>> {
    let mut lines: BTreeMap<&str, Vec<Line>> = BTreeMap::new();
    for (old, new) in pairs {
        if let What::Line { marker, fragment } = &old.what
            && let What::Line { fragment: new, .. } = &new.what
            && fragment != new
        {
            lines.entry(&old.path).or_default().push(Line {
                marker: *marker,
                old: fragment.clone(),
                new: new.clone(),
            });
        }
    }
    lines
}

/// Renames these lines in a file, and sorts them by their new names if kbr had sorted the old ones. In Rust
/// files, `text` already has the new names.
pub fn in_order(path: &str, was: &str, text: &str, lines: &[Line]) -> Result<String> {
    let mut text = text.to_owned();
    let mut taken = Vec::new();
    for line in lines {
        if !is_movable(path, was, line) {
            let lines = text.split_inclusive('\n');
            let renamed = lines.map(|it| match it.trim() == line.old {
                true => it.replace(&line.old, &line.new),
                false => it.to_owned(),
            });
            text = renamed.collect();
            continue;
        }
        let mut names = [&line.old, &line.new].into_iter();
        if let Some(without) = names.find_map(|name| line.marker.remove(&text, name)) {
            text = without;
            taken.push(line);
        }
    }
    for line in taken {
        text = line.marker.insert(path, &text, &line.new)?.unwrap_or(text);
    }
    Ok(text)
}

/// Whether the line is where kbr would put it, without an attribute or a doc comment above it, which would
/// have to move along.
fn is_movable(path: &str, was: &str, line: &Line) -> bool {
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
