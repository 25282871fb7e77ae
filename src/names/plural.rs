//! The plural of a kind, decided once: every file that needs it gets it from here.
//!
//! English has no rule without exception; a library knows most of them, a short list the words of
//! our field that it gets wrong. Who disagrees types `--plural`.

/// Words of the field whose plural the library gets wrong, with the plural that Kubernetes and
/// the dictionaries use. Matched at the end of a word, so that `contactlens` is covered by `lens`.
const CORRECTIONS: [(&str, &str); 5] = [
    ("virus", "viruses"),
    ("lens", "lenses"),
    ("schema", "schemas"),
    ("corpus", "corpora"),
    ("datum", "data"),
];

/// The plural of `singular`, a kind in lower case.
///
/// The result is a guess about a language, not a checked name: it goes through
/// [`Plural`](super::Plural) like anything typed.
pub fn pluralize(singular: &str) -> String {
    let corrected = CORRECTIONS.iter().find_map(|(word, plural)| {
        singular
            .strip_suffix(word)
            .map(|stem| format!("{stem}{plural}"))
    });
    corrected.unwrap_or_else(|| pluralizer::pluralize(singular, 2, false))
}

#[cfg(test)]
mod tests {
    use super::pluralize;

    #[test]
    fn kinds_of_every_ending_have_their_plural() {
        let expected = [
            ("cronjob", "cronjobs"),
            ("policy", "policies"),
            ("networkpolicy", "networkpolicies"),
            ("gateway", "gateways"),
            ("ingress", "ingresses"),
            ("redis", "redis"),
            ("dns", "dns"),
            ("endpoints", "endpoints"),
            ("index", "indices"),
            ("schema", "schemas"),
            ("lens", "lenses"),
            ("httpproxy", "httpproxies"),
            ("memcached", "memcacheds"),
        ];
        for (singular, plural) in expected {
            assert_eq!(pluralize(singular), plural, "{singular}");
        }
    }
}
