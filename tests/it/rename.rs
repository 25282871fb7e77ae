//! `kbr rename`: a kind, a version or a group gets another name, on disk.

use crate::support::{Sandbox, assert_formatted, assert_same};

/// A project with a kind in two versions, with webhooks and a conversion.
fn with(kind: &str) -> Sandbox {
    let sandbox = Sandbox::with_project();
    for line in [
        "create api --group crew --kind KIND --version v1",
        "create api --group crew --kind KIND --version v2",
        "create webhook --group crew --kind KIND --version v1 --defaulting --conversion --spoke v2",
    ] {
        sandbox.kbr(&line.replace("KIND", kind)).success();
    }
    sandbox
}

#[test]
fn a_renamed_kind_has_the_tree_of_its_new_name_and_is_formatted() {
    let sandbox = with("Captain");
    let line = "rename kind --group crew --kind Captain --to Commander";

    let before = sandbox.tree();
    let dry = sandbox.kbr(&format!("{line} --dry-run --diff")).success();
    assert!(
        dry.status()
            .contains(&"Would create api/src/v1/commander_types.rs".to_owned()),
        "{dry:?}"
    );
    assert!(
        dry.stdout.contains("+pub struct CommanderSpec {"),
        "{dry:?}"
    );
    assert_same(&before, &sandbox.tree());

    let json = sandbox.kbr(&format!("{line} --dry-run --output json"));
    let report: serde_json::Value = serde_json::from_str(&json.success().stdout).expect("JSON");
    assert_eq!(report["command"], "rename kind");

    sandbox.kbr(line).success();
    assert_same(&with("Commander").tree(), &sandbox.tree());
    assert_formatted(&sandbox);
}

#[test]
fn formatted_files_stay_formatted_and_edits_are_kept() {
    let sandbox = with("Captain");
    // With the longer name, the line is too long.
    let long = "pub type Long = std::collections::BTreeMap<api::v1::CaptainSpec, api::v1::CaptainStatus>;\n";
    sandbox.write(
        "src/controller/shared.rs",
        &format!("//! Of a captain.\n\n{long}"),
    );
    sandbox.edit(
        "src/controller.rs",
        "pub mod captain_controller;",
        "pub mod captain_controller;\nmod shared;",
    );

    let run = sandbox
        .kbr("rename kind --group crew --kind Captain --to FleetCommander")
        .success();

    assert_eq!(
        sandbox.read("src/controller/shared.rs"),
        "//! Of a captain.\n\npub type Long =\n    std::collections::BTreeMap<api::v1::FleetCommanderSpec, \
         api::v1::FleetCommanderStatus>;\n"
    );
    let left = "`src/controller/shared.rs` still has the name `captain` in line 1";
    assert!(run.stderr.contains(left), "{run:?}");
    assert_formatted(&sandbox);
}

#[test]
fn refused_renames_change_nothing() {
    let sandbox = with("Captain");
    sandbox
        .kbr("create webhook --group core --kind Pod --version v1 --defaulting")
        .success();
    sandbox.write("src/mine.rs", "struct ShipSpec;\n");
    let refused = |rest: &str, stderr: &str| {
        let before = sandbox.tree();
        let line = format!("rename kind {rest}");
        sandbox.kbr(&line).refused(1, stderr);
        assert_same(&before, &sandbox.tree());
    };
    refused(
        "--kind Captain --to Boat",
        "error: `example.com Captain` is not in PROJECT\n \
         help: PROJECT has `--group crew --kind Captain`\n",
    );
    refused(
        "--group core --kind Pod --to Boat",
        "error: `core Pod` is not defined in this project, so it cannot be renamed\n \
         help: PROJECT has `--group crew --kind Captain`\n",
    );
    refused(
        "--group crew --kind Captain --to Captain",
        "error: the name is already `Captain`\n help: type another name after `--to`\n",
    );
    refused(
        "--group crew --kind Captain --to Boat --plural captains",
        "error: `Boat` conflicts with `Captain`: both have the plural `captains`\n \
         help: choose another `--to`, or `--plural` for a kind\n",
    );
    refused(
        "--group crew --kind Captain --to Ship",
        "error: `ShipSpec` is already a name in `src/mine.rs`\n \
         help: choose another `--to`, or rename that one first\n",
    );
}

#[test]
fn a_renamed_version_and_group_have_the_tree_of_their_new_names_and_are_formatted() {
    let with = |group: &str, version: &str| {
        let sandbox = Sandbox::new();
        sandbox
            .kbr("init --domain example.com --project-name bench --multigroup")
            .success();
        for line in [
            "create api --group GROUP --kind Captain --version VERSION",
            "create api --group GROUP --kind Captain --version v2",
            "create api --group GROUP --kind Boat --version v1alpha1",
            "create webhook --group GROUP --kind Captain --version VERSION --defaulting --conversion --spoke v2",
        ] {
            let line = line.replace("GROUP", group).replace("VERSION", version);
            sandbox.kbr(&line).success();
        }
        sandbox
    };
    let sandbox = with("crew", "v1alpha1");
    let before = sandbox.tree();
    let version = "rename version --group crew --kind Captain --version v1alpha1 --to v1";
    let group = "rename group --group crew --to deep.sea-creatures-and-others";
    for line in [version, group] {
        let json = sandbox.kbr(&format!("{line} --dry-run --diff --output json"));
        let report: serde_json::Value = serde_json::from_str(&json.success().stdout).expect("JSON");
        assert!(line.starts_with(report["command"].as_str().expect("a command")));
    }
    assert_same(&before, &sandbox.tree());

    sandbox.kbr(version).success();
    assert_same(&with("crew", "v1").tree(), &sandbox.tree());

    sandbox.kbr(group).success();
    let expected = with("deep.sea-creatures-and-others", "v1");
    assert_same(&expected.tree(), &sandbox.tree());
    assert_formatted(&sandbox);
}

#[test]
fn edits_that_use_several_kinds_of_a_version_stay_formatted() {
    let sandbox = Sandbox::with_project();
    for kind in ["Captain", "Boat"] {
        sandbox.kbr(&format!("create api --kind {kind}")).success();
    }
    sandbox.write(
        "src/controller/shared.rs",
        "//! Of both.\n\nuse api::v1alpha1;\n\npub type Both = (v1alpha1::Captain, v1alpha1::Boat);\n",
    );
    sandbox.edit(
        "src/controller.rs",
        "pub mod captain_controller;",
        "pub mod captain_controller;\nmod shared;",
    );
    sandbox
        .kbr("rename version --kind Captain --version v1alpha1 --to v1")
        .success();
    assert_eq!(
        sandbox.read("src/controller/shared.rs"),
        "//! Of both.\n\nuse api::v1alpha1;\n\npub type Both = (api::v1::Captain, v1alpha1::Boat);\n"
    );
    assert_formatted(&sandbox);
}

#[test]
fn an_invalid_version_or_group_changes_nothing() {
    let sandbox = with("Captain");
    let refused = |rest: &str, stderr: &str| {
        let before = sandbox.tree();
        sandbox.kbr(&format!("rename {rest}")).refused(1, stderr);
        assert_same(&before, &sandbox.tree());
    };
    refused(
        "version --group crew --kind Captain --version v3 --to v4",
        "error: `crew.example.com/v3 Captain` is not in PROJECT\n \
         help: PROJECT has `--group crew --version v1 --kind Captain`, \
         `--group crew --version v2 --kind Captain`\n",
    );
    refused(
        "version --group crew --version v1 --to v2",
        "error: `crew.example.com/v2 Captain` is already in PROJECT\n \
         help: choose another `--to`, or delete that one with `kbr delete api` first\n",
    );
    refused(
        "version --group crew --version v1 --to v1",
        "error: the name is already `v1`\n help: type another name after `--to`\n",
    );
    refused(
        "group --group ship --to fleet",
        "error: `ship.example.com` is not in PROJECT\n \
         help: PROJECT has `--group crew`\n",
    );
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain io --project-name bench")
        .success();
    sandbox
        .kbr("create api --group crew --kind Captain")
        .success();
    let refused = sandbox.kbr("rename group --group crew --to k8s").failure();
    assert!(refused.stderr.contains("k8s.io"), "{refused:?}");
    let domain = ["rename", "group", "--group", "crew", "--to", ""];
    let refused = sandbox.run(&domain).failure();
    assert!(refused.stderr.contains("`io`"), "{refused:?}");
}

#[test]
fn a_kind_that_runs_an_image_is_renamed_with_all_of_its_files() {
    let made = |kind: &str| {
        let sandbox = Sandbox::with_project();
        let line = format!(
            "create api --group crew --version v1 --kind {kind} --image cook:1 --image-port 80"
        );
        sandbox.kbr(&line).success();
        sandbox
    };
    let sandbox = made("Cook");
    sandbox
        .kbr("rename kind --group crew --kind Cook --to Chef")
        .success();
    assert_same(&made("Chef").tree(), &sandbox.tree());
    assert_formatted(&sandbox);
}
