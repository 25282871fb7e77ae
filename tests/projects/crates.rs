//! The crates `kbr-runtime` and `kbr-testing` pass their own lints and tests, where they are edited, and projects can use
//! them in other ways than kbr scaffolds; the package of kbr has all that kbr embeds.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::support::goldens::{
    CRATES, RUNTIME, SEED, SHOWCASE, TESTING, VENDORED, check_out, in_place, share_runtime,
    vendored,
};
use crate::support::random::first_seed;
use crate::support::{
    REPOSITORY, Sandbox, assert_same, cargo, cargo_into, compiles_into, compiling, copy, names,
    target, tree, without_package,
};

/// One command each, in the crate's own folder, without a golden. Each set of features checks most dependencies again, so
/// of those besides all features the commit draws one, as it draws proofs.
fn is_formatted_linted_documented_and_tested(name: &str, features: &[&str], tested: &str) {
    let _one_at_a_time = compiling();
    let drawn = |at: usize| match *SEED {
        Some(seed) => at as u64 == seed % features.len() as u64,
        None => true,
    };
    let drawn = features.iter().enumerate().filter(|(at, _)| drawn(*at));
    let lint = |features: &str| format!("clippy --locked {features} -- -D warnings");
    let mut lines = vec![
        "fmt --check".to_owned(),
        lint("--all-targets --all-features"),
    ];
    lines.extend(drawn.map(|(_, features)| lint(features)));
    lines.push("check --locked --no-default-features".to_owned());
    lines.push(tested.to_owned());
    for line in lines {
        let is_done = cargo(&in_place(name), &line);
        assert!(is_done, "`cargo {line}` in templates/{name}");
    }
    let mut doc = Command::new("cargo");
    doc.args(["doc", "--locked", "--no-deps", "--all-features"])
        .current_dir(in_place(name))
        .env("RUSTDOCFLAGS", "-D warnings");
    compiles_into(&mut doc, &target());
    assert!(doc.status().expect("cargo runs").success(), "cargo doc");
}

#[test]
fn kbr_runtime_is_formatted_linted_documented_and_tested_in_its_own_folder() {
    // The models of the cache and of the core try other schedules for each commit.
    let seed = format!("env.KBR_SEED=\"{}\"", first_seed());
    let tested = format!("test --locked --all-features --quiet --config {seed}");
    // What a project compiles, and the least that anybody can.
    let features = ["--all-targets", "--no-default-features"];
    is_formatted_linted_documented_and_tested(RUNTIME, &features, &tested);
}

#[test]
fn kbr_testing_is_formatted_linted_documented_and_tested_in_its_own_folder() {
    // Its unit tests need no operator, except for those of what runs one.
    let features = [
        "--all-targets",
        "--no-default-features",
        "--all-targets --no-default-features",
        "--all-targets --features crash",
        "--all-targets --features development",
    ];
    let tested = "test --locked --all-features --quiet";
    is_formatted_linted_documented_and_tested(TESTING, &features, tested);
}

/// The line that the guide gives, apart from `--open`.
#[test]
fn one_command_shows_the_documentation_of_both_crates() {
    let _one_at_a_time = compiling();
    let line = "doc -p kbr-runtime -p kbr-testing --lib --examples --no-deps";
    for document in ["src/guide/testing.md", "templates/init/README.md.hbs"] {
        let text = fs::read_to_string(Path::new(REPOSITORY).join(document)).expect("a text");
        assert!(text.contains(&format!("cargo {line} --open")), "{document}");
    }
    let sandbox = Sandbox::with_project();
    share_runtime(sandbox.path());
    let shown = target().join("doc");
    let _ = fs::remove_dir_all(&shown);
    assert!(cargo(sandbox.path(), &format!("{line} --locked")), "{line}");
    for page in [
        "kbr_runtime/struct.Manager.html",
        "kbr_testing/struct.TestEnv.html",
    ] {
        assert!(shown.join(page).exists(), "{page}");
    }
}

/// The names of the packages that a crate depends on.
fn tree_of(name: &str, features: &str) -> BTreeSet<String> {
    let mut tree = Command::new("cargo");
    tree.args(["tree", "--locked", "--edges", "normal,build"])
        .args(["--prefix", "none", "--no-default-features"])
        .args(["--features", features])
        .current_dir(in_place(name));
    let output = tree.output().expect("cargo runs");
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    let name = |line: &str| line.split(' ').next().unwrap_or_default().to_owned();
    text.lines().map(name).collect()
}

#[test]
fn either_crate_compiles_without_the_dependencies_of_the_other() {
    let (manager, testing) = (tree_of(RUNTIME, "manager"), tree_of(TESTING, ""));
    for name in ["prometheus-client", "clap", "tracing-subscriber"] {
        assert!(manager.contains(name) && !testing.contains(name), "{name}");
    }
    let with_manager = tree_of(TESTING, "manager");
    assert!(with_manager.contains("proptest") && !manager.contains("proptest"));
    for (feature, name) in [("otlp", "opentelemetry"), ("native-histograms", "protox")] {
        assert!(tree_of(RUNTIME, feature).contains(name), "{feature}");
        assert!(!manager.contains(name), "{name}");
    }
    assert!(!manager.contains("prost"));
}

/// Packs the crates and returns the paths of the packages.
fn pack() -> [PathBuf; 2] {
    let mut pack = Command::new(Path::new(REPOSITORY).join("tests/tools/pack-crates"));
    // With all files of the crate, which the crates' own tests have compiled, a package compiles too.
    pack.arg("--no-verify");
    compiles_into(&mut pack, &target());
    assert!(pack.status().expect("it runs").success(), "{pack:?}");
    CRATES.map(|name| target().join(format!("package/{name}-0.1.0.crate")))
}

/// Once the crates are published, a project switches to them by deleting the folder and `path = …`. A
/// registry with the packages of the lock, and the crates, replaces crates.io.
#[test]
fn a_project_can_switch_to_the_crates_of_a_registry() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name registered")
        .success();
    sandbox.kbr("create api --kind Foo").success();
    let packed = pack();
    let registry = tempfile::tempdir().expect("a folder");
    fill(registry.path(), sandbox.path(), &packed);

    fs::remove_dir_all(sandbox.path().join(VENDORED)).expect("the vendored crates are removed");
    for name in CRATES {
        sandbox.edit("Cargo.toml", &format!(", path = \"{VENDORED}/{name}\""), "");
    }
    let config = format!(
        "[source.crates-io]\nreplace-with = \"here\"\n\n[source.here]\nlocal-registry = {:?}\n",
        registry.path()
    );
    sandbox.write(".cargo/config.toml", &config);
    let line = "update --workspace --offline";
    assert!(cargo(sandbox.path(), line), "{line}");
    let lock: toml::Table = sandbox.read("Cargo.lock").parse().expect("TOML");
    for name in CRATES {
        let mut packages = lock["package"].as_array().expect("packages").iter();
        let found = packages.find(|package| package["name"].as_str() == Some(name));
        let source = found.expect("the crate").get("source");
        let source = source.and_then(toml::Value::as_str);
        assert_eq!(
            source,
            Some("registry+https://github.com/rust-lang/crates.io-index")
        );
    }

    // Only the two crates come from the packages: from another registry, cargo would compile all others again, and
    // keep their sources in the user's folder.
    let patches = CRATES.iter().zip(&packed).map(|(name, package)| {
        let unpacked = unpack(package, &registry.path().join("unpacked"));
        assert_same(
            &tree(&in_place(name).join("src")),
            &tree(&unpacked.join("src")),
        );
        format!("{name} = {{ path = {unpacked:?} }}\n")
    });
    let config = format!("[patch.crates-io]\n{}", patches.collect::<String>());
    sandbox.write(".cargo/config.toml", &config);
    let line = "check --workspace --all-targets --features kbr-testing/crash,kbr-testing/development --offline";
    assert!(cargo(sandbox.path(), line), "{line}");
    let run = sandbox.kbr("manifests").success();
    assert!(!run.stderr.contains("kbr-"), "{}", run.stderr);
}

/// Unpacks a package into `folder`, and returns the folder of its sources.
fn unpack(package: &Path, folder: &Path) -> PathBuf {
    let file = fs::File::open(package).expect("a package");
    let mut archive = tar::Archive::new(flate2::read::GzDecoder::new(file));
    archive.unpack(folder).expect("the files");
    folder.join(package.file_stem().expect("a name"))
}

/// Writes a registry of every package that `project` needs, and of the packed crates.
fn fill(registry: &Path, project: &Path, packed: &[PathBuf; 2]) {
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
            "" => match CRATES.iter().position(|own| *own == name) {
                Some(at) => packed[at].clone(),
                None => continue,
            },
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
fn a_packed_kbr_compiles_and_embeds_the_same_files() {
    let _one_at_a_time = compiling();
    let folder = tempfile::tempdir().expect("a folder");
    let repository = Path::new(REPOSITORY);
    let line = "package --allow-dirty --locked --no-verify --quiet";
    let is_packed = cargo_into(repository, line, folder.path());
    assert!(is_packed, "`cargo {line}`");
    let version = env!("CARGO_PKG_VERSION");
    let package = folder.path().join(format!("package/kbr-{version}.crate"));
    let packed = unpack(&package, folder.path());

    let embedded = names(&repository.join("templates")).into_iter();
    let embedded = embedded.filter(|name| !CRATES.contains(&&**name));
    for name in embedded
        .map(|name| format!("templates/{name}"))
        .chain(["src".to_owned()])
    {
        // A package has files instead of links.
        let copy = folder.path().join("copy").join(&name);
        fs::create_dir_all(copy.parent().expect("a folder")).expect("the folder");
        let mut follow = Command::new("cp");
        follow.arg("-RL").arg(repository.join(&name)).arg(&copy);
        assert!(follow.status().expect("cp runs").success(), "{name}");
    }
    for name in ["src", "templates"] {
        let copied = tree(&folder.path().join("copy").join(name));
        assert_same(&copied, &tree(&packed.join(name)));
    }

    // After `cargo doc`, as in CI, only kbr itself is left to be compiled.
    let mut check = Command::new("cargo");
    check
        .args(["check", "--locked", "--quiet"])
        .current_dir(&packed);
    let built = Path::new(env!("CARGO_BIN_EXE_kbr")).ancestors().nth(2);
    check.env("CARGO_TARGET_DIR", built.expect("a target directory"));
    without_package(&mut check);
    assert!(check.status().expect("cargo runs").success(), "{check:?}");
}

/// In a copy of a golden, in which the vendored crates would be formatted, linted or tested if they could.
#[test]
fn the_commands_of_a_project_ignore_the_crates() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    check_out(SHOWCASE, sandbox.path());
    let copies = sandbox.path().join(VENDORED);
    fs::remove_file(&copies).expect("the link is removed");
    copy(vendored(), &copies);
    let edited = CRATES.map(|name| {
        let lib = format!("{VENDORED}/{name}/src/lib.rs");
        let text = sandbox.read(&lib) + "\n\n\npub  fn  unformatted( ) { let x = 5; return; }\n";
        sandbox.write(&lib, &text);
        (lib, text)
    });
    for line in ["fmt --check", "fmt --all --check", "fmt --all"] {
        assert!(cargo(sandbox.path(), line), "{line}");
    }
    for (lib, text) in edited {
        assert_eq!(sandbox.read(&lib), text);
    }
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
