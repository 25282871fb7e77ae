//! The crates `kbr-runtime` and `kbr-testing`: where they are, which part of them a project contains, and how
//! projects can use them.

use std::collections::{BTreeMap, BTreeSet};

use std::fs;

use std::path::Path;

use sha2::{Digest, Sha256};

use crate::support::documents::read;
use crate::support::goldens::{CRATES, GOLDENS, RUNTIME, TESTING, VENDORED, in_place};
use crate::support::{KUBERNETES, REPOSITORY, Sandbox, assert_same, tree};

/// The files that kbr adds to a crate's own.
const ADDED: [&str; 2] = [".rustfmt.toml", "SHA256SUMS"];

fn vendored(project: &Path, name: &str) -> BTreeMap<String, String> {
    tree(&project.join(VENDORED).join(name))
}

#[test]
fn every_project_has_the_same_copies_of_the_crates_without_their_tests() {
    let sandbox = Sandbox::with_project();
    let other = Sandbox::new();
    other
        .kbr("init --domain other.org --project-name other --license none")
        .success();
    for name in CRATES {
        let held = vendored(sandbox.path(), name);
        assert_same(&held, &vendored(other.path(), name));
        is_the_crate_without_its_tests(name, held);
    }
}

fn is_the_crate_without_its_tests(name: &str, mut held: BTreeMap<String, String>) {
    held.retain(|path, _| !ADDED.contains(&path.as_str()));
    let mut expected: BTreeMap<String, String> = tree(&in_place(name))
        .into_iter()
        .filter(|(path, _)| {
            let is_packed =
                path.starts_with("src/") || ["Cargo.toml", "README.md"].contains(&&**path);
            is_packed && !path.ends_with("/tests.rs") && !path.contains("/tests/")
        })
        .collect();
    for (_, text) in expected
        .iter_mut()
        .filter(|(path, _)| path.ends_with(".rs"))
    {
        // The module of tests is at the end of its file.
        if let Some(code) = text.rfind("\n#[cfg(test)]\n") {
            text.truncate(code);
        }
    }
    let license = fs::read_to_string(Path::new(REPOSITORY).join("LICENSE"));
    expected.insert("LICENSE".to_owned(), license.expect("a license"));
    assert_same(&expected, &held);
}

#[test]
fn every_file_of_the_crates_has_its_license() {
    for name in CRATES {
        let files = tree(&in_place(name).join("src")).into_iter();
        for (path, text) in files.filter(|(path, _)| path.ends_with(".rs")) {
            let header =
                "// Copyright The kbr authors\n// SPDX-License-Identifier: Apache-2.0\n\n//! ";
            assert!(text.starts_with(header), "{name}: {path}");
        }
    }
}

/// What the two share is not public, so each version of one fits one version of the other.
#[test]
fn both_crates_have_one_version_and_the_same_rules() {
    let [runtime, testing] = CRATES.map(|name| {
        let text = fs::read_to_string(in_place(name).join("Cargo.toml")).expect("a manifest");
        text.parse::<toml::Table>().expect("TOML")
    });
    for key in ["version", "edition", "rust-version", "license", "include"] {
        assert_eq!(runtime["package"][key], testing["package"][key], "{key}");
    }
    assert_eq!(runtime["lints"], testing["lints"]);
    let version = runtime["package"]["version"].as_str().expect("a version");
    let needed = testing["dependencies"][RUNTIME]["version"].as_str();
    assert_eq!(needed, Some(&*format!("={version}")));
}

/// What runs in a cluster has no line that is only for tests.
#[test]
fn only_the_tests_of_a_project_depend_on_kbr_testing() {
    let sandbox = Sandbox::with_project();
    let manifest: toml::Table = sandbox.read("Cargo.toml").parse().expect("TOML");
    assert!(manifest["dependencies"].get(TESTING).is_none());
    assert!(manifest["dev-dependencies"].get(TESTING).is_some());
    let api: toml::Table = sandbox.read("api/Cargo.toml").parse().expect("TOML");
    assert!(!api.to_string().contains(TESTING));
    let manifest = fs::read_to_string(in_place(RUNTIME).join("Cargo.toml")).expect("a manifest");
    let manifest: toml::Table = manifest.parse().expect("TOML");
    assert!(!manifest.to_string().contains("testing"));
}

#[test]
fn the_checksums_are_those_of_sha256sum() {
    let sandbox = Sandbox::with_project();
    for name in CRATES {
        let mut held = vendored(sandbox.path(), name);
        let checksums = held.remove("SHA256SUMS").expect("checksums");
        let sums = held.iter().map(|(path, text)| {
            let hash: String = Sha256::digest(text)
                .iter()
                .map(|byte| format!("{byte:02x}"))
                .collect();
            format!("{hash}  {path}\n")
        });
        assert_eq!(checksums, sums.collect::<String>());
    }
}

#[test]
fn edited_files_are_reported_by_every_command_and_stay() {
    for (at, name) in CRATES.into_iter().enumerate() {
        let sandbox = Sandbox::with_project();
        let folder = format!("{VENDORED}/{name}");
        let lib = format!("{folder}/src/lib.rs");
        let text = sandbox.read(&lib) + "// mine\n";
        sandbox.write(&lib, &text);
        sandbox.write(&format!("{folder}/src/mine.rs"), "//! Mine.\n");
        fs::remove_file(sandbox.path().join(&folder).join("README.md")).expect("a file");
        let mine = vendored(sandbox.path(), name);
        let warning = format!(
            "Warning `{folder}/src/lib.rs` was edited, `{folder}/src/mine.rs` was added, \
             `{folder}/README.md` is missing; kbr leaves the files as they are: restore `{folder}` from \
             version control, or depend on a fork of the crate instead"
        );
        for line in [
            "manifests",
            "manifests --check",
            "create api --kind Foo",
            "create webhook --kind Foo --defaulting",
        ] {
            let run = sandbox.kbr(line).success();
            assert!(run.status().contains(&warning), "{line}");
            let other = CRATES[1 - at];
            assert!(!run.stderr.contains(other), "{line}: {}", run.stderr);
            assert_same(&mine, &vendored(sandbox.path(), name));
        }
    }
}

#[test]
fn untouched_or_missing_copies_are_not_reported() {
    let sandbox = Sandbox::with_project();
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-"), "{}", run.stderr);
    fs::remove_dir_all(sandbox.path().join(VENDORED)).expect("a folder");
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-"), "{}", run.stderr);
}

/// The tests set the variable, without which only this feature chooses a version of Kubernetes.
#[test]
fn projects_and_crates_are_compiled_for_one_version_of_kubernetes() {
    let feature = format!("\"v{}\"", KUBERNETES.replace('.', "_"));
    let chooses = |path: &str, text: &str| {
        let mut lines = text.lines();
        let line = lines.find(|line| line.starts_with("k8s-openapi = { version"));
        let is_chosen = line.is_some_and(|line| line.contains(&feature));
        assert!(is_chosen, "{path}: {line:?}");
    };
    chooses("Cargo.toml", &Sandbox::with_project().read("Cargo.toml"));
    for name in GOLDENS {
        let path = format!("testdata/{name}/Cargo.toml");
        chooses(&path, &read(&path));
    }
    for name in CRATES {
        let config = read(&format!("templates/{name}/.cargo/config.toml"));
        let line = format!("K8S_OPENAPI_ENABLED_VERSION = \"{KUBERNETES}\"\n");
        assert!(config.contains(&line), "{name}: {config}");
    }
}

/// Otherwise their tests would say little about what projects are compiled with, and CI would compile twice.
#[test]
fn the_crates_are_tested_with_the_versions_that_projects_begin_with() {
    let packages = |path: &str| {
        let text = fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a lock");
        let lock: toml::Table = text.parse().expect("TOML");
        let packages = lock["package"].as_array().expect("packages").iter();
        let named =
            packages.map(|package| (package["name"].to_string(), package["version"].to_string()));
        named.collect::<BTreeSet<_>>()
    };
    // Together they are what a project needs.
    let mut tested = packages("templates/kbr-runtime/Cargo.lock");
    tested.extend(packages("templates/kbr-testing/Cargo.lock"));
    let emitted = packages("templates/project.lock");
    let missing: Vec<_> = emitted.difference(&tested).collect();
    let is_own = |(name, _): &&&(String, String)| name.contains("kbr-placeholder");
    let others: Vec<_> = missing.iter().filter(|package| !is_own(package)).collect();
    assert!(
        others.is_empty(),
        "`tests/tools/refresh-lock` updates them: {others:?}"
    );
}
