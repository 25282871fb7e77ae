//! What is compiled only for tests. Pure.

use std::ops::Range;

use super::Code;

impl Code<'_> {
    /// The parts of the text that are compiled only for tests, each with its attributes and doc comments.
    pub(crate) fn test_code(&self) -> Vec<Range<usize>> {
        let mut parts = Vec::new();
        for at in 0..self.len() {
            let Some(attribute) = self.attribute(at) else {
                continue;
            };
            if !self.is_for_tests(attribute.inside) {
                continue;
            }
            parts.push(if attribute.is_inner {
                let is_around = |open: &usize| self.is_opening(*open) && self.closing(*open) > at;
                match (0..at).rev().find(is_around) {
                    Some(open) => self.start(open)..self.range(self.closing(open)).end,
                    None => 0..self.text.len(),
                }
            } else {
                let end = self.end(attribute.end);
                self.begin(at)..self.range(end - 1).end
            });
        }
        parts
    }

    /// Whether the attribute between these tokens is a test's, or a `cfg` that only holds in tests.
    fn is_for_tests(&self, inside: Range<usize>) -> bool {
        if self.word(inside.start) == "cfg" {
            return self.holds_only_in_tests(inside);
        }
        // `#[test]`, or another's, such as `#[tokio::test]`.
        let path = inside.take_while(|&at| self.is_name(at) || self.word(at) == ":");
        path.last().is_some_and(|at| self.word(at) == "test")
    }

    /// Whether a `cfg`, or a condition in it, holds only in tests.
    fn holds_only_in_tests(&self, condition: Range<usize>) -> bool {
        let open = condition.start + 1;
        let mut inside = self.parts(open + 1..self.closing(open));
        match (self.word(condition.start), self.word(open)) {
            ("all" | "cfg", "(") => inside.any(|part| self.holds_only_in_tests(part)),
            ("any", "(") => {
                let mut parts = inside.peekable();
                parts.peek().is_some() && parts.all(|part| self.holds_only_in_tests(part))
            }
            ("test", _) => condition.len() == 1,
            _ => false,
        }
    }

    /// What is between the commas.
    fn parts(&self, all: Range<usize>) -> impl Iterator<Item = Range<usize>> {
        let mut next = all.start;
        std::iter::from_fn(move || {
            let start = next;
            while next < all.end && self.word(next) != "," {
                next = self.after(next);
            }
            let part = start..next.min(all.end);
            next += 1;
            (!part.is_empty()).then_some(part)
        })
    }

    /// The token after what begins at `at`: an item, a statement, a field, a variant, a match arm, a parameter.
    ///
    /// Where tokens alone do not tell the end, it is too late rather than too early, but never after what
    /// contains it.
    pub(crate) fn end(&self, mut at: usize) -> usize {
        while let Some(attribute) = self.attribute(at) {
            at = attribute.end;
        }
        if self.word(at) == "pub" {
            at += 1;
            if self.word(at) == "(" {
                at = self.after(at);
            }
        }
        let form = Form::of(self.word(at), self.word(at + 1), self.is_name(at + 1));
        let mut angles = 0_usize;
        while at < self.len() && !self.is_closing(at) {
            let next = self.after(at);
            let follows = self.word(next);
            match self.word(at) {
                ";" => return next,
                "," if form == Form::Part && angles == 0 => return next,
                "<" => angles += 1,
                ">" if self.back(at, 1) == "=" && self.is_joined(at - 1) => {
                    angles = 0;
                    if form == Form::Part && follows == "{" {
                        let end = self.after(next);
                        return end + usize::from(self.word(end) == ",");
                    }
                }
                ">" if self.back(at, 1) == "-" && self.is_joined(at - 1) => {}
                ">" => angles = angles.saturating_sub(1),
                "{" if form.ends_with_braces(follows)
                    || form == Form::Part && self.back(at, 1) == "!" =>
                {
                    return next;
                }
                _ => {}
            }
            at = next;
        }
        at
    }
}

/// How the end of something is recognized.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Form {
    /// By a semicolon: `use`, `let`.
    Line,
    /// By a semicolon, or by braces.
    Item,
    /// By braces, after which there may be `else`.
    Block,
    /// By a comma or a semicolon: a field, a variant, a match arm, a parameter, an expression.
    Part,
}

impl Form {
    fn of(word: &str, next: &str, is_named: bool) -> Self {
        match word {
            "let" | "static" | "type" | "use" => Self::Line,
            "const" if matches!(next, "async" | "extern" | "fn" | "unsafe" | "{") => Self::Item,
            "const" => Self::Line,
            "async" | "enum" | "extern" | "fn" | "impl" | "mod" | "struct" | "trait" | "unsafe" => {
                Self::Item
            }
            "macro_rules" | "union" if is_named || next == "!" => Self::Item,
            "for" | "if" | "loop" | "match" | "while" | "{" => Self::Block,
            _ => Self::Part,
        }
    }

    /// Whether it ends with its braces if `next` follows them.
    fn ends_with_braces(self, next: &str) -> bool {
        match self {
            Self::Line | Self::Part => false,
            // Braces among the arguments of a generic type end nothing.
            Self::Item => !matches!(next, "," | ">" | "." | "?" | "="),
            Self::Block => !matches!(next, "else" | "in" | "=" | "|" | "&" | "." | "?"),
        }
    }
}
