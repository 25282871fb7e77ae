//! What one Rust file says about modules: its scopes, paths, imports and declarations. Pure.
//!
//! rustc's lexer splits the text into tokens, and nothing parses it any further, so that the arguments
//! of a macro are read like other code, and code that does not compile is read as well.

mod links;
mod scan;

use std::ops::Range;

/// One name of a path, with its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Segment {
    pub text: String,
    pub range: Range<usize>,
}

/// A path in code, in a doc comment's link or in a literal of an attribute.
#[derive(Debug)]
pub struct Path {
    pub scope: usize,
    pub segments: Vec<Segment>,
    /// Whether it begins with `::`.
    pub is_global: bool,
    /// Whether it is everything between the parentheses of `pub(super)`.
    pub is_visibility: bool,
}

/// A `use` declaration.
#[derive(Debug)]
pub struct Use {
    pub scope: usize,
    pub is_global: bool,
    pub is_public: bool,
    pub tree: UseTree,
}

/// A part of a `use` declaration: names, and what follows them.
#[derive(Debug)]
pub struct UseTree {
    /// With `*` and `self` as names.
    pub segments: Vec<Segment>,
    pub kind: UseKind,
}

#[derive(Debug)]
pub enum UseKind {
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

/// `mod name;`
#[derive(Debug)]
pub struct Declaration {
    pub scope: usize,
    pub name: Segment,
    pub is_public: bool,
    /// With its attributes and doc comments.
    pub range: Range<usize>,
}

/// A block of code; the first one is the file itself.
#[derive(Debug)]
pub struct Scope {
    pub parent: Option<usize>,
    /// The inline modules around it.
    pub module: Vec<String>,
    pub is_public: bool,
    /// The types that it defines, and whether they are public.
    pub types: Vec<(String, bool)>,
    /// Its functions and constants.
    pub values: Vec<String>,
}

/// One Rust file.
#[derive(Debug)]
pub struct Source {
    pub scopes: Vec<Scope>,
    pub paths: Vec<Path>,
    pub uses: Vec<Use>,
    pub declarations: Vec<Declaration>,
    /// Literals with the path of another file, relative to this file's folder; without the quotes.
    pub files: Vec<Range<usize>>,
}

impl Source {
    pub fn read(text: &str) -> Self {
        scan::Scanner::new(text).read()
    }
}

impl UseTree {
    /// Calls `each` for every imported name, with its path and its alias.
    pub fn leaves<'a>(
        &'a self,
        before: &[&'a str],
        each: &mut dyn FnMut(&[&'a str], Option<&'a str>),
    ) {
        let mut names = before.to_vec();
        names.extend(self.segments.iter().map(|segment| segment.text.as_str()));
        match &self.kind {
            UseKind::Leaf { alias } => each(&names, alias.as_deref()),
            UseKind::Group { children, .. } => {
                for child in children {
                    child.leaves(&names, each);
                }
            }
        }
    }
}
