//! Lines above scaffold markers in which a name changes, such as a registration. Pure.

use crate::commands::error::Result;
use crate::marker::ScaffoldMarker;

/// A line above a marker, before and after.
pub(super) struct RenamedLine {
    pub(crate) marker: ScaffoldMarker,
    pub(crate) old: String,
    pub(crate) new: String,
}

/// Renames these lines in a file, and sorts them by their new names if kbr had sorted the old ones. In Rust
/// files, `text` already has the new names.
pub(super) fn in_order(path: &str, was: &str, text: &str, lines: &[RenamedLine]) -> Result<String> {
    let mut sorted = text.to_owned();
    let mut taken = Vec::new();
    for line in lines {
        if !is_movable(path, was, line) {
            let lines = sorted.split_inclusive('\n');
            let renamed = lines.map(|it| {
                if it.trim() == line.old {
                    it.replace(&line.old, &line.new)
                } else {
                    it.to_owned()
                }
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
