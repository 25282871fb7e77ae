//! Reads `use`. Pure.

use ra_ap_rustc_lexer::TokenKind;

use super::super::{Use, UseKind, UseTree};
use super::Scanner;

impl Scanner<'_> {
    /// Reads `use …;` and returns the token after it.
    pub fn import(&mut self, at: usize) -> Option<usize> {
        let is_public = self.visibility(at).is_some();
        let is_global = self.is_separator(at + 1);
        let (tree, next) = self.use_tree(at + 1 + if is_global { 2 } else { 0 })?;
        if !self.is(next, TokenKind::Semi) {
            return None;
        }
        self.source.uses.push(Use {
            scope: self.scope(),
            is_global,
            is_public,
            tree,
        });
        Some(next + 1)
    }

    fn use_tree(&self, at: usize) -> Option<(UseTree, usize)> {
        let mut next = at;
        let mut segments = Vec::new();
        loop {
            if self.is(next, TokenKind::OpenBrace) {
                let (kind, next) = self.use_group(next)?;
                return Some((UseTree { segments, kind }, next));
            }
            if !self.is_name(next) && !self.is(next, TokenKind::Star) {
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
        let mut close = self.tokens.get(next)?.range.start;
        while !self.is(next, TokenKind::CloseBrace) {
            let (child, after) = self.use_tree(next)?;
            children.push(child);
            close = self.tokens.get(after)?.range.start;
            next = after + usize::from(self.is(after, TokenKind::Comma));
            if next == after && !self.is(after, TokenKind::CloseBrace) {
                return None;
            }
        }
        let kind = UseKind::Group {
            open: self.tokens[at].range.clone(),
            children,
            close: close..self.tokens[next].range.end,
        };
        Some((kind, next + 1))
    }
}
