//! What one Rust file says about modules: its scopes, paths, imports and declarations. Pure.
//!
//! [`crate::rust`] splits the text into tokens, and nothing parses it any further, so that the arguments
//! of a macro are read like other code, and code that does not compile is read as well.

use std::ops::Range;

use crate::rust::path::{links, path};
use crate::rust::{Code, Segment, Use};

/// A path in code, in a doc comment's link or in a literal of an attribute.
#[derive(Debug)]
pub(super) struct Path {
    pub(crate) scope: usize,
    pub(crate) segments: Vec<Segment>,
    /// Whether it begins with `::`.
    pub(crate) is_global: bool,
    /// Whether it is everything between the parentheses of `pub(super)`.
    pub(crate) is_visibility: bool,
}

/// `mod name;`
#[derive(Debug)]
pub(super) struct Declaration {
    pub(crate) scope: usize,
    pub(crate) name: Segment,
    pub(crate) is_public: bool,
    /// With its attributes and doc comments.
    pub(crate) range: Range<usize>,
    /// The literal of `#[path = "…"]`.
    pub(crate) path: Option<String>,
    /// Whether only tests have the module.
    pub(crate) is_for_tests: bool,
}

/// A block of code; the first one is the file itself.
#[derive(Debug, Default)]
pub(super) struct Block {
    pub(crate) parent: Option<usize>,
    /// The inline modules around it.
    pub(crate) module: Vec<String>,
    /// Whether it is a public module.
    pub(crate) is_public: bool,
    /// The types that it defines, and whether they are public.
    pub(crate) types: Vec<(String, bool)>,
    /// Its functions and constants.
    pub(crate) values: Vec<String>,
}

/// One Rust file.
#[derive(Debug, Default)]
pub(super) struct Source {
    pub(crate) blocks: Vec<Block>,
    pub(crate) paths: Vec<Path>,
    /// Each with its block.
    pub(crate) uses: Vec<(usize, Use)>,
    pub(crate) declarations: Vec<Declaration>,
    /// Literals with the path of another file, relative to this file's folder; without the quotes.
    pub(crate) files: Vec<Range<usize>>,
    /// The files of `include!`, except in code for tests.
    pub(crate) included: Vec<Segment>,
}

impl Source {
    pub(super) fn read(text: &str) -> Self {
        let code = Code::read(text);
        let mut scanner = SourceScanner {
            tests: code.test_code(),
            code,
            comments_read: 0,
            open: vec![0],
            attribute_end: 0,
            source: Self {
                blocks: vec![Block::default()],
                ..Self::default()
            },
        };
        let mut at = 0;
        while at < scanner.code.len() {
            scanner.read_docs(at);
            at = scanner.step(at);
        }
        scanner.read_docs(at);
        scanner.source
    }
}

/// Reads a file token by token.
struct SourceScanner<'a> {
    code: Code<'a>,
    /// What is compiled only for tests.
    tests: Vec<Range<usize>>,
    /// How many of the comments have been read.
    comments_read: usize,
    /// The blocks that are open, the innermost last.
    open: Vec<usize>,
    /// The token after the attribute that is being read.
    attribute_end: usize,
    source: Source,
}

impl SourceScanner<'_> {
    /// Reads what begins at the token `at`, and returns the token to continue with.
    fn step(&mut self, at: usize) -> usize {
        match self.code.word(at) {
            "{" => self.open_block(None, false),
            "}" if self.open.len() > 1 => {
                self.open.pop();
            }
            "#" => {
                if let Some(attribute) = self.code.attribute(at) {
                    self.attribute_end = attribute.end;
                }
            }
            ":" if self.code.is_separator(at) => return self.path(at),
            "use" => {
                if let Some(item) = self.code.import(at) {
                    let end = item.end;
                    self.source.uses.push((self.block(), item));
                    return end;
                }
            }
            "mod" => return self.module(at),
            word @ ("struct" | "enum" | "union" | "trait" | "type" | "fn" | "const" | "static") => {
                self.item(word, at);
            }
            _ if self.code.is_name(at) => return self.path(at),
            _ => {
                if let Some(text) = self.code.string(at) {
                    self.literal(at, &text);
                }
            }
        }
        at + 1
    }

    fn block(&self) -> usize {
        *self.open.last().unwrap_or(&0)
    }

    fn is_for_tests(&self, it: &Segment) -> bool {
        self.tests.iter().any(|part| part.contains(&it.range.start))
    }

    fn open_block(&mut self, name: Option<&str>, is_public: bool) {
        let parent = self.block();
        let mut module = self.source.blocks[parent].module.clone();
        module.extend(name.map(str::to_owned));
        self.open.push(self.source.blocks.len());
        self.source.blocks.push(Block {
            parent: name.is_none().then_some(parent),
            module,
            is_public,
            ..Block::default()
        });
    }

    fn read_docs(&mut self, next: usize) {
        while let Some(comment) = self.code.comments.get(self.comments_read)
            && comment.next <= next
        {
            let found = comment.doc.map(|_| links(comment.text, comment.start));
            self.comments_read += 1;
            for segments in found.into_iter().flatten() {
                self.push_path(segments);
            }
        }
    }

    /// Adds a path in text: a single name may be anything there.
    fn push_path(&mut self, segments: Vec<Segment>) {
        if segments.len() > 1 {
            self.source.paths.push(Path {
                scope: self.block(),
                segments,
                is_global: false,
                is_visibility: false,
            });
        }
    }

    /// Reads a literal, which may be the path of a file or, in an attribute, a path of Rust, as in
    /// `#[serde(with = "super::x")]`.
    fn literal(&mut self, at: usize, text: &Segment) {
        let back = |count| self.code.back(at, count);
        let is_macro = at > 2 && matches!(back(1), "(" | "[" | "{") && back(2) == "!";
        let is_included = is_macro && back(3) == "include";
        let is_data = is_macro && matches!(back(3), "include_str" | "include_bytes");
        let is_attribute = at < self.attribute_end;
        // In an inline module, the path would be relative to another folder.
        let is_path = is_attribute
            && (back(1), back(2), back(3)) == ("=", "path", "[")
            && self.source.blocks[self.block()].module.is_empty();
        if is_included && !self.is_for_tests(text) {
            self.source.included.push(text.clone());
        }
        if is_included || is_data || is_path {
            self.source.files.push(text.range.clone());
        } else if is_attribute && let Some(segments) = path(&text.text, text.range.start) {
            self.push_path(segments);
        }
    }

    fn item(&mut self, word: &str, at: usize) {
        if !self.code.is_name(at + 1) {
            return;
        }
        let name = self.code.word(at + 1).to_owned();
        let is_public = self.code.visibility(at).is_some();
        let innermost = self.block();
        let block = &mut self.source.blocks[innermost];
        if matches!(word, "fn" | "const" | "static") {
            block.values.push(name);
        } else {
            block.types.push((name, is_public));
        }
    }

    fn module(&mut self, at: usize) -> usize {
        if !self.code.is_name(at + 1) {
            return at + 1;
        }
        let is_public = self.code.visibility(at).is_some();
        match self.code.word(at + 2) {
            "{" => {
                let name = self.code.word(at + 1);
                self.open_block(Some(name), is_public);
                return at + 3;
            }
            ";" => {
                let mut before = self.code.first(at)..at;
                let attribute =
                    before.find(|&at| (self.code.back(at, 1), self.code.word(at)) == ("[", "path"));
                let path = attribute.and_then(|at| self.code.string(at + 2));
                let name = self.code.segment(at + 1);
                self.source.declarations.push(Declaration {
                    scope: self.block(),
                    is_for_tests: self.is_for_tests(&name),
                    name,
                    is_public,
                    range: self.code.begin(at)..self.code.range(at + 2).end,
                    path: path.map(|it| it.text),
                });
            }
            _ => {}
        }
        at + 2
    }

    fn path(&mut self, at: usize) -> usize {
        let code = &self.code;
        let is_global = code.is_separator(at);
        let mut next = at + if is_global { 2 } else { 0 };
        let mut segments = Vec::new();
        while code.is_name(next) {
            segments.push(code.segment(next));
            next += 1;
            if !code.is_separator(next) || !code.is_name(next + 2) {
                break;
            }
            next += 2;
        }
        let is_visibility = segments.len() == 1
            && (code.back(at, 2), code.back(at, 1), code.word(next)) == ("pub", "(", ")");
        let is_whole = segments.len() > 1 || is_global || is_visibility;
        if is_whole && !segments.is_empty() && !self.is_continued(at, is_global) {
            self.source.paths.push(Path {
                scope: self.block(),
                segments,
                is_global,
                is_visibility,
            });
        }
        next.max(at + 1)
    }

    /// Whether the path at `at` is the end of something else: `a.b::<T>`, `Vec::<T>::new`, `$x::y`.
    fn is_continued(&self, at: usize, is_global: bool) -> bool {
        let code = &self.code;
        let before = code.back(at, 1);
        if !is_global {
            let is_field = before == "." && code.back(at, 2) != ".";
            return is_field || (before == "$" && code.word(at) != "crate");
        }
        let is_adjacent = at > 0 && code.is_joined(at - 1);
        let is_arrow = matches!(code.back(at, 2), "-" | "=") && code.is_joined(at - 2);
        (at > 0 && code.is_name(at - 1)) || (before == ">" && is_adjacent && !is_arrow)
    }
}
