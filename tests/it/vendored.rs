//! The crate `kbr-runtime`: where it is, which part of it a project contains, and how projects can use it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::golden::SHOWCASE;
use crate::support::{
    REPOSITORY, Sandbox, assert_same, cargo, cargo_into, compiles_into, compiling, copy,
    differences, target, tree,
};

const VENDORED: &str = "third_party/kbr-runtime";

/// The files that kbr adds to the crate's own.
const ADDED: [&str; 2] = [".rustfmt.toml", "SHA256SUMS"];

/// The crate in the folder where it is edited.
fn in_place() -> PathBuf {
    Path::new(REPOSITORY).join("templates/kbr-runtime")
}

fn vendored(project: &Path) -> BTreeMap<String, String> {
    tree(&project.join(VENDORED))
}

#[test]
fn every_project_has_the_same_copy_of_the_crate_without_its_tests() {
    let sandbox = Sandbox::with_project();
    let mut held = vendored(sandbox.path());
    let other = Sandbox::new();
    other
        .kbr("init --domain other.org --project-name other --license none")
        .success();
    assert_same(&held, &vendored(other.path()));
    let showcase = Path::new(REPOSITORY).join("testdata").join(SHOWCASE);
    assert_same(&held, &vendored(&showcase));

    held.retain(|path, _| !ADDED.contains(&path.as_str()));
    let mut expected: BTreeMap<String, String> = tree(&in_place())
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
fn every_file_of_the_crate_has_its_license() {
    for (path, text) in tree(&in_place().join("src")) {
        let header = "// Copyright The kbr authors\n// SPDX-License-Identifier: Apache-2.0\n\n//! ";
        assert!(text.starts_with(header), "{path}");
    }
}

#[test]
fn the_checksums_are_those_of_sha256sum() {
    let sandbox = Sandbox::with_project();
    let mut held = vendored(sandbox.path());
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

#[test]
fn edited_files_are_reported_by_every_command_and_stay() {
    let sandbox = Sandbox::with_project();
    let lib = format!("{VENDORED}/src/lib.rs");
    let text = sandbox.read(&lib) + "// mine\n";
    sandbox.write(&lib, &text);
    sandbox.write(&format!("{VENDORED}/src/mine.rs"), "//! Mine.\n");
    fs::remove_file(sandbox.path().join(VENDORED).join("README.md")).expect("a file");
    let mine = vendored(sandbox.path());
    let warning = "Warning `third_party/kbr-runtime/src/lib.rs` was edited, \
                   `third_party/kbr-runtime/src/mine.rs` was added, \
                   `third_party/kbr-runtime/README.md` is missing; kbr leaves the files as they are: \
                   restore `third_party/kbr-runtime` from version control, or depend on a fork of the \
                   crate instead";
    for line in [
        "manifests",
        "manifests --check",
        "create api --kind Foo",
        "create webhook --kind Foo --defaulting",
    ] {
        let run = sandbox.kbr(line).success();
        assert!(run.status().contains(&warning.to_owned()), "{line}");
        assert_same(&mine, &vendored(sandbox.path()));
    }
}

#[test]
fn an_untouched_or_missing_copy_is_not_reported() {
    let sandbox = Sandbox::with_project();
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-runtime"), "{}", run.stderr);
    fs::remove_dir_all(sandbox.path().join(VENDORED)).expect("a folder");
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-runtime"), "{}", run.stderr);
}

/// One command each, in the crate's own folder, without a golden.
#[test]
fn the_crate_is_formatted_linted_documented_and_tested_in_its_own_folder() {
    let _one_at_a_time = compiling();
    for line in [
        "fmt --check",
        "clippy --locked --all-targets --all-features -- -D warnings",
        "clippy --locked --all-targets --no-default-features --features testing -- -D warnings",
        "clippy --locked --all-targets -- -D warnings",
        "test --locked --all-features --quiet",
    ] {
        assert!(
            cargo(&in_place(), line),
            "`cargo {line}` in templates/kbr-runtime"
        );
    }
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--locked", "--no-deps", "--all-features"])
        .current_dir(in_place())
        .env("RUSTDOCFLAGS", "-D warnings");
    compiles_into(&mut doc, &target());
    assert!(doc.status().expect("cargo runs").success(), "cargo doc");
}

#[test]
fn either_half_compiles_without_the_dependencies_of_the_other() {
    let tree = |features: &str| {
        let mut tree = Command::new("cargo");
        tree.args([
            "tree",
            "--locked",
            "--edges",
            "normal,build",
            "--prefix",
            "none",
        ])
        .args(["--no-default-features", "--features", features])
        .current_dir(in_place());
        let output = tree.output().expect("cargo runs");
        assert!(output.status.success(), "{output:?}");
        let text = String::from_utf8(output.stdout).expect("UTF-8");
        let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
        text.lines().map(name).collect::<BTreeSet<String>>()
    };
    let (manager, testing) = (tree("manager"), tree("testing"));
    for name in ["axum", "clap", "tracing-subscriber"] {
        assert!(manager.contains(name) && !testing.contains(name), "{name}");
    }
    assert!(testing.contains("proptest") && !manager.contains("proptest"));
    for (feature, name) in [("otlp", "opentelemetry"), ("native-histograms", "protox")] {
        assert!(tree(feature).contains(name), "{feature}");
        assert!(!manager.contains(name), "{name}");
    }
    assert!(!manager.contains("prost"));
}

/// Otherwise its tests would say little about what projects are compiled with, and CI would compile twice.
#[test]
fn the_crate_is_tested_with_the_versions_that_projects_begin_with() {
    let packages = |path: &str| {
        let text = fs::read_to_string(Path::new(REPOSITORY).join(path)).expect("a lock");
        let lock: toml::Table = text.parse().expect("TOML");
        let packages = lock["package"].as_array().expect("packages").iter();
        let named =
            packages.map(|package| (package["name"].to_string(), package["version"].to_string()));
        named.collect::<BTreeSet<_>>()
    };
    let tested = packages("templates/kbr-runtime/Cargo.lock");
    let emitted = packages("templates/project.lock");
    let missing: Vec<_> = emitted.difference(&tested).collect();
    let is_own = |(name, _): &&&(String, String)| name.contains("kbr-placeholder");
    let others: Vec<_> = missing.iter().filter(|package| !is_own(package)).collect();
    assert!(
        others.is_empty(),
        "`tests/tools/refresh-lock` updates them: {others:?}"
    );
}

/// Packs the crate, builds the package, and returns its path.
fn pack() -> PathBuf {
    let line = "package --allow-dirty --locked --all-features --quiet";
    assert!(
        cargo(&in_place(), line),
        "`cargo {line}` in templates/kbr-runtime"
    );
    target().join("package/kbr-runtime-0.1.0.crate")
}

/// Once the crate is published, a project switches to it by deleting the folder and `path = …`. A
/// registry with the packages of the lock, and the crate, replaces crates.io.
#[test]
fn a_project_can_switch_to_the_crate_of_a_registry() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name registered")
        .success();
    sandbox.kbr("create api --kind Foo").success();
    let registry = tempfile::tempdir().expect("a folder");
    fill(registry.path(), sandbox.path(), &pack());

    fs::remove_dir_all(sandbox.path().join("third_party")).expect("the vendored crate is removed");
    sandbox.edit("Cargo.toml", ", path = \"third_party/kbr-runtime\"", "");
    let config = format!(
        "[source.crates-io]\nreplace-with = \"here\"\n\n[source.here]\nlocal-registry = {:?}\n",
        registry.path()
    );
    sandbox.write(".cargo/config.toml", &config);

    let line = "check --workspace --all-targets --offline";
    assert!(cargo(sandbox.path(), line), "{line}");
    let lock: toml::Table = sandbox.read("Cargo.lock").parse().expect("TOML");
    let mut packages = lock["package"].as_array().expect("packages").iter();
    let runtime = packages.find(|package| package["name"].as_str() == Some("kbr-runtime"));
    let source = runtime.expect("the crate").get("source");
    let source = source.and_then(toml::Value::as_str);
    assert_eq!(
        source,
        Some("registry+https://github.com/rust-lang/crates.io-index")
    );
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-runtime"), "{}", run.stderr);
}

/// Writes a registry of every package that `project` needs, and of the packed crate.
fn fill(registry: &Path, project: &Path, packed: &Path) {
    let mut metadata = Command::new("cargo");
    metadata
        .args(["metadata", "--format-version", "1", "--locked"])
        .current_dir(project);
    let output = metadata.output().expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    for package in metadata["packages"].as_array().expect("packages") {
        let text = |key: &str| package[key].as_str().unwrap_or_default();
        let (name, version) = (text("name"), text("version"));
        let file = format!("{name}-{version}.crate");
        let packed = match text("source") {
            "" if name == "kbr-runtime" => packed.to_owned(),
            "" => continue,
            _ => downloaded(Path::new(text("manifest_path")), &file),
        };
        let bytes =
            fs::read(&packed).unwrap_or_else(|error| panic!("{}: {error}", packed.display()));
        let checksum: String = Sha256::digest(&bytes)
            .iter()
            .map(|byte| format!("{byte:02x}"))
            .collect();
        fs::write(registry.join(&file), bytes).expect("a file");
        let entry = json!({
            "name": name,
            "vers": version,
            "deps": package["dependencies"].as_array().expect("a list").iter().map(dependency).collect::<Vec<_>>(),
            "features": {},
            "features2": package["features"],
            "cksum": checksum,
            "yanked": false,
            "v": 2,
        });
        let place = registry.join("index").join(index_path(name));
        fs::create_dir_all(place.parent().expect("a folder")).expect("the folder");
        let before = fs::read_to_string(&place).unwrap_or_default();
        fs::write(place, format!("{before}{entry}\n")).expect("a file");
    }
}

/// A dependency in the format of an index; `cargo metadata` has the same under other names.
fn dependency(dependency: &Value) -> Value {
    let (name, rename) = (&dependency["name"], &dependency["rename"]);
    let kind = dependency["kind"].as_str().unwrap_or("normal");
    let mut entry = json!({
        "name": name,
        "req": dependency["req"],
        "features": dependency["features"],
        "optional": dependency["optional"],
        "default_features": dependency["uses_default_features"],
        "target": dependency["target"],
        "kind": kind,
    });
    if !rename.is_null() {
        entry["name"] = rename.clone();
        entry["package"] = name.clone();
    }
    entry
}

/// The package as cargo downloaded it: the folder of its sources is `src`, that of the packages `cache`.
fn downloaded(manifest: &Path, file: &str) -> PathBuf {
    let folder = manifest.parent().and_then(Path::parent).expect("a folder");
    let registry = folder.file_name().expect("a name");
    let home = folder.parent().and_then(Path::parent).expect("a folder");
    home.join("cache").join(registry).join(file)
}

/// The path of a package in a registry's index.
fn index_path(name: &str) -> String {
    let name = name.to_lowercase();
    match name.len() {
        1 => format!("1/{name}"),
        2 => format!("2/{name}"),
        3 => format!("3/{}/{name}", &name[..1]),
        _ => format!("{}/{}/{name}", &name[..2], &name[2..4]),
    }
}

/// cargo excludes every folder with a `Cargo.toml` from a package, so what kbr embeds must not be in one.
#[test]
fn a_packed_kbr_creates_the_same_projects() {
    let _one_at_a_time = compiling();
    let target = Path::new(REPOSITORY).join("target/packed");
    let line = "package --allow-dirty --locked --quiet";
    assert!(
        cargo_into(Path::new(REPOSITORY), line, &target),
        "`cargo {line}`"
    );
    let (packed, built) = (Sandbox::new(), Sandbox::new());
    let line = "init --domain example.com --project-name same";
    let mut command = Command::new(target.join("debug/kbr"));
    command.args(line.split(' ')).current_dir(packed.path());
    assert!(command.output().expect("it runs").status.success());
    built.kbr(line).success();
    assert_eq!(differences(&built.tree(), &packed.tree()), [""; 0]);
}

/// In a copy of a golden, in which the vendored crate would be formatted, linted or tested if it could.
#[test]
fn the_commands_of_a_project_ignore_the_crate() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    copy(
        &Path::new(REPOSITORY).join("testdata").join(SHOWCASE),
        sandbox.path(),
    );
    let lib = format!("{VENDORED}/src/lib.rs");
    let text = sandbox.read(&lib) + "\n\n\npub  fn  unformatted( ) { let x = 5; return; }\n";
    sandbox.write(&lib, &text);
    for line in ["fmt --check", "fmt --all --check", "fmt --all"] {
        assert!(cargo(sandbox.path(), line), "{line}");
    }
    assert_eq!(sandbox.read(&lib), text);
    let mut metadata = Command::new("cargo");
    metadata
        .args(["metadata", "--format-version", "1", "--locked", "--no-deps"])
        .current_dir(sandbox.path());
    let output = metadata.output().expect("cargo runs");
    let metadata: Value = serde_json::from_slice(&output.stdout).expect("JSON");
    let packages = metadata["packages"].as_array().expect("packages").iter();
    let members: Vec<&str> = packages
        .filter_map(|package| package["name"].as_str())
        .collect();
    assert_eq!(members, ["cronjob-api", SHOWCASE]);
}
