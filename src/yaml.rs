//! The one writer of YAML.
//!
//! serde-saphyr quotes what a YAML 1.1 reader such as kubectl's would take for a boolean or a
//! number (`on`, `n`, `1_000`); the serde_yaml family does not, and only reads here.

use serde::Serialize;

/// `value` as one YAML document that ends in a newline.
///
/// Comes from kbr's own types and from JSON, both of which YAML can always say.
pub fn write(value: &impl Serialize) -> String {
    let text = serde_saphyr::to_string(value).expect("a value of JSON's shape is YAML");
    if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn what_yaml_1_1_would_misread_is_quoted() {
        for word in [
            "on",
            "off",
            "y",
            "n",
            "yes",
            "Null",
            "~",
            "1_000",
            "0x1f",
            "1e3",
            "012",
            "0b1",
            "0o7",
            "2001-01-01",
            "2001-1-1",
            "1.5",
            "<<",
            "=",
        ] {
            let text = super::write(&BTreeMap::from([(word, word)]));
            assert!(text.contains(['"', '\'']), "{text}");
            let back: BTreeMap<String, String> = serde_yaml::from_str(&text).expect("YAML");
            assert_eq!(back, BTreeMap::from([(word.to_owned(), word.to_owned())]));
        }
    }
}
