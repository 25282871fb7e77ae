//! Crates that kbr has added for types of other operators: `kbr update` keeps them, and they are no edit.

use crate::external::{CERTIFICATE, create, sandbox};
use crate::support::{Sandbox, assert_same, commit, git};

use super::{age, hash, record, without_git};
use crate::support::releases::UP_TO_DATE;

/// Two kinds of the project's own beside the type of another operator.
const KINDS: [&str; 2] = [
    "create api --group crew --version v1 --kind Captain",
    "create webhook --group crew --version v1 --kind Captain --defaulting",
];

/// A project in git with those kinds and the crate `semver`; `prepare` is called on what `kbr init` creates.
fn project(prepare: impl FnOnce(&Sandbox)) -> Sandbox {
    let sandbox = sandbox();
    prepare(&sandbox);
    git(&sandbox, "init --quiet");
    let lines = KINDS.map(str::to_owned);
    for line in lines.iter().chain([&create("semver", "semver@1")]) {
        commit(&sandbox);
        sandbox.kbr(line).success();
    }
    commit(&sandbox);
    sandbox
}

#[test]
fn no_command_makes_a_project_with_such_a_crate_out_of_date() {
    let sandbox = project(|_| {});
    for path in [
        "Cargo.toml",
        "api/src/v1/captain_types.rs",
        "src/controller/captain_controller.rs",
        "src/controller/certificate_controller.rs",
    ] {
        let mark = if path.ends_with(".rs") { "//" } else { "#" };
        sandbox.write(path, &format!("{}\n{mark} Mine.\n", sandbox.read(path)));
    }
    commit(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
    let delete = format!("delete controller {CERTIFICATE} --controller-name certificate");
    for line in [
        "edit --multigroup",
        "rename kind --group crew --kind Captain --to Admiral",
        "rename version --group crew --kind Admiral --version v1 --to v2",
        "rename group --group crew --to staff",
        "edit --project-name other",
        "delete webhook --group staff --version v2 --kind Admiral --defaulting",
        "delete api --group staff --version v2 --kind Admiral --force",
        &delete,
    ] {
        sandbox.kbr(line).success();
        let run = sandbox.kbr(UP_TO_DATE);
        assert_eq!(run.code(), Some(0), "{line}: {run:?}");
        let manifest = sandbox.read("Cargo.toml");
        assert!(manifest.ends_with("\n# Mine.\n"), "{line}: {manifest}");
        commit(&sandbox);
    }
}

#[test]
fn the_crate_stays_when_the_scaffold_changes() {
    let old = |sandbox: &Sandbox| {
        age(
            sandbox,
            "Cargo.toml",
            "edition = \"2024\"",
            "edition = \"2021\"",
        );
        age(
            sandbox,
            "Cargo.toml",
            "serde_json = \"1\"",
            "serde_json = \"1.0\"",
        );
        age(sandbox, "src/main.rs", "fn main()", "fn mine()");
    };
    let sandbox = project(old);
    let fresh = project(|_| {});
    // The lock file of an earlier kbr.
    let project = sandbox.read("PROJECT");
    assert!(project.contains("  Cargo.lock: "), "{project}");
    record(&sandbox, "Cargo.lock", Some(&hash("old")));
    commit(&sandbox);

    sandbox.kbr("update").success();

    assert_same(&without_git(&fresh), &without_git(&sandbox));
    commit(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
}
