//! The only reader of Rust sources: tokens, comments, attributes, items, and what is code for tests. Pure.
//!
//! rustc's own lexer splits the text, and nothing is parsed further than its users need, so that code that does
//! not compile is read too. Brackets of every kind are matched once, here: one that has no partner ends with the
//! text, or alone, and nobody counts how deep it is.

pub(crate) mod import;
pub(crate) mod marker;
pub(crate) mod path;
mod test_code;

use std::ops::Range;

use ra_ap_rustc_lexer::{DocStyle, FrontmatterAllowed, LiteralKind, TokenKind, tokenize};

pub(crate) use import::{Use, UseKind, UseLeaf, UseTree};
pub(crate) use path::Segment;

/// Keywords that may come before a path, and are not part of it.
const KEYWORDS: [&str; 34] = [
    "as", "async", "await", "break", "const", "continue", "dyn", "else", "enum", "extern", "false",
    "fn", "for", "if", "impl", "in", "let", "loop", "match", "mod", "move", "mut", "pub", "ref",
    "return", "static", "struct", "trait", "true", "type", "unsafe", "use", "where", "while",
];

/// A text as tokens, without whitespace and comments, and its comments.
#[derive(Debug)]
pub(crate) struct Code<'a> {
    pub(crate) text: &'a str,
    tokens: Vec<Token<'a>>,
    pub(crate) comments: Vec<Comment<'a>>,
}

#[derive(Debug)]
struct Token<'a> {
    text: &'a str,
    kind: TokenKind,
    start: usize,
    /// The token that closes or opens what this one opens or closes; its own number if there is none, or the end
    /// of the tokens for one that opens.
    partner: usize,
}

#[derive(Debug)]
pub(crate) struct Comment<'a> {
    pub(crate) text: &'a str,
    pub(crate) start: usize,
    /// The token after it.
    pub(crate) next: usize,
    /// What it describes, if it is a doc comment: what contains it, or what follows it.
    pub(crate) doc: Option<DocStyle>,
    /// Whether it ends with its line.
    pub(crate) is_line: bool,
}

/// `#[…]` or `#![…]`
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Attribute {
    pub(crate) is_inner: bool,
    /// The tokens between the brackets.
    pub(crate) inside: Range<usize>,
    /// The token after it.
    pub(crate) end: usize,
}

/// A part of a text, and its replacement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Replacement {
    pub(crate) range: Range<usize>,
    pub(crate) text: String,
}

impl Replacement {
    pub(crate) fn new(range: Range<usize>, text: impl Into<String>) -> Self {
        let text = text.into();
        Self { range, text }
    }
}

impl<'a> Code<'a> {
    pub(crate) fn read(text: &'a str) -> Self {
        let (mut tokens, mut comments) = (Vec::new(), Vec::new());
        let mut end = 0;
        for token in tokenize(text, FrontmatterAllowed::Yes) {
            let start = end;
            end += token.len as usize;
            let (own, next) = (&text[start..end], tokens.len());
            match token.kind {
                TokenKind::Whitespace => {}
                TokenKind::LineComment { doc_style }
                | TokenKind::BlockComment { doc_style, .. } => comments.push(Comment {
                    text: own,
                    start,
                    next,
                    doc: doc_style,
                    is_line: matches!(token.kind, TokenKind::LineComment { .. }),
                }),
                kind => tokens.push(Token {
                    text: own,
                    kind,
                    start,
                    partner: next,
                }),
            }
        }
        match_brackets(&mut tokens);
        Self {
            text,
            tokens,
            comments,
        }
    }

    pub(crate) fn len(&self) -> usize {
        self.tokens.len()
    }

    /// The text of a token; empty where there is none.
    pub(crate) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The text of the token that many tokens before.
    pub(crate) fn back(&self, at: usize, count: usize) -> &'a str {
        at.checked_sub(count).map_or("", |at| self.word(at))
    }

    /// Where a token begins; the end of the text where there is none.
    pub(crate) fn start(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(self.text.len(), |it| it.start)
    }

    pub(crate) fn range(&self, at: usize) -> Range<usize> {
        let start = self.start(at);
        start..start + self.word(at).len()
    }

    /// The line of a place in the text, from 1.
    pub(crate) fn line(&self, offset: usize) -> usize {
        self.text[..offset].matches('\n').count() + 1
    }

    fn is_of(&self, at: usize, kind: TokenKind) -> bool {
        self.tokens.get(at).is_some_and(|token| token.kind == kind)
    }

    /// Whether this token is a word: a name or a keyword.
    pub(crate) fn is_word(&self, at: usize) -> bool {
        self.is_of(at, TokenKind::Ident)
    }

    /// Whether this token is a name that a path may contain.
    pub(crate) fn is_name(&self, at: usize) -> bool {
        let is_keyword = || KEYWORDS.contains(&self.word(at));
        self.is_word(at) && !is_keyword() || self.is_of(at, TokenKind::RawIdent)
    }

    /// What is between the quotes of a plain string, and where it begins.
    pub(crate) fn string(&self, at: usize) -> Option<Segment> {
        let Token {
            text, kind, start, ..
        } = self.tokens.get(at)?;
        let TokenKind::Literal { kind, .. } = kind else {
            return None;
        };
        let is_plain = *kind == LiteralKind::Str { terminated: true } && text.ends_with('"');
        is_plain.then(|| Segment::new(self.text, start + 1..start + text.len() - 1))
    }

    /// A token as a name of a path.
    pub(crate) fn segment(&self, at: usize) -> Segment {
        Segment::new(self.text, self.range(at))
    }

    /// Whether `::` begins here.
    pub(crate) fn is_separator(&self, at: usize) -> bool {
        self.word(at) == ":" && self.word(at + 1) == ":" && self.is_joined(at)
    }

    /// Whether nothing is between a token and the next one.
    pub(crate) fn is_joined(&self, at: usize) -> bool {
        self.range(at).end == self.start(at + 1)
    }

    fn is_opening(&self, at: usize) -> bool {
        matches!(self.word(at), "(" | "[" | "{")
    }

    fn is_closing(&self, at: usize) -> bool {
        matches!(self.word(at), ")" | "]" | "}")
    }

    /// The token that closes what `at` opens, or the end of the tokens.
    pub(crate) fn closing(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(at, |token| token.partner)
    }

    /// The token after `at`, and after what it opens.
    pub(crate) fn after(&self, at: usize) -> usize {
        if self.is_opening(at) {
            (self.closing(at) + 1).min(self.len())
        } else {
            at + 1
        }
    }

    /// The attribute that begins with the token `at`.
    pub(crate) fn attribute(&self, at: usize) -> Option<Attribute> {
        if self.word(at) != "#" {
            return None;
        }
        let is_inner = self.word(at + 1) == "!";
        let open = at + 1 + usize::from(is_inner);
        (self.word(open) == "[").then(|| Attribute {
            is_inner,
            inside: open + 1..self.closing(open),
            end: self.after(open),
        })
    }

    /// The first token of the visibility before `at`.
    pub(crate) fn visibility(&self, at: usize) -> Option<usize> {
        if self.back(at, 1) == "pub" {
            return Some(at - 1);
        }
        let open = self.tokens.get(at.checked_sub(1)?)?.partner;
        let is_restricted = self.back(at, 1) == ")" && self.back(open, 1) == "pub";
        is_restricted.then(|| open - 1)
    }

    /// The first token of what has its keyword, or its visibility, at `at`, with its attributes.
    pub(crate) fn first(&self, at: usize) -> usize {
        let mut first = self.visibility(at).unwrap_or(at);
        while self.back(first, 1) == "]" {
            match self.tokens[first - 1].partner {
                open if open < first - 1 && self.back(open, 1) == "#" => first = open - 1,
                _ => break,
            }
        }
        first
    }

    /// Where that begins in the text: with its doc comments.
    pub(crate) fn begin(&self, at: usize) -> usize {
        let mut start = self.start(self.first(at));
        for doc in self.comments.iter().rev() {
            let end = doc.start + doc.text.len();
            let is_above = end <= start && self.text[end..start].trim().is_empty();
            if doc.doc == Some(DocStyle::Outer) && is_above {
                start = doc.start;
            }
        }
        start
    }

    /// Whether an outer doc comment is directly before a token.
    pub(crate) fn has_doc(&self, at: usize) -> bool {
        let first = self.comments.partition_point(|it| it.next < at);
        let following = self.comments[first..].iter();
        let mut own = following.take_while(|it| it.next == at);
        own.any(|it| it.doc == Some(DocStyle::Outer))
    }
}

fn match_brackets(tokens: &mut [Token<'_>]) {
    let mut open: Vec<usize> = Vec::new();
    for at in 0..tokens.len() {
        let opening = match tokens[at].text {
            "(" | "[" | "{" => {
                open.push(at);
                continue;
            }
            ")" => "(",
            "]" => "[",
            "}" => "{",
            _ => continue,
        };
        // What was opened in between and not closed ends here.
        if let Some(place) = open.iter().rposition(|&it| tokens[it].text == opening) {
            for unclosed in open.drain(place + 1..) {
                tokens[unclosed].partner = at;
            }
            let partner = open.remove(place);
            (tokens[partner].partner, tokens[at].partner) = (at, partner);
        }
    }
    for at in open {
        tokens[at].partner = tokens.len();
    }
}

/// The part `range` of `text` after the replacements in it.
pub(crate) fn replaced(text: &str, range: Range<usize>, all: &[Replacement]) -> String {
    let mut result = String::new();
    let mut next = range.start;
    let is_inside = |it: &&Replacement| range.start <= it.range.start && it.range.end <= range.end;
    let mut inside: Vec<&Replacement> = all.iter().filter(is_inside).collect();
    inside.sort_by_key(|it| (it.range.start, std::cmp::Reverse(it.range.end)));
    for one in inside {
        // One inside of a part that is replaced as a whole is dropped.
        if one.range.start < next {
            continue;
        }
        result.push_str(&text[next..one.range.start]);
        result.push_str(&one.text);
        next = one.range.end;
    }
    result.push_str(&text[next..range.end]);
    result
}

#[cfg(test)]
pub(crate) mod tests;
