//! The crates `kbr-runtime` and `kbr-testing` as vendored into a project: their files, without their tests.
//!
//! They are the same in every project, so PROJECT does not record them; [`CHECKSUMS`] is next to those of
//! each crate, in the format of `sha256sum --check`. Pure.

use std::collections::BTreeMap;
use std::fmt;

use crate::layout::VENDORED;
use crate::rendered::{hash, normalized};
use crate::templates;
use crate::tree::Tree;

/// A manifest, under a name with which cargo keeps the folder in kbr's own package, and as vendored.
const MANIFEST: (&str, &str) = ("Cargo.toml.in", "Cargo.toml");

const CHECKSUMS: &str = "SHA256SUMS";

/// `cargo fmt --all` follows every `path` in a manifest, and a project's own rules are not for these
/// crates.
const RUSTFMT: (&str, &str) = (".rustfmt.toml", "disable_all_formatting = true\n");

/// The declaration of a file's unit tests, at the end of the file.
const TESTS: &str = "mod tests;\n";

/// Every file that a project gets: path in the project and text.
pub(crate) fn files() -> Vec<(String, String)> {
    VENDORED.into_iter().flat_map(files_of).collect()
}

/// Those of the crate in that folder.
pub(crate) fn files_of(folder: &str) -> Vec<(String, String)> {
    let files = templates::third_party().filter(|(path, _)| !is_test(path));
    let inside = |(path, text): (String, _)| Some((path.strip_prefix(folder)?.to_owned(), text));
    let mut files: BTreeMap<String, String> = files
        .filter_map(inside)
        .map(|(path, text): (_, &str)| match path {
            path if path == MANIFEST.0 => (MANIFEST.1.to_owned(), text.to_owned()),
            path => (path, without_tests(text).to_owned()),
        })
        .collect();
    files.insert(RUSTFMT.0.to_owned(), RUSTFMT.1.to_owned());
    let checksums = files.iter();
    let checksums = checksums.map(|(path, text)| format!("{}  {path}\n", hash(text)));
    files.insert(CHECKSUMS.to_owned(), checksums.collect());
    let place = |(path, text)| (format!("{folder}{path}"), text);
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

/// The paths of the project's copy in that folder as it was vendored; `None` if the project uses another copy.
pub(crate) fn recorded(tree: &Tree, folder: &str) -> Option<Vec<String>> {
    let checksums = tree.text(&format!("{folder}{CHECKSUMS}"))?;
    let paths = checksums.lines().filter_map(|line| line.split_once("  "));
    Some(paths.map(|(_, path)| format!("{folder}{path}")).collect())
}

/// A file of a project's copy that is not as kbr wrote it.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Difference {
    Added(String),
    Changed(String),
    Missing(String),
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Added(path) => write!(f, "`{path}` was added"),
            Self::Changed(path) => write!(f, "`{path}` was edited"),
            Self::Missing(path) => write!(f, "`{path}` is missing"),
        }
    }
}

/// What somebody changed in the project's copy in that folder.
pub(crate) fn differences(tree: &Tree, folder: &str) -> Vec<Difference> {
    let Some(checksums) = tree.text(&format!("{folder}{CHECKSUMS}")) else {
        // The project uses the crate from a registry, or its owner's own.
        return Vec::new();
    };
    let mut recorded: BTreeMap<&str, &str> = checksums
        .lines()
        .filter_map(|line| line.split_once("  "))
        .map(|(hash, path)| (path, hash))
        .collect();
    let files = tree.files().filter_map(|(path, text)| {
        let inside = path.strip_prefix(folder)?;
        (inside != CHECKSUMS).then_some((path, inside, text))
    });
    let mut differences = Vec::new();
    for (path, inside, text) in files {
        match recorded.remove(inside) {
            Some(recorded) if recorded == hash(&normalized(text)) => {}
            Some(_) => differences.push(Difference::Changed(path.to_owned())),
            None => differences.push(Difference::Added(path.to_owned())),
        }
    }
    let missing = recorded.keys();
    differences.extend(missing.map(|path| Difference::Missing(format!("{folder}{path}"))));
    differences
}

/// The warnings about such differences, one for each crate that has any.
pub(crate) fn warnings(tree: &Tree) -> impl Iterator<Item = String> {
    let folders = VENDORED.into_iter();
    folders.filter_map(|folder| warning(tree, folder))
}

fn warning(tree: &Tree, folder: &str) -> Option<String> {
    let differences = differences(tree, folder);
    let words: Vec<String> = differences.iter().map(Difference::to_string).collect();
    (!differences.is_empty()).then(|| {
        format!(
            "{}; kbr leaves the files as they are: restore `{}` from version control, or depend on a \
             fork of the crate instead",
            words.join(", "),
            folder.trim_end_matches('/')
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
        let has = |name: &str| files.iter().any(|(path, _)| path == name);
        for folder in VENDORED {
            for name in ["Cargo.toml", "LICENSE", "README.md", "src/lib.rs"] {
                assert!(has(&format!("{folder}{name}")), "{folder}{name}");
            }
        }
        assert!(has("third_party/kbr-runtime/src/guide/caches.md"));
        for name in ["kbr-runtime/src/webhook/patch", "kbr-testing/src/roles"] {
            assert!(has(&format!("third_party/{name}.rs")), "{name}");
            assert!(!has(&format!("third_party/{name}/tests.rs")), "{name}");
        }
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
        for folder in VENDORED {
            let differences = |tree: Tree| differences(&tree, folder);
            let lib = format!("{folder}src/lib.rs");
            let sums = format!("{folder}{CHECKSUMS}");
            let line = format!("{}  src/lib.rs\n", hash(&text(&lib)));
            assert!(text(&sums).contains(&line));

            let tree = Tree::from([(&*lib, &*text(&lib)), (&*sums, &*line)]);
            assert_eq!(differences(tree), []);
            let tree = Tree::from([(&*lib, "mine\n"), (&*sums, &*line)]);
            assert_eq!(differences(tree), [Difference::Changed(lib.clone())]);
            let other = format!("{folder}src/mine.rs");
            let tree = Tree::from([(&*other, "mine\n"), (&*sums, &*line)]);
            let expected = [
                Difference::Added(other.clone()),
                Difference::Missing(lib.clone()),
            ];
            assert_eq!(differences(tree), expected);
            assert_eq!(differences(Tree::from([(&*lib, "mine\n")])), []);
        }
    }
}
