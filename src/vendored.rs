//! The crate `kbr-runtime` as vendored into a project: its files, without its tests.
//!
//! They are the same in every project, so PROJECT does not record them; [`CHECKSUMS`] is next to them,
//! in the format of `sha256sum --check`. Pure.

use std::collections::BTreeMap;

use thiserror::Error;

use crate::layout::VENDORED;
use crate::rendered::hash;
use crate::templates;
use crate::tree::Tree;

/// The manifest, under a name with which cargo keeps the folder in kbr's own package, and as vendored.
const MANIFEST: (&str, &str) = ("Cargo.toml.in", "Cargo.toml");

const CHECKSUMS: &str = "SHA256SUMS";

/// `cargo fmt --all` follows every `path` in a manifest, and a project's own rules are not for this
/// crate.
const RUSTFMT: (&str, &str) = (".rustfmt.toml", "disable_all_formatting = true\n");

/// The declaration of a file's unit tests, at the end of the file.
const TESTS: &str = "mod tests;\n";

/// Every file that a project gets: path in the project and text.
pub fn files() -> Vec<(String, String)> {
    let mut files: BTreeMap<String, String> = templates::runtime()
        .filter(|(path, _)| !is_test(path))
        .map(|(path, text)| match path {
            path if path == MANIFEST.0 => (MANIFEST.1.to_owned(), text.to_owned()),
            path => (path, without_tests(text).to_owned()),
        })
        .collect();
    files.insert(RUSTFMT.0.to_owned(), RUSTFMT.1.to_owned());
    let checksums = files.iter();
    let checksums = checksums.map(|(path, text)| format!("{}  {path}\n", hash(text)));
    files.insert(CHECKSUMS.to_owned(), checksums.collect());
    let place = |(path, text)| (format!("{VENDORED}{path}"), text);
    files.into_iter().map(place).collect()
}

fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// The text without the declaration of its tests and the attributes above it.
fn without_tests(text: &str) -> &str {
    let Some(mut rest) = text.strip_suffix(TESTS) else {
        return text;
    };
    rest = rest.strip_suffix("pub(crate) ").unwrap_or(rest);
    rest = rest.strip_suffix("pub(super) ").unwrap_or(rest);
    while let Some((before, _)) = rest
        .strip_suffix("]\n")
        .and_then(|rest| rest.rsplit_once("\n#["))
    {
        rest = &rest[..=before.len()];
    }
    rest.strip_suffix('\n').unwrap_or(rest)
}

/// The checksums of the project's copy as it was vendored, by the paths of its files; `None` if the project uses
/// the crate from a registry, or its owner's own.
pub fn recorded(tree: &Tree) -> Option<BTreeMap<String, &str>> {
    let checksums = tree.text(&format!("{VENDORED}{CHECKSUMS}"))?;
    let lines = checksums.lines().filter_map(|line| line.split_once("  "));
    let files = lines.map(|(hash, path)| (format!("{VENDORED}{path}"), hash));
    Some(files.collect())
}

/// A file of the project's copy that is not as kbr wrote it.
#[derive(Debug, PartialEq, Eq, Error)]
pub enum Difference {
    #[error("`{0}` was added")]
    Added(String),
    #[error("`{0}` was edited")]
    Changed(String),
    #[error("`{0}` is missing")]
    Missing(String),
}

/// What somebody changed in the project's copy.
pub fn differences(tree: &Tree) -> Vec<Difference> {
    let Some(mut recorded) = recorded(tree) else {
        return Vec::new();
    };
    let mut differences = Vec::new();
    for (path, text) in tree.files() {
        match (path.strip_prefix(VENDORED), recorded.remove(path)) {
            (None | Some(CHECKSUMS), _) => {}
            (_, Some(recorded)) if recorded == hash(text) => {}
            (_, Some(_)) => differences.push(Difference::Changed(path.to_owned())),
            (_, None) => differences.push(Difference::Added(path.to_owned())),
        }
    }
    differences.extend(recorded.into_keys().map(Difference::Missing));
    differences
}

/// The warning about such differences, if there are any.
pub fn warning(tree: &Tree) -> Option<String> {
    let differences = differences(tree);
    let words: Vec<String> = differences.iter().map(Difference::to_string).collect();
    (!differences.is_empty()).then(|| {
        format!(
            "{}; kbr leaves the files as they are: restore `{}` from version control, or depend on a \
             fork of the crate instead",
            words.join(", "),
            VENDORED.trim_end_matches('/')
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_test_is_vendored_and_nothing_else_is_left_out() {
        let files = files();
        for (path, text) in &files {
            assert!(!text.contains("\nmod tests;"), "{path}");
            assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{path}");
        }
        let has = |name: &str| {
            files
                .iter()
                .any(|(path, _)| path == &format!("{VENDORED}{name}"))
        };
        for name in [
            "Cargo.toml",
            "LICENSE",
            "README.md",
            "src/lib.rs",
            "src/webhook/patch.rs",
        ] {
            assert!(has(name), "{name}");
        }
        assert!(!has("src/webhook/patch/tests.rs"));
    }

    #[test]
    fn the_declaration_of_tests_is_removed_with_its_attributes() {
        let code = "fn a() {}\n";
        for tests in [
            "",
            "\n#[cfg(test)]\nmod tests;\n",
            "\n#[cfg(test)]\n#[cfg(unix)]\nmod tests;\n",
            "\n#[cfg(test)]\npub(crate) mod tests;\n",
        ] {
            assert_eq!(without_tests(&format!("{code}{tests}")), code);
        }
    }

    #[test]
    fn every_edit_of_the_copy_is_reported() {
        let text = |path: &str| {
            let files = files();
            let (_, text) = files.iter().find(|(name, _)| name == path).expect("a file");
            text.clone()
        };
        let lib = format!("{VENDORED}src/lib.rs");
        let sums = format!("{VENDORED}{CHECKSUMS}");
        let line = format!("{}  src/lib.rs\n", hash(&text(&lib)));
        assert!(text(&sums).contains(&line));

        let tree = Tree::from([(&*lib, &*text(&lib)), (&*sums, &*line)]);
        assert_eq!(differences(&tree), []);
        let tree = Tree::from([(&*lib, "mine\n"), (&*sums, &*line)]);
        assert_eq!(differences(&tree), [Difference::Changed(lib.clone())]);
        let other = format!("{VENDORED}src/mine.rs");
        let tree = Tree::from([(&*other, "mine\n"), (&*sums, &*line)]);
        let expected = [
            Difference::Added(other.clone()),
            Difference::Missing(lib.clone()),
        ];
        assert_eq!(differences(&tree), expected);
        assert_eq!(differences(&Tree::from([(&*lib, "mine\n")])), []);
    }
}
