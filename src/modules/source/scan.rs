//! Reads a file token by token. Pure.

mod import;

use std::ops::Range;

use ra_ap_rustc_lexer::{DocStyle, FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

use super::links::{links, path};
use super::{Declaration, Path, Scope, Segment, Source};

/// Keywords that may come before a path, and are not part of it.
const KEYWORDS: [&str; 34] = [
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref",
    "return", "static", "struct", "trait", "true", "type", "unsafe", "use", "where", "while",
];

struct Token {
    kind: TokenKind,
    range: Range<usize>,
}

struct DocComment {
    range: Range<usize>,
    is_outer: bool,
}

pub struct Scanner<'a> {
    text: &'a str,
    /// Without whitespace and comments.
    tokens: Vec<Token>,
    docs: Vec<DocComment>,
    /// How many of `docs` have been read.
    docs_read: usize,
    /// The scopes that are open, the innermost last.
    open: Vec<usize>,
    /// The token at the end of the attribute that is being read.
    attribute_end: usize,
    source: Source,
}

impl<'a> Scanner<'a> {
    pub fn new(text: &'a str) -> Self {
        let (mut tokens, mut docs) = (Vec::new(), Vec::new());
        let mut end = 0;
        for token in tokenize(text, FrontmatterAllowed::Yes) {
            let range = end..end + token.len as usize;
            end = range.end;
            match token.kind {
                TokenKind::LineComment { doc_style }
                | TokenKind::BlockComment { doc_style, .. } => {
                    docs.extend(doc_style.map(|style| DocComment {
                        range,
                        is_outer: style == DocStyle::Outer,
                    }));
                }
                TokenKind::Whitespace => {}
                kind => tokens.push(Token { kind, range }),
            }
        }
        let scope = Scope {
            parent: None,
            module: Vec::new(),
            is_public: true,
            types: Vec::new(),
            values: Vec::new(),
        };
        Self {
            text,
            tokens,
            docs,
            docs_read: 0,
            open: vec![0],
            attribute_end: 0,
            source: Source {
                scopes: vec![scope],
                paths: Vec::new(),
                uses: Vec::new(),
                declarations: Vec::new(),
                files: Vec::new(),
            },
        }
    }

    pub fn read(mut self) -> Source {
        let mut at = 0;
        while at < self.tokens.len() {
            self.read_docs(self.tokens[at].range.start);
            at = self.step(at);
        }
        self.read_docs(self.text.len());
        self.source
    }

    /// Reads what begins at the token `at`, and returns the token to continue with.
    fn step(&mut self, at: usize) -> usize {
        match self.tokens[at].kind {
            TokenKind::OpenBrace => self.open_scope(None, false),
            TokenKind::CloseBrace if self.open.len() > 1 => {
                self.open.pop();
            }
            TokenKind::Pound => self.begin_attribute(at),
            TokenKind::Literal {
                kind: LiteralKind::Str { terminated: true },
                ..
            } => self.literal(at),
            TokenKind::Ident => match self.word(at) {
                "use" => return self.import(at).unwrap_or(at + 1),
                "mod" => return self.module(at),
                word @ ("struct" | "enum" | "union" | "trait" | "type" | "fn" | "const"
                | "static") => self.item(word, at),
                word if KEYWORDS.contains(&word) => {}
                _ => return self.path(at),
            },
            TokenKind::RawIdent => return self.path(at),
            TokenKind::Colon if self.is_separator(at) => return self.path(at),
            _ => {}
        }
        at + 1
    }

    fn word(&self, at: usize) -> &'a str {
        self.tokens
            .get(at)
            .map_or("", |token| &self.text[token.range.clone()])
    }

    fn is(&self, at: usize, kind: TokenKind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }

    fn back(&self, at: usize, count: usize) -> &'a str {
        at.checked_sub(count).map_or("", |at| self.word(at))
    }

    /// Whether `::` begins here.
    fn is_separator(&self, at: usize) -> bool {
        self.is(at, TokenKind::Colon)
            && self.is(at + 1, TokenKind::Colon)
            && self.tokens[at].range.end == self.tokens[at + 1].range.start
    }

    /// Whether this token is a name that a path may contain.
    fn is_name(&self, at: usize) -> bool {
        let is_ident = self.is(at, TokenKind::Ident) && !KEYWORDS.contains(&self.word(at));
        is_ident || self.is(at, TokenKind::RawIdent)
    }

    fn segment(&self, at: usize) -> Segment {
        Segment {
            text: self.word(at).to_owned(),
            range: self.tokens[at].range.clone(),
        }
    }

    fn scope(&self) -> usize {
        *self.open.last().unwrap_or(&0)
    }

    fn open_scope(&mut self, name: Option<&str>, is_public: bool) {
        let parent = self.scope();
        let mut module = self.source.scopes[parent].module.clone();
        module.extend(name.map(str::to_owned));
        self.open.push(self.source.scopes.len());
        self.source.scopes.push(Scope {
            parent: name.is_none().then_some(parent),
            module,
            is_public,
            types: Vec::new(),
            values: Vec::new(),
        });
    }

    fn read_docs(&mut self, before: usize) {
        while let Some(doc) = self.docs.get(self.docs_read)
            && doc.range.start < before
        {
            let found = links(&self.text[doc.range.clone()], doc.range.start);
            self.docs_read += 1;
            for segments in found {
                self.push_path(segments);
            }
        }
    }

    fn push_path(&mut self, segments: Vec<Segment>) {
        self.source.paths.push(Path {
            scope: self.scope(),
            segments,
            is_global: false,
            is_visibility: false,
        });
    }

    fn begin_attribute(&mut self, at: usize) {
        let open = at + 1 + usize::from(self.is(at + 1, TokenKind::Bang));
        if self.is(open, TokenKind::OpenBracket) {
            let mut depth = 0_usize;
            let closing = (open..self.tokens.len()).find(|&at| {
                depth += usize::from(self.is(at, TokenKind::OpenBracket));
                depth -= usize::from(self.is(at, TokenKind::CloseBracket));
                depth == 0
            });
            self.attribute_end = closing.unwrap_or(open);
        }
    }

    /// Reads a literal, which may be the path of a file or, in an attribute, a path of Rust, as in
    /// `#[serde(with = "super::x")]`.
    fn literal(&mut self, at: usize) {
        let range = &self.tokens[at].range;
        let inner = range.start + 1..range.end - 1;
        let is_included = at > 2
            && matches!(self.back(at, 1), "(" | "[" | "{")
            && self.back(at, 2) == "!"
            && matches!(
                self.back(at, 3),
                "include" | "include_str" | "include_bytes"
            );
        let is_attribute = at < self.attribute_end;
        // In an inline module, the path would be relative to another folder.
        let is_path = is_attribute
            && (self.back(at, 1), self.back(at, 2), self.back(at, 3)) == ("=", "path", "[")
            && self.source.scopes[self.scope()].module.is_empty();
        if is_included || is_path {
            self.source.files.push(inner);
        } else if is_attribute && let Some(segments) = path(&self.text[inner.clone()], inner.start)
        {
            self.push_path(segments);
        }
    }

    /// The first token of the visibility before `at`.
    fn visibility(&self, at: usize) -> Option<usize> {
        if self.back(at, 1) == "pub" {
            return Some(at - 1);
        }
        let open = (0..at)
            .rev()
            .find(|&open| self.is(open, TokenKind::OpenParen))?;
        let is_restricted = self.back(at, 1) == ")" && self.back(open, 1) == "pub";
        is_restricted.then(|| open - 1)
    }

    fn item(&mut self, word: &str, at: usize) {
        if !self.is_name(at + 1) {
            return;
        }
        let name = self.word(at + 1).to_owned();
        let is_public = self.visibility(at).is_some();
        let scope = self.scope();
        let scope = &mut self.source.scopes[scope];
        if matches!(word, "fn" | "const" | "static") {
            scope.values.push(name);
        } else {
            scope.types.push((name, is_public));
        }
    }

    fn module(&mut self, at: usize) -> usize {
        let is_public = self.visibility(at).is_some();
        if !self.is_name(at + 1) {
            return at + 1;
        }
        if self.is(at + 2, TokenKind::OpenBrace) {
            let name = self.word(at + 1);
            self.open_scope(Some(name), is_public);
            return at + 3;
        }
        if self.is(at + 2, TokenKind::Semi) {
            self.source.declarations.push(Declaration {
                scope: self.scope(),
                name: self.segment(at + 1),
                is_public,
                range: self.begin(at)..self.tokens[at + 2].range.end,
            });
        }
        at + 2
    }

    /// The start of the item with the keyword at the token `at`: its doc comments, attributes, visibility.
    fn begin(&self, at: usize) -> usize {
        let mut first = self.visibility(at).unwrap_or(at);
        while self.back(first, 1) == "]" {
            let mut depth = 0_usize;
            let open = (0..first).rev().find(|&at| {
                depth += usize::from(self.is(at, TokenKind::CloseBracket));
                depth -= usize::from(self.is(at, TokenKind::OpenBracket));
                depth == 0
            });
            match open {
                Some(open) if self.back(open, 1) == "#" => first = open - 1,
                _ => break,
            }
        }
        let mut start = self.tokens[first].range.start;
        for doc in self.docs.iter().rev().filter(|doc| doc.is_outer) {
            if doc.range.end <= start && self.text[doc.range.end..start].trim().is_empty() {
                start = doc.range.start;
            }
        }
        start
    }

    fn path(&mut self, at: usize) -> usize {
        let is_global = self.is_separator(at);
        let mut next = at + if is_global { 2 } else { 0 };
        let mut segments = Vec::new();
        while self.is_name(next) {
            segments.push(self.segment(next));
            next += 1;
            if !self.is_separator(next) || !self.is_name(next + 2) {
                break;
            }
            next += 2;
        }
        let is_visibility = segments.len() == 1
            && (self.back(at, 2), self.back(at, 1), self.word(next)) == ("pub", "(", ")");
        let is_whole = segments.len() > 1 || is_global || is_visibility;
        if is_whole && !segments.is_empty() && !self.is_continued(at, is_global) {
            self.source.paths.push(Path {
                scope: self.scope(),
                segments,
                is_global,
                is_visibility,
            });
        }
        next.max(at + 1)
    }

    /// Whether the path at `at` is the end of something else: `a.b::<T>`, `Vec::<T>::new`, `$x::y`.
    fn is_continued(&self, at: usize, is_global: bool) -> bool {
        let before = self.back(at, 1);
        if !is_global {
            let is_field = before == "." && self.back(at, 2) != ".";
            return is_field || (before == "$" && self.word(at) != "crate");
        }
        let is_adjacent = at > 0 && self.tokens[at - 1].range.end == self.tokens[at].range.start;
        let is_arrow = matches!(self.back(at, 2), "-" | "=")
            && self.tokens[at - 2].range.end == self.tokens[at - 1].range.start;
        (at > 0 && self.is_name(at - 1)) || (before == ">" && is_adjacent && !is_arrow)
    }
}
