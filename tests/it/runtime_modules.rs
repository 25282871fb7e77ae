//! The modules of kbr-runtime, which use each other in one direction.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use crate::support::{REPOSITORY, tree};
use crate::tidy::references;

/// `src/lib.rs` draws the order, with a room in each line: its name and its modules. Modules joined by `+` use each other.
#[test]
fn a_module_of_the_runtime_uses_only_modules_that_are_drawn_before_it() {
    let files = tree(&Path::new(REPOSITORY).join("templates/kbr-runtime/src"));
    let library = &files["lib.rs"];
    let drawing = library.split("//! ```text\n").nth(1).expect("a drawing");
    let drawing = drawing.split("//! ```").next().expect("its end");
    let rows = drawing.lines().map(|line| line.trim_start_matches("//! "));
    let groups = rows.flat_map(|row| row.split_whitespace().skip(1));
    let groups = groups.enumerate();
    let places: BTreeMap<&str, usize> = groups
        .flat_map(|(place, group)| group.split('+').map(move |name| (name, place)))
        .collect();
    let owners = reexports(library);
    for (path, text) in &files {
        let is_test = path.ends_with("tests.rs") || path.contains("/tests/");
        if is_test || !path.ends_with(".rs") || path == "lib.rs" {
            continue;
        }
        let own = path.split(['/', '.']).next().unwrap_or_default();
        let place = places.get(own);
        let place = place.unwrap_or_else(|| panic!("src/lib.rs does not draw {own}"));
        for used in references(path, text) {
            let first = used.first().map_or("", String::as_str);
            let other = owners.get(first).copied().unwrap_or(first);
            let is_before = places.get(other).is_none_or(|other| other <= place);
            assert!(is_before, "{path} uses {other}, which is drawn after {own}");
        }
    }
}

/// The modules of the items that `lib.rs` exports.
fn reexports(library: &str) -> BTreeMap<&str, &str> {
    let list = library.split("pub use self::{").nth(1).expect("exports");
    let list = list.split("};").next().expect("their end");
    let mut owners = BTreeMap::new();
    let mut owner = "";
    for word in list.split([',', '{', '}', '\n', ' ']) {
        let (module, name) = word.rsplit_once("::").unwrap_or(("", word));
        if !module.is_empty() {
            owner = module;
        }
        if !name.is_empty() {
            owners.insert(name, owner);
        }
    }
    owners
}

/// What `tests/tools/mutate-core` plants must still have a place, or it tests nothing.
#[test]
fn each_planted_bug_has_one_place() {
    let tool = Path::new(REPOSITORY).join("tests/tools/mutate-core");
    let checked = Command::new(tool).arg("--check").output().expect("bash");
    let wrong = String::from_utf8_lossy(&checked.stderr);
    assert!(checked.status.success(), "{wrong}");
}
