//! The only YAML writer in kbr, and with [`stream`] the only reader of files with several documents.
//!
//! serde-saphyr quotes strings that a YAML 1.1 reader such as kubectl's would take for a boolean or
//! a number (`on`, `n`, `1_000`); the serde_yaml family does not, and is used only for reading.

mod problem;
mod stream;

use serde::Serialize;

pub(crate) use problem::Problem;
pub(crate) use stream::{YamlError, documents, read};

/// `value` as one YAML document that ends in a newline.
///
/// Values are of kbr's own types or JSON, and YAML can represent both.
pub(crate) fn write(value: &impl Serialize) -> String {
    let written = serde_saphyr::to_string(value).expect("JSON-like values can be written as YAML");
    let text = without_blanks(written);
    if text.ends_with('\n') {
        text
    } else {
        text + "\n"
    }
}

/// Empties lines that contain only spaces, unless that would change the meaning.
fn without_blanks(text: String) -> String {
    let is_blank = |line: &&str| !line.is_empty() && line.bytes().all(|byte| byte == b' ');
    if !text.lines().any(|line| is_blank(&line)) {
        return text;
    }
    let lines = text
        .lines()
        .map(|line| if is_blank(&line) { "" } else { line });
    let emptied = lines.collect::<Vec<_>>().join("\n") + "\n";
    let read = |text: &str| serde_yaml::from_str::<serde_yaml::Value>(text).ok();
    if read(&emptied) == read(&text) {
        emptied
    } else {
        text
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    #[test]
    fn blank_lines_in_strings_have_no_spaces() {
        for text in ["one\n\ntwo", "one\n\n\n  two\n", "\n\none\n\n"] {
            let object = BTreeMap::from([("inner", BTreeMap::from([("text", text)]))]);
            let written = super::write(&object);
            let back: BTreeMap<String, BTreeMap<String, String>> =
                serde_yaml::from_str(&written).expect("YAML");
            assert_eq!(back["inner"]["text"], text, "{written}");
            let has_spaces = written.lines().any(|line| line.ends_with(' '));
            assert!(!has_spaces, "{written:?}");
        }
        let spaces = BTreeMap::from([("text", "one\n \n  \ntwo")]);
        let back: BTreeMap<String, String> =
            serde_yaml::from_str(&super::write(&spaces)).expect("YAML");
        assert_eq!(back["text"], spaces["text"]);
    }

    #[test]
    fn strings_that_yaml_1_1_would_misread_are_quoted() {
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
