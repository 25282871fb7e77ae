//! One engine for what changes in a project: what kbr renders changes, and what the owner wrote stays.
//!
//! Each verb has a rendering before, a rendering after, and the owner's text of a file. [`carried`] takes the owner's
//! edits from one to the other. PROJECT records a hash of what the present model renders to. For a file that is edited,
//! [`Base`] says how that text follows from one that git has, so that a later kbr finds it. Pure.

pub(crate) mod error;
mod merge;
mod patch;

use crate::project::Base;
use crate::rendered::hash;

pub(crate) use merge::{
    carried, has_conflict, manifest, similarity, with_line_ends_of, with_lines_of,
};

/// A file that was rendered as `old`, and now is rendered as `new`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Rerendered {
    pub(crate) old: String,
    pub(crate) new: String,
}

/// The text that `base` leads to from `committed`, the text that git has.
pub(crate) fn rendered(base: &Base, committed: &str) -> Option<String> {
    let mut patches = base.patches.iter();
    patches.try_fold(committed.to_owned(), |text, it| patch::applied(it, &text))
}

/// How `rendered` follows from `committed`, which git has at `path`, if that is another one.
pub(crate) fn kept(path: Option<String>, committed: &str, rendered: &str) -> Base {
    let patch = (committed != rendered).then(|| patch::of(committed, rendered));
    Base {
        hash: hash(committed),
        path,
        patches: patch.into_iter().collect(),
    }
}

/// How the new text follows from what git has, given how the old one did, which was at `path`.
pub(crate) fn continued(kept: Option<Base>, path: &str, it: &Rerendered) -> Base {
    let mut base = kept.unwrap_or_else(|| Base {
        hash: hash(&it.old),
        path: None,
        patches: Vec::new(),
    });
    base.path.get_or_insert_with(|| path.to_owned());
    if it.old != it.new {
        base.patches.push(patch::of(&it.old, &it.new));
    }
    base
}
