//! Labels and subdomains of the DNS (RFC 1123), as `k8s.io/apimachinery` reads them.

/// Longest DNS label; the limit is the same for a Kubernetes label's value and for a part of its key.
pub(crate) const LABEL_MAX: usize = 63;

/// Longest subdomain.
pub(crate) const SUBDOMAIN_MAX: usize = 253;

/// Lower-case letters, digits and `-`, no `-` at either end.
pub(crate) fn is_label(text: &str) -> bool {
    text.len() <= LABEL_MAX && is_word(text)
}

/// Words between dots. Only the total length is limited: a word may be longer than a label.
pub(crate) fn is_subdomain(text: &str) -> bool {
    text.len() <= SUBDOMAIN_MAX && text.split('.').all(is_word)
}

fn is_word(text: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.chars().all(is_inner) && !text.starts_with('-') && !text.ends_with('-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_kubernetes() {
        let long = "a".repeat(64);
        for (text, label, subdomain) in [
            ("a", true, true),
            ("a.b", false, true),
            ("A_b", false, false),
            ("example.com/A_b", false, false),
            ("Example.com/a", false, false),
            ("/a", false, false),
            ("a/", false, false),
            ("a/b/c", false, false),
            ("", false, false),
            ("-a", false, false),
            ("a..b", false, false),
            (&long, false, true),
        ] {
            let found = (is_label(text), is_subdomain(text));
            assert_eq!(found, (label, subdomain), "{text}");
        }
    }
}
