//! Tokens and comments of a Go file: enough to tell code from comments and strings, and to match brackets.
//!
//! The rules are those of the Go specification, "Lexical elements". Pure.

/// What a token is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// An identifier, a keyword or a number.
    Word,
    /// A string or a character, with its quotes.
    Text,
    /// One character of an operator or of punctuation.
    Symbol,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Token<'a> {
    pub(crate) kind: Kind,
    pub(crate) text: &'a str,
    /// Counts from 1.
    pub(crate) line: usize,
}

/// A comment, with what makes it one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Comment<'a> {
    pub(crate) text: &'a str,
    /// The lines on which it begins and ends; count from 1.
    pub(crate) line: usize,
    pub(crate) end: usize,
    /// The index of the first token after it.
    pub(crate) next: usize,
}

/// What is wrong with a file that is not Go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct LexError {
    pub(crate) line: usize,
    pub(crate) message: String,
}

/// A file as tokens and comments, each in the order of the file.
#[derive(Debug, Default)]
pub(crate) struct Code<'a> {
    pub(crate) tokens: Vec<Token<'a>>,
    pub(crate) comments: Vec<Comment<'a>>,
    /// For each token that is an opening bracket, the index of its closing one.
    closing: Vec<usize>,
}

impl Comment<'_> {
    /// Whether it is `// …`, and not in `/* */`.
    pub(crate) fn is_line(&self) -> bool {
        self.text.starts_with("//")
    }
}

impl<'a> Code<'a> {
    pub(crate) fn read(source: &'a str) -> Result<Self, LexError> {
        let mut code = Self::default();
        let (mut rest, mut line) = (source, 1);
        while let Some(first) = rest.chars().next() {
            let (length, is_comment, kind) = match first {
                _ if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), true, None),
                _ if rest.starts_with("/*") => {
                    let end = rest.find("*/");
                    let end = end.ok_or_else(|| error(line, "a comment has no end"))?;
                    (end + 2, true, None)
                }
                '`' => {
                    let end = rest[1..].find('`');
                    let end = end.ok_or_else(|| error(line, "a raw string has no end"))?;
                    (end + 2, false, Some(Kind::Text))
                }
                '"' | '\'' => {
                    let end = end_of_quoted(rest, first);
                    let end = end.ok_or_else(|| error(line, "a string has no end"))?;
                    (end, false, Some(Kind::Text))
                }
                _ if is_word(first) => {
                    let end = rest.find(|c| !is_word(c)).unwrap_or(rest.len());
                    (end, false, Some(Kind::Word))
                }
                _ if first.is_whitespace() || first == '\u{feff}' => {
                    (first.len_utf8(), false, None)
                }
                _ => (first.len_utf8(), false, Some(Kind::Symbol)),
            };
            let text = &rest[..length];
            let end = line + text.matches('\n').count();
            if is_comment {
                let next = code.tokens.len();
                let text = text.trim_end_matches('\r');
                code.comments.push(Comment {
                    text,
                    line,
                    end,
                    next,
                });
            }
            code.tokens
                .extend(kind.map(|kind| Token { kind, text, line }));
            (rest, line) = (&rest[length..], end);
        }
        code.match_brackets()?;
        Ok(code)
    }

    fn match_brackets(&mut self) -> Result<(), LexError> {
        self.closing = vec![0; self.tokens.len()];
        let mut open: Vec<usize> = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            if token.kind != Kind::Symbol {
                continue;
            }
            match token.text {
                "(" | "[" | "{" => open.push(at),
                ")" | "]" | "}" => {
                    let begin = open.pop().filter(|begin| {
                        matches!(
                            (self.tokens[*begin].text, token.text),
                            ("(", ")") | ("[", "]") | ("{", "}")
                        )
                    });
                    let message = || format!("`{}` closes no bracket", token.text);
                    let begin = begin.ok_or_else(|| error(token.line, message()))?;
                    self.closing[begin] = at;
                }
                _ => {}
            }
        }
        match open.first() {
            Some(&at) => {
                let token = self.tokens[at];
                Err(error(
                    token.line,
                    format!("`{}` is never closed", token.text),
                ))
            }
            None => Ok(()),
        }
    }

    /// The text of a token; empty after the last.
    pub(crate) fn word(&self, at: usize) -> &'a str {
        self.tokens.get(at).map_or("", |token| token.text)
    }

    /// The line of a token, or 0 after the last.
    pub(crate) fn line(&self, at: usize) -> usize {
        self.tokens.get(at).map_or(0, |token| token.line)
    }

    /// The index of the bracket that closes the one at `at`; `at` itself if that is no opening bracket.
    pub(crate) fn closing(&self, at: usize) -> usize {
        match self.word(at) {
            "(" | "[" | "{" => self.closing.get(at).copied().unwrap_or(at),
            _ => at,
        }
    }

    /// The value of a string without escapes.
    pub(crate) fn string(&self, at: usize) -> Option<&'a str> {
        let token = self
            .tokens
            .get(at)
            .filter(|token| token.kind == Kind::Text)?;
        let inner = token.text.get(1..token.text.len() - 1)?;
        let is_plain = token.text.starts_with('`') || !inner.contains('\\');
        (is_plain && !token.text.starts_with('\'')).then_some(inner)
    }

    /// The lines of the comment that directly precedes the token at `at`: of several groups, the last, which no
    /// blank line separates from the token.
    pub(crate) fn doc(&self, at: usize) -> Vec<&Comment<'a>> {
        let mut doc = Vec::new();
        let mut below = self.line(at);
        for comment in self.comments.iter().rev() {
            if comment.next > at {
                continue;
            }
            // A comment behind other code belongs to that code.
            let is_behind = comment.next > 0 && self.line(comment.next - 1) == comment.line;
            if comment.next < at || comment.end + 1 != below || is_behind {
                break;
            }
            below = comment.line;
            doc.push(comment);
        }
        doc.reverse();
        doc
    }
}

fn error(line: usize, message: impl Into<String>) -> LexError {
    LexError {
        line,
        message: message.into(),
    }
}

fn is_word(c: char) -> bool {
    c == '_' || c.is_alphanumeric()
}

/// The length of a text that begins with `quote`, if it ends on its line.
fn end_of_quoted(text: &str, quote: char) -> Option<usize> {
    let mut is_escaped = false;
    for (at, c) in text.char_indices().skip(1) {
        match c {
            '\n' => return None,
            _ if is_escaped => is_escaped = false,
            '\\' => is_escaped = true,
            _ if c == quote => return Some(at + 1),
            _ => {}
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(source: &str) -> Vec<&str> {
        let code = Code::read(source).expect(source);
        code.tokens.iter().map(|token| token.text).collect()
    }

    #[test]
    fn strings_and_comments_are_no_code() {
        assert_eq!(
            words("a := \"{ // \\\" }\" // {\n/* { \n */ b = `{\n\"` + '\\'' + '{'"),
            [
                "a",
                ":",
                "=",
                "\"{ // \\\" }\"",
                "b",
                "=",
                "`{\n\"`",
                "+",
                "'\\''",
                "+",
                "'{'"
            ]
        );
    }

    #[test]
    fn what_is_not_go_has_a_line() {
        for (source, line) in [
            ("a\n/* b", 2),
            ("a\n\n`b", 3),
            ("\"a\nb\"", 1),
            ("f() {\n", 1),
            ("f(}\n", 1),
            ("\n}", 2),
        ] {
            let error = Code::read(source).expect_err(source);
            assert_eq!(error.line, line, "{source}: {error:?}");
        }
    }

    #[test]
    fn a_doc_comment_touches_what_it_is_about() {
        let source = "// far\n\n// one\n// two\nfunc f() {}\nvar x = 1 // behind\nfunc g() {}\n/* block\nof two */\nfunc h() {}";
        let code = Code::read(source).expect("Go");
        let at = |name: &str| {
            let at = code.tokens.iter().position(|token| token.text == name);
            at.expect("a function") - 1
        };
        let doc = |name: &str| -> Vec<&str> {
            let doc = code.doc(at(name)).into_iter();
            doc.map(|comment| comment.text).collect()
        };
        assert_eq!(doc("f"), ["// one", "// two"]);
        assert_eq!(doc("g"), [""; 0]);
        assert_eq!(doc("h"), ["/* block\nof two */"]);
    }
}
