//! `kbr rename kind`: a kind under another name, on the disk.

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
fn the_tree_is_that_of_the_new_name_and_formatted() {
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
fn what_was_formatted_is_formatted_again_and_edits_are_kept() {
    let sandbox = with("Captain");
    // With the longer name it is too long for its line.
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
    let left = "`src/controller/shared.rs` still has the name `captain`";
    assert!(run.stderr.contains(left), "{run:?}");
    assert_formatted(&sandbox);
}

#[test]
fn what_cannot_be_is_refused_and_changes_nothing() {
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
         help: type one that PROJECT has: `--group crew --kind Captain`\n",
    );
    refused(
        "--group core --kind Pod --to Boat",
        "error: `core Pod` is Kubernetes' own: only the project's own kinds can be renamed\n \
         help: type one that PROJECT has: `--group crew --kind Captain`\n",
    );
    refused(
        "--group crew --kind Captain --to Captain",
        "error: `Captain` is its name already\n help: type another name after `--to`\n",
    );
    refused(
        "--group crew --kind Captain --to Boat --plural captains",
        "error: `Boat` cannot stand beside `Captain`: both have the plural `captains`\n \
         help: choose another `--to` or `--plural`\n",
    );
    refused(
        "--group crew --kind Captain --to Ship",
        "error: `ShipSpec` is a name in `src/mine.rs` already\n \
         help: choose another `--to`, or give that one another name first\n",
    );
}
