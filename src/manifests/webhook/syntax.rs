//! What Kubernetes takes for a name, a label's key or a label's value.
//!
//! As `k8s.io/apimachinery` has it: a word of a DNS subdomain may be longer than a DNS label, so
//! the names that kbr makes itself are held against stricter rules elsewhere.

/// Longest DNS label, part of a label's key, or label's value.
const LABEL_MAX: usize = 63;

/// Longest DNS subdomain (RFC 1123).
const SUBDOMAIN_MAX: usize = 253;

/// DNS-1123 label: lower-case letters, digits and `-`, no `-` at either end.
pub(super) fn is_label(text: &str) -> bool {
    text.len() <= LABEL_MAX && is_word(text)
}

/// Words of lower-case letters, digits and `-` between dots.
pub(super) fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_word)
}

/// A label's key, or another qualified name: a name, with a subdomain and `/` before it or not.
pub(super) fn is_qualified_name(text: &str) -> bool {
    let (prefix, name) = match text.split_once('/') {
        Some((prefix, name)) => (Some(prefix), name),
        None => (None, text),
    };
    prefix.is_none_or(is_subdomain) && !name.is_empty() && is_label_value(name)
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

fn is_word(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Several words as one may choose among them.
pub(super) fn alternatives(words: &[&str]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| format!("`{word}`")).collect();
    match quoted.split_last() {
        Some((last, [])) => last.clone(),
        Some((last, first)) => format!("{} or {last}", first.join(", ")),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for (text, label, subdomain, name, value) in [
            ("a", true, true, true, true),
            ("a.b", false, true, true, true),
            ("A_b", false, false, true, true),
            ("example.com/A_b", false, false, true, false),
            ("Example.com/a", false, false, false, false),
            ("/a", false, false, false, false),
            ("a/", false, false, false, false),
            ("a/b/c", false, false, false, false),
            ("", false, false, false, true),
            ("-a", false, false, false, false),
            ("a..b", false, false, true, true),
            (&long, false, true, false, false),
        ] {
            let found = (
                is_label(text),
                is_subdomain(text),
                is_qualified_name(text),
                is_label_value(text),
            );
            assert_eq!(found, (label, subdomain, name, value), "{text}");
        }
    }

    #[test]
    fn alternatives_are_a_sentence() {
        assert_eq!(alternatives(&["a"]), "`a`");
        assert_eq!(alternatives(&["a", "b", "c"]), "`a`, `b` or `c`");
    }
}
