//! What one Rust file says about modules: its scopes, paths, imports and declarations. Pure.
//!
//! [`crate::rust`] splits the text into tokens, and nothing parses it any further, so that the arguments
//! of a macro are read like other code, and code that does not compile is read as well.

mod scan;

use std::ops::Range;

use crate::rust::{Segment, Use};

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

/// `mod name;`
#[derive(Debug)]
pub struct Declaration {
    pub scope: usize,
    pub name: Segment,
    pub is_public: bool,
    /// With its attributes and doc comments.
    pub range: Range<usize>,
    /// The literal of `#[path = "…"]`.
    pub path: Option<String>,
    /// Whether only tests have the module.
    pub is_for_tests: bool,
}

/// A block of code; the first one is the file itself.
#[derive(Debug, Default)]
pub struct Block {
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
#[derive(Debug, Default)]
pub struct Source {
    pub blocks: Vec<Block>,
    pub paths: Vec<Path>,
    /// Each with its block.
    pub uses: Vec<(usize, Use)>,
    pub declarations: Vec<Declaration>,
    /// Literals with the path of another file, relative to this file's folder; without the quotes.
    pub files: Vec<Range<usize>>,
    /// The files of `include!`, except in code for tests.
    pub included: Vec<Segment>,
}

impl Source {
    pub fn read(text: &str) -> Self {
        scan::Scanner::new(text).read()
    }
}
