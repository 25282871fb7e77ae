//! The golden projects under `testdata/`: regenerated and compared file by file in both directions; the showcase is
//! compiled, linted and tested as well, and `tests/projects` does that with the others.
//!
//! A golden is the result of its `NAME.steps`, which are commands of kbr and of cargo. The files of
//! `NAME.overlay`, if it exists, are copied over it before `kbr manifests`, and before a crate of the overlay
//! is added.
//! `KBR_OVERWRITE=1 cargo test --test it golden::is_written` regenerates them and builds only their API
//! types.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use crate::support::goldens::{
    CRATES, GOLDENS, SHOWCASE, VENDORED, add_dependency, check, run_step, share_runtime, steps,
    testdata,
};
use crate::support::{Sandbox, compiling, copy, differences, names, tree};

/// Generates the golden in an empty folder, exactly as its steps say.
fn regenerate(name: &str, folder: &Path) {
    for step in steps(name) {
        run_step(&step, name, folder);
    }
}

/// Regenerates one golden and compares it with the one in the repository, or overwrites that one.
fn compare(name: &str) {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    regenerate(name, sandbox.path());
    link_crates(name, &sandbox.path().join(VENDORED));
    let golden = testdata(name);
    if std::env::var_os("KBR_OVERWRITE").is_some() {
        if golden.exists() {
            fs::remove_dir_all(&golden).expect("the old golden is removed");
        }
        copy(sandbox.path(), &golden);
    }
    let differences = differences(&tree(&golden), &sandbox.tree());
    assert!(
        differences.is_empty(),
        "testdata/{name} is not what kbr generates; `KBR_OVERWRITE=1 cargo test --test it \
         golden::is_written` regenerates it:\n{}",
        differences.join("\n")
    );
}

/// Puts links in place of the vendored crates: readers see one text, and cargo builds a golden where it is.
fn link_crates(name: &str, vendored: &Path) {
    fs::remove_dir_all(vendored).expect("the vendored crates are removed");
    if name != SHOWCASE {
        return symlink("../cronjob/third_party", vendored)
            .expect("a link to those of the showcase");
    }
    fs::create_dir(vendored).expect("a folder");
    for name in CRATES {
        let to = format!("../../../templates/{name}");
        symlink(to, vendored.join(name)).expect("a link to the crate");
    }
}

#[test]
#[should_panic(expected = "kbr-runtime/src/lib.rs:")]
fn an_edited_runtime_is_not_shared() {
    let sandbox = Sandbox::with_project();
    let lib = "third_party/kbr-runtime/src/lib.rs";
    let text = sandbox.read(lib) + "// edited\n";
    sandbox.write(lib, &text);
    share_runtime(sandbox.path());
}

/// The goldens in the repository are what kbr generates.
mod is_written {
    #[test]
    fn cronjob() {
        super::compare("cronjob");
    }

    #[test]
    fn foo() {
        super::compare("foo");
    }

    #[test]
    fn guestbook() {
        super::compare("guestbook");
    }

    #[test]
    fn manager() {
        super::compare("manager");
    }

    #[test]
    fn memcached() {
        super::compare("memcached");
    }

    #[test]
    fn multigroup() {
        super::compare("multigroup");
    }

    #[test]
    fn multiversion() {
        super::compare("multiversion");
    }

    #[test]
    fn myjob() {
        super::compare("myjob");
    }

    #[test]
    fn namespaced() {
        super::compare("namespaced");
    }

    #[test]
    fn scaffold() {
        super::compare("scaffold");
    }
}

#[test]
fn the_showcase_works() {
    let _one_at_a_time = compiling();
    check(SHOWCASE);
}

/// Cargo distinguishes packages of different workspaces only by their names. If two packages had the same
/// name, it would use the artifacts of one for the other.
#[test]
fn every_golden_has_a_test_and_unique_package_names() {
    let mut found = names(&testdata(""));
    found.retain(|name| !name.contains('.'));
    assert_eq!(found, GOLDENS);
    let mut packages = BTreeMap::new();
    for golden in GOLDENS {
        let files = tree(&testdata(golden)).into_iter();
        let manifests =
            files.filter(|(path, _)| path.ends_with("Cargo.toml") && !path.starts_with(VENDORED));
        for (path, text) in manifests {
            let name = text.lines().find_map(|line| line.strip_prefix("name = "));
            let name = name.unwrap_or_else(|| panic!("{golden}/{path}")).to_owned();
            let other = packages.insert(name, golden);
            assert_eq!(other, None, "{golden}/{path}");
        }
        assert_eq!(packages.get(&format!("\"{golden}\"")), Some(&golden));
    }
}

#[test]
fn a_missing_line_in_any_file_is_a_difference() {
    for name in GOLDENS {
        let golden = tree(&testdata(name));
        for (path, text) in golden.iter().filter(|(_, text)| !text.is_empty()) {
            let less: String = text.split_inclusive('\n').skip(1).collect();
            let changed = BTreeMap::from([(path.clone(), less)]);
            let one = BTreeMap::from([(path.clone(), text.clone())]);
            assert_eq!(differences(&one, &changed).len(), 1, "{path}");
            assert_eq!(
                differences(&one, &BTreeMap::new()),
                [format!("{path} is missing")]
            );
            assert_eq!(
                differences(&BTreeMap::new(), &one),
                [format!("{path} is unexpected")]
            );
        }
    }
}

#[test]
fn a_dependency_that_is_added_keeps_the_versions_of_the_golden() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name added")
        .success();
    let embedded = sandbox.read("Cargo.lock");
    let golden = Sandbox::new();

    // A package that is in the lock: the only new line is the dependency.
    add_dependency(
        golden.path(),
        sandbox.path(),
        "add --package added tokio-util@0.7",
    );
    let lock = sandbox.read("Cargo.lock");
    assert_ne!(lock, embedded);
    assert_eq!(
        lock.replacen(" \"tokio-util\",\n", "", 1).len(),
        embedded.len()
    );

    // A package that is not: its version is the golden's, not the newest.
    let older = "\n[[package]]\nname = \"fnv\"\nversion = \"1.0.6\"\n\
                source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert!(
        !embedded.contains("name = \"fnv\""),
        "choose another package for this test"
    );
    golden.write("Cargo.lock", &format!("{embedded}{older}"));
    add_dependency(golden.path(), sandbox.path(), "add --package added fnv@1");
    let lock = sandbox.read("Cargo.lock");
    assert!(lock.contains("name = \"fnv\"\nversion = \"1.0.6\"\n"));
}
