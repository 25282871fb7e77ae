//! Access to the arguments of a webhook marker, one by one.

use serde_json::{Value, json};

use super::super::code_marker::{CodeMarker, MarkerError, suggest};
use super::syntax;

/// A marker's arguments, read one by one.
pub(super) struct WebhookArguments<'m>(&'m CodeMarker);

impl<'m> WebhookArguments<'m> {
    pub(super) fn of(marker: &'m CodeMarker) -> Self {
        Self(marker)
    }

    /// The `path`, or the text of the constant below the marker.
    pub(super) fn path(&self) -> Result<&str, MarkerError> {
        let path = self.one("path")?.or(self.0.constant.as_deref());
        path.ok_or_else(|| self.missing("path"))
    }

    /// An error at the marker: what is wrong, and what to write instead.
    pub(super) fn error(&self, message: impl Into<String>, help: impl Into<String>) -> MarkerError {
        self.0.location.error(message, help)
    }

    /// The only word of an argument, if it is given.
    pub(super) fn one(&self, name: &str) -> Result<Option<&str>, MarkerError> {
        match self.0.texts(name) {
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

    /// The words of an argument, sorted, without duplicates.
    pub(super) fn list(&self, name: &str) -> Result<Vec<String>, MarkerError> {
        let mut words = self.0.words(name).ok_or_else(|| self.missing(name))?;
        words.sort();
        words.dedup();
        Ok(words)
    }

    /// The texts of an argument, which are split only outside quotes and braces.
    pub(super) fn texts(&self, name: &str) -> Option<&[String]> {
        self.0.texts(name)
    }

    /// One of `words`, in upper or lower case.
    pub(super) fn choice(&self, name: &str, words: &[&str]) -> Result<Option<Value>, MarkerError> {
        let Some(word) = self.one(name)? else {
            return Ok(None);
        };
        let found = words.iter().find(|known| known.eq_ignore_ascii_case(word));
        found.map(|known| Some(json!(known))).ok_or_else(|| {
            let message = format!("`{name}` cannot be `{word}`");
            self.error(message, did_you_mean(word, words))
        })
    }

    pub(super) fn mutating(&self) -> Result<bool, MarkerError> {
        let word = self.required("mutating")?;
        word.parse().map_err(|_| {
            let message = format!("`mutating` cannot be `{word}`");
            self.error(message, did_you_mean(word, &["true", "false"]))
        })
    }

    fn missing(&self, name: &str) -> MarkerError {
        let kind = self.0.kind;
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
            _ => kind.example(),
        };
        self.error(format!("`+kbr:{}` without `{name}`", kind.name()), help)
    }
}

/// Suggests the closest known word, or lists all of them.
pub(super) fn did_you_mean(word: &str, known: &[&str]) -> String {
    suggest(word, known.iter().copied())
        .unwrap_or_else(|| format!("write {}", syntax::alternatives(known)))
}
