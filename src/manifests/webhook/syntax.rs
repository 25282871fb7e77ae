//! What Kubernetes accepts as a label's key and value, as in `k8s.io/apimachinery`.

use crate::error::quoted;
use crate::names::dns::{LABEL_MAX, is_subdomain};

/// A label's key, or another qualified name: a name, optionally with a subdomain and `/` before it.
pub(super) fn is_qualified_name(text: &str) -> bool {
    let is_name = |name: &str| !name.is_empty() && is_label_value(name);
    match text.split_once('/') {
        Some((prefix, name)) => is_subdomain(prefix) && is_name(name),
        None => is_name(text),
    }
}

/// A label's value, which may be empty.
pub(super) fn is_label_value(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || "-_.".contains(c);
    let is_outer = |c: Option<char>| c.is_none_or(|c| c.is_ascii_alphanumeric());
    text.len() <= LABEL_MAX
        && text.chars().all(is_inner)
        && is_outer(text.chars().next())
        && is_outer(text.chars().next_back())
}

/// Several words as alternatives in a sentence.
pub(super) fn alternatives(words: &[&str]) -> String {
    match words.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} or `{last}`", quoted(first)),
        _ => quoted(words),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_and_values_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for (text, name, value) in [
            ("a", true, true),
            ("a.b", true, true),
            ("A_b", true, true),
            ("example.com/A_b", true, false),
            ("Example.com/a", false, false),
            ("/a", false, false),
            ("a/", false, false),
            ("a/b/c", false, false),
            ("", false, true),
            ("-a", false, false),
            ("a..b", true, true),
            (&long, false, false),
        ] {
            let found = (is_qualified_name(text), is_label_value(text));
            assert_eq!(found, (name, value), "{text}");
        }
    }

    #[test]
    fn alternatives_are_a_sentence() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
