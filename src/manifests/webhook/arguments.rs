//! Access to the arguments of a webhook marker, one by one.

use std::collections::BTreeSet;

use super::super::code_marker::{CodeMarker, MarkerError, suggest};
use crate::error::quoted;

impl CodeMarker {
    /// The only word of an argument, if it is given.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, MarkerError> {
        match self.texts(name) {
            None => Ok(None),
            Some([word]) if !word.is_empty() => Ok(Some(word)),
            Some([_]) => Err(self.error(
                format!("`{name}` is empty"),
                format!("write a value after `{name}=`, or omit it"),
            )),
            Some(_) => Err(self.error(
                format!("`{name}` takes one word"),
                "write a marker for each, or put the whole value in double quotes",
            )),
        }
    }

    pub(super) fn required(&self, name: &str) -> Result<&str, MarkerError> {
        self.one(name)?.ok_or_else(|| self.missing(name))
    }

    /// The words of an argument.
    pub(super) fn list(&self, name: &str) -> Result<BTreeSet<String>, MarkerError> {
        let words = self.words(name).ok_or_else(|| self.missing(name))?;
        Ok(words.into_iter().collect())
    }

    /// One of `words`, in upper or lower case.
    pub(super) fn choice(
        &self,
        name: &str,
        words: &[&'static str],
    ) -> Result<Option<&'static str>, MarkerError> {
        let Some(word) = self.one(name)? else {
            return Ok(None);
        };
        let found = words.iter().find(|known| known.eq_ignore_ascii_case(word));
        found
            .map(|known| Some(*known))
            .ok_or_else(|| self.unknown(name, word, words))
    }

    pub(super) fn mutating(&self) -> Result<bool, MarkerError> {
        let word = self.required("mutating")?;
        word.parse()
            .map_err(|_| self.unknown("mutating", word, &["true", "false"]))
    }

    /// A number from 1 to `most`, if it is given; `default` is the API server's.
    pub(super) fn number(
        &self,
        name: &str,
        most: u16,
        default: u16,
    ) -> Result<Option<u16>, MarkerError> {
        let Some(word) = self.one(name)? else {
            return Ok(None);
        };
        let parsed = word.parse::<u16>().ok();
        let number = parsed.filter(|it| (1..=most).contains(it));
        number.map(Some).ok_or_else(|| {
            self.error(
                format!("`{name}` cannot be `{word}`"),
                format!("write a number from 1 to {most}, or omit it for {default}"),
            )
        })
    }

    fn unknown(&self, name: &str, word: &str, known: &[&str]) -> MarkerError {
        let message = format!("`{name}` cannot be `{word}`");
        self.error(message, did_you_mean(word, known))
    }

    pub(super) fn missing(&self, name: &str) -> MarkerError {
        let help = match name {
            "mutating" => {
                "add `mutating=true` for a webhook that changes objects, or `mutating=false` for one \
                 that only validates them"
            }
            "groups" => "add `groups=core`, or another group",
            "path" => {
                "put it above the constant that holds the path, `const PATH: &str = \"/..\";`, or add \
                 `path=/..`"
            }
            "verbs" => "add `verbs=create;update`, or other verbs",
            _ => self.kind.example(),
        };
        self.error(
            format!("`+kbr:{}` without `{name}`", self.kind.name()),
            help,
        )
    }
}

/// Suggests the closest known word, or lists all of them.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    suggest(word, known.iter().copied()).unwrap_or_else(|| format!("write {}", alternatives(known)))
}

/// Several words as alternatives in a sentence.
fn alternatives(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or `{last}`", quoted(first)),
        _ => quoted(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn alternatives_are_a_sentence() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
