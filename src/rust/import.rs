//! Reads `use`. Pure.

use std::ops::Range;

use super::path::names;
use super::{Code, Segment};

/// A `use` declaration.
#[derive(Debug)]
pub(crate) struct Use {
    pub(crate) is_global: bool,
    pub(crate) is_public: bool,
    pub(crate) tree: UseTree,
    /// The token after it.
    pub(crate) end: usize,
}

/// A part of a `use` declaration: names, and what follows them.
#[derive(Debug)]
pub(crate) struct UseTree {
    /// With `*` and `self` as names.
    pub(crate) segments: Vec<Segment>,
    pub(crate) kind: UseKind,
}

#[derive(Debug)]
pub(crate) enum UseKind {
    Leaf {
        alias: Option<String>,
    },
    Group {
        open: Range<usize>,
        children: Vec<UseTree>,
        /// The closing brace, and the comma before it.
        close: Range<usize>,
    },
}

/// A name that a `use` imports.
pub(crate) struct UseLeaf {
    pub(crate) path: Vec<String>,
    pub(crate) alias: Option<String>,
}

impl UseTree {
    /// Every imported name.
    pub(crate) fn leaves(&self) -> Vec<UseLeaf> {
        let own = names(&self.segments);
        match &self.kind {
            UseKind::Leaf { alias } => vec![UseLeaf {
                path: own,
                alias: alias.clone(),
            }],
            UseKind::Group { children, .. } => {
                let mut leaves: Vec<UseLeaf> = children.iter().flat_map(Self::leaves).collect();
                for leaf in &mut leaves {
                    leaf.path.splice(0..0, own.iter().cloned());
                }
                leaves
            }
        }
    }
}

impl Code<'_> {
    /// The `use …;` whose keyword is at `at`.
    pub(crate) fn import(&self, at: usize) -> Option<Use> {
        let is_global = self.is_separator(at + 1);
        let (tree, next) = self.use_tree(at + 1 + if is_global { 2 } else { 0 })?;
        (self.word(next) == ";").then(|| Use {
            is_global,
            is_public: self.visibility(at).is_some(),
            tree,
            end: next + 1,
        })
    }

    fn use_tree(&self, at: usize) -> Option<(UseTree, usize)> {
        let mut next = at;
        let mut segments = Vec::new();
        loop {
            if self.word(next) == "{" {
                let (kind, next) = self.use_group(next)?;
                return Some((UseTree { segments, kind }, next));
            }
            if !self.is_name(next) && self.word(next) != "*" {
                return None;
            }
            segments.push(self.segment(next));
            next += 1;
            if !self.is_separator(next) {
                break;
            }
            next += 2;
        }
        let alias = (self.word(next) == "as").then(|| self.word(next + 1).to_owned());
        next += if alias.is_some() { 2 } else { 0 };
        let kind = UseKind::Leaf { alias };
        Some((UseTree { segments, kind }, next))
    }

    fn use_group(&self, at: usize) -> Option<(UseKind, usize)> {
        let mut children = Vec::new();
        let mut next = at + 1;
        let mut close = self.start(next);
        while self.word(next) != "}" {
            let (child, after) = self.use_tree(next)?;
            children.push(child);
            close = self.start(after);
            next = after + usize::from(self.word(after) == ",");
            if next == after && self.word(after) != "}" {
                return None;
            }
        }
        let kind = UseKind::Group {
            open: self.range(at),
            children,
            close: close..self.range(next).end,
        };
        Some((kind, next + 1))
    }
}
