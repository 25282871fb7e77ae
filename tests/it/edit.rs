//! `kbr edit`: a project with another layout or name, on disk.

use snapbox::str;

use crate::support::{Sandbox, assert_formatted, assert_same};

/// A project of one group with kinds, webhooks and a conversion.
fn with_captain() -> Sandbox {
    let sandbox = Sandbox::with_project();
    for line in [
        "create api --group crew --kind Captain --version v1",
        "create api --group crew --kind Captain --version v2",
        "create webhook --group crew --kind Captain --version v1 --defaulting --conversion --spoke v2",
        "create webhook --group core --kind Pod --version v1 --programmatic-validation",
        "create api --group crew --kind Cook --version v1 --image cook:1 --image-port 80",
    ] {
        sandbox.kbr(line).success();
    }
    sandbox
}

#[test]
fn multigroup_and_back_leave_the_tree_unchanged() {
    let sandbox = with_captain();
    let before = sandbox.tree();

    let run = sandbox.kbr("edit --multigroup").success();
    assert!(
        run.status()
            .contains(&"Created src/webhook/core/v1/pod_validator.rs".to_owned()),
        "{run:?}"
    );
    let after = sandbox.tree();
    assert!(!after.contains_key("api/src/v1/"), "an empty folder");
    assert!(after.contains_key("api/src/crew/v1/captain_types.rs"));
    assert_formatted(&sandbox);

    sandbox.kbr("edit --multigroup=false").success();
    assert_same(&before, &sandbox.tree());
}

#[test]
fn another_group_can_follow() {
    let sandbox = with_captain();
    sandbox.kbr("edit --multigroup").success();
    for line in [
        "create api --group ship --kind Captain --version v1",
        "create webhook --group ship --kind Captain --version v1 --defaulting",
        "create api --group crew --kind Captain --version v1 --resource=false --controller-name backup",
    ] {
        sandbox.kbr(line).success();
    }
    assert_formatted(&sandbox);
    let registrations = sandbox.read("src/lib.rs");
    for line in [
        "    controller::crew::backup_controller::register,\n",
        "    controller::crew::captain_controller::register,\n",
        "    controller::ship::captain_controller::register,\n",
        "    webhook::crew::v1::captain_defaulter::register,\n",
        "    webhook::ship::v1::captain_defaulter::register,\n",
    ] {
        assert!(registrations.contains(line), "{registrations}");
    }
    let name = |path: &str| {
        let text = sandbox.read(path);
        let line = text.lines().find(|line| line.contains("manager.add("));
        line.expect(path).trim().to_owned()
    };
    assert_eq!(
        name("src/controller/crew/captain_controller.rs"),
        "manager.add(\"captain\", controller, reconcile);",
        "the name is the field manager of objects in clusters"
    );
    assert_eq!(
        name("src/controller/ship/captain_controller.rs"),
        "manager.add(\"ship-captain\", controller, reconcile);"
    );
}

#[test]
fn formatted_files_stay_formatted() {
    let sandbox = with_captain();
    // With one more column, the line is too long.
    let long = "pub type Long = std::collections::BTreeMap<api::v1::CaptainSpec, api::v1::CaptainStatus>;\n";
    sandbox.write(
        "src/controller/shared.rs",
        &format!("//! Shared.\n\n{long}"),
    );
    sandbox.edit(
        "src/controller.rs",
        "pub mod captain_controller;",
        "pub mod captain_controller;\nmod shared;",
    );
    let untidy = "//!  By hand.\n\nuse   api::v1::Captain as _;\n";
    sandbox.write("examples/untidy.rs", untidy);

    sandbox.kbr("edit --multigroup").success();

    assert_eq!(
        sandbox.read("src/controller/shared.rs"),
        "//! Shared.\n\npub type Long =\n    std::collections::BTreeMap<api::crew::v1::CaptainSpec, \
         api::crew::v1::CaptainStatus>;\n"
    );
    assert_eq!(
        sandbox.read("examples/untidy.rs"),
        untidy.replace("api::v1", "api::crew::v1")
    );
}

#[test]
fn refused_edits_change_nothing() {
    let sandbox = with_captain();
    let refused = |line: &str, stderr: &str| {
        let before = sandbox.tree();
        sandbox.kbr(line).refused(1, stderr);
        assert_same(&before, &sandbox.tree());
    };
    refused(
        "edit",
        "error: nothing to do: no option says what to change\n help: type `kbr edit --multigroup`, `kbr edit --namespaced`, `kbr edit --project-name NAME` or `kbr edit --certificates ISSUER`\n",
    );
    sandbox.kbr("edit --multigroup").success();
    sandbox.edit(
        "src/webhook/core.rs",
        "// +kbr",
        "pub fn mine() {}\n// +kbr",
    );
    refused(
        "edit --multigroup=false",
        "error: the modules cannot be moved: `src/webhook/core.rs` has code that kbr did not write\n \
         help: move that code to another file, and run the command again\n",
    );
    sandbox
        .kbr("create api --group ship --kind Frigate")
        .success();
    refused(
        "edit --multigroup=false",
        "error: the project has several API groups, `crew.example.com` and `ship.example.com`\n \
         help: delete the kinds of one group first\n",
    );
}

#[test]
fn a_renamed_project_has_the_tree_of_its_new_name_and_is_formatted() {
    let with = |name: &str| {
        let sandbox = Sandbox::new();
        let init = format!("init --domain example.com --project-name {name}");
        sandbox.kbr(&init).success();
        for line in [
            "create api --kind Captain --version v1",
            "create api --kind Captain --version v2",
            "create webhook --kind Captain --version v1 --defaulting --conversion --spoke v2",
        ] {
            sandbox.kbr(line).success();
        }
        sandbox
    };
    let sandbox = with("bench");
    let before = sandbox.tree();
    let line = "edit --project-name zoo-of-animals";
    let dry = sandbox.kbr(&format!("{line} --dry-run --diff")).success();
    assert!(dry.stdout.contains("+name = \"zoo-of-animals\""), "{dry:?}");
    assert_same(&before, &sandbox.tree());

    let run = sandbox.kbr(line).success();
    assert!(run.stderr.contains("`bench-system`"), "{run:?}");
    assert_same(&with("zoo-of-animals").tree(), &sandbox.tree());
    assert_formatted(&sandbox);
    let json = sandbox.kbr("edit --project-name bench --output json");
    let report: serde_json::Value = serde_json::from_str(&json.success().stdout).expect("JSON");
    assert_eq!(report["command"], "edit");
    assert_same(&before, &sandbox.tree());
}

#[test]
fn an_invalid_name_changes_nothing() {
    let sandbox = with_captain();
    sandbox.edit(
        "Cargo.lock",
        "[[package]]\nname = \"kube\"\n",
        "[[package]]\nname = \"zoo\"\nversion = \"1.0.0\"\n\n[[package]]\nname = \"kube\"\n",
    );
    let before = sandbox.tree();
    sandbox.kbr("edit --project-name zoo").refused(
        1,
        str![[r#"
error: `zoo` is already a package in `Cargo.lock`
 help: type another name after `--project-name`

"#]],
    );
    for (line, why) in [
        ("edit --project-name Zoo", "`Zoo` is not a project name"),
        (
            "edit --project-name zoo --multigroup",
            "cannot be used with",
        ),
    ] {
        let run = sandbox.kbr(line);
        assert_eq!(run.code(), Some(2), "{run:?}");
        assert!(run.stderr.contains(why), "{run:?}");
    }
    assert_same(&before, &sandbox.tree());
}
