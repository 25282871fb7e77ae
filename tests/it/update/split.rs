//! Projects from before `kbr-testing` was a crate: it was the module and the feature `testing` of `kbr-runtime`.

use std::fs;

use crate::support::{Sandbox, assert_same, commit, git};

use super::{age, hash, record, without_git};
use crate::support::releases::UP_TO_DATE;

/// Lines of `Cargo.toml`, and those that an earlier kbr rendered.
const MANIFEST: [(&str, &str); 2] = [
    (
        "kbr-testing = { version = \"0.1\", path = \"third_party/kbr-testing\" }\n",
        "",
    ),
    (
        "kbr-testing.workspace = true\n",
        "kbr-runtime = { workspace = true, features = [\"testing\"] }\n",
    ),
];

/// Commands, and the files with tests that they render.
const STEPS: [(&str, &[&str]); 4] = [
    (
        "init --domain example.com --project-name before",
        &[
            "examples/run-local.rs",
            "tests/crash.rs",
            "tests/rbac.rs",
            "tests/it/main.rs",
        ],
    ),
    ("create api --version v1 --kind Captain", &[]),
    (
        "create api --version v2 --kind Captain --controller=false",
        &[],
    ),
    (
        "create webhook --version v1 --kind Captain --defaulting --programmatic-validation --conversion --spoke v2",
        &[
            "src/webhook/v1/captain_defaulter.rs",
            "src/webhook/v1/captain_validator.rs",
            "tests/it/captain_v2_converter.rs",
        ],
    ),
];

fn fresh() -> Sandbox {
    let sandbox = Sandbox::new();
    for (line, _) in STEPS {
        sandbox.kbr(line).success();
    }
    sandbox
}

/// The same project, by the kbr before, in git.
fn before() -> Sandbox {
    let sandbox = Sandbox::new();
    for (line, files) in STEPS {
        sandbox.kbr(line).success();
        for path in files {
            age(&sandbox, path, "kbr_testing", "kbr_runtime::testing");
        }
        if line.starts_with("init ") {
            for (new, old) in MANIFEST {
                age(&sandbox, "Cargo.toml", new, old);
            }
            age(&sandbox, "Cargo.lock", " \"kbr-testing\",\n", "");
            within_runtime(&sandbox);
        }
    }
    let named = sandbox
        .tree()
        .into_iter()
        .filter(|(path, text)| !path.starts_with("third_party/") && text.contains("kbr_testing::"));
    let named: Vec<String> = named.map(|(path, _)| path).collect();
    assert_eq!(named, [""; 0]);
    git(&sandbox, "init --quiet");
    commit(&sandbox);
    sandbox
}

/// Makes the vendored `kbr-testing` a module of the vendored `kbr-runtime`.
fn within_runtime(sandbox: &Sandbox) {
    let [runtime, testing] = ["runtime", "testing"].map(|name| format!("third_party/kbr-{name}"));
    let module = sandbox.read(&format!("{testing}/src/lib.rs"));
    fs::remove_dir_all(sandbox.path().join(testing)).expect("a folder");
    sandbox.write(&format!("{runtime}/src/testing.rs"), &module);
    let sums = format!("{runtime}/SHA256SUMS");
    let line = format!("{}  src/testing.rs\n", hash(&module));
    sandbox.write(&sums, &(sandbox.read(&sums) + &line));
}

#[test]
fn an_untouched_project_gets_the_crate() {
    let sandbox = before();

    let run = sandbox.kbr("update").success();

    assert!(!run.stderr.contains("Warning"), "{run:?}");
    assert_same(&without_git(&fresh()), &without_git(&sandbox));
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn the_lines_that_the_owner_must_change_are_listed() {
    let sandbox = before();
    let mine = "use kbr_runtime::testing::TestEnv;\nuse kbr_runtime::{\n    Clock,\n    testing::FaultProxy,\n};\n";
    sandbox.write("tests/it/mine.rs", mine);
    let main = sandbox.read("tests/it/main.rs") + "\n// Mine.\n";
    sandbox.write("tests/it/main.rs", &main);
    sandbox.edit("Cargo.toml", "[\"testing\"]", "[\"otlp\", \"testing\"]");
    let api =
        "\n[dev-dependencies]\nkbr-runtime = { workspace = true, features = [\"testing\"] }\n";
    let api = sandbox.read("api/Cargo.toml") + api;
    sandbox.write("api/Cargo.toml", &api);
    // Its lock would need the network.
    record(&sandbox, "Cargo.lock", None);
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    for warning in [
        "`tests/it/mine.rs`, lines 1, 4: replace `kbr_runtime::testing` with `kbr_testing`",
        "`api/Cargo.toml`: depend on `kbr-testing` instead of the feature `testing` of `kbr-runtime`",
    ] {
        assert!(run.stderr.contains(warning), "{run:?}");
    }
    assert_eq!(run.stderr.matches("replace `kbr_runtime").count(), 1);
    assert_eq!(run.stderr.matches("depend on `kbr-testing`").count(), 1);
    assert_eq!(sandbox.read("tests/it/mine.rs"), mine);
    let main = sandbox.read("tests/it/main.rs");
    let texts = ["use kbr_testing::{TestEnv, TestEnvError};\n", "// Mine.\n"];
    assert!(texts.iter().all(|text| main.contains(text)), "{main}");
    let manifest = sandbox.read("Cargo.toml");
    for line in [
        MANIFEST[0].0,
        MANIFEST[1].0,
        "kbr-runtime = { workspace = true, features = [\"otlp\"] }\n",
    ] {
        assert!(manifest.contains(line), "{manifest}");
    }
    let tree = sandbox.tree();
    assert!(tree.contains_key("third_party/kbr-testing/src/lib.rs"));
    assert!(!tree.contains_key("third_party/kbr-runtime/src/testing.rs"));
}

/// The owner of another copy of `kbr-runtime` gets none of `kbr-testing`, and none that was deleted comes back.
#[test]
fn a_project_with_other_copies_gets_none() {
    for folder in ["third_party", "third_party/kbr-testing"] {
        let sandbox = fresh();
        fs::remove_dir_all(sandbox.path().join(folder)).expect("a folder");
        sandbox.kbr("update --allow-dirty").success();
        assert!(
            !sandbox.path().join("third_party/kbr-testing").exists(),
            "{folder}"
        );
    }
}
