//! Which parts of a source are compiled only for tests. Pure.

use ra_ap_rustc_lexer::TokenKind;

/// Follows the tokens of a source and tracks the items under `#[cfg(test)]`.
#[derive(Default)]
pub(super) struct TestsOnly {
    /// The attribute that is being read, up to the current token, without whitespace.
    attribute: Option<String>,
    state: State,
}

#[derive(Default, Clone, Copy, PartialEq)]
enum State {
    #[default]
    Outside,
    /// After the attribute, before the braces or the semicolon of the item.
    Before,
    /// Inside that many braces.
    Inside(usize),
    /// The whole file.
    Always,
}

impl TestsOnly {
    /// Whether the next token is only for tests.
    pub(super) fn is_inside(&self) -> bool {
        self.state != State::Outside
    }

    pub(super) fn pass(&mut self, kind: TokenKind, text: &str) {
        let is_blank = matches!(
            kind,
            TokenKind::Whitespace | TokenKind::LineComment { .. } | TokenKind::BlockComment { .. }
        );
        if is_blank {
            return;
        }
        if let Some(attribute) = &mut self.attribute {
            attribute.push_str(text);
            if kind == TokenKind::CloseBracket {
                self.end_attribute();
            } else if !attribute.starts_with("#[") && !attribute.starts_with("#![") && text != "!" {
                self.attribute = None;
            }
            return;
        }
        self.state = match (self.state, kind) {
            (state @ (State::Outside | State::Before), TokenKind::Pound) => {
                self.attribute = Some(text.to_owned());
                state
            }
            (State::Before, TokenKind::OpenBrace) => State::Inside(1),
            // These end a field or a variant.
            (State::Before, TokenKind::Semi | TokenKind::Comma | TokenKind::CloseBrace) => {
                State::Outside
            }
            (State::Inside(depth), TokenKind::OpenBrace) => State::Inside(depth + 1),
            (State::Inside(1), TokenKind::CloseBrace) => State::Outside,
            (State::Inside(depth), TokenKind::CloseBrace) => State::Inside(depth - 1),
            (state, _) => state,
        };
    }

    fn end_attribute(&mut self) {
        let attribute = self.attribute.take().unwrap_or_default();
        let (is_of_file, attribute) = match attribute.strip_prefix("#!") {
            Some(rest) => (true, rest),
            None => (false, attribute.trim_start_matches('#')),
        };
        let condition = attribute.strip_prefix("[cfg(").unwrap_or_default();
        let is_test = condition == "test)]" || condition.starts_with("all(test,");
        self.state = match (is_test, is_of_file) {
            (true, true) => State::Always,
            (true, false) => State::Before,
            (false, _) => self.state,
        };
    }
}
