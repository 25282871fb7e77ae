//! The changes for new webhooks, and which webhooks are refused; tested on values.

use crate::commands::tests::{Bench, assert_same};

/// A project with the kind `Foo` in two versions.
fn with_foo() -> Bench {
    Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1")
}

#[test]
fn the_first_webhook_adds_what_a_cluster_needs_to_call_it() {
    assert_eq!(
        with_foo().changes("create webhook --kind Foo --defaulting"),
        [
            "create config/default/manager_webhook_patch.yaml",
            "create config/default/webhook_replacements.yaml",
            "create config/network-policy/allow-webhook-traffic.yaml",
            "create config/webhook/kustomization.yaml",
            "create config/webhook/service.yaml",
            "create src/webhook/v1alpha1.rs",
            "create src/webhook/v1alpha1/foo_defaulter.rs",
            "create tests/it/foo_v1alpha1_defaulter.rs",
            r#"insert Cargo.toml: "kbr-runtime/certificates","#,
            "insert config/default/kustomization.yaml: - ../webhook",
            "insert config/default/kustomization.yaml: - path: webhook_replacements.yaml",
            "insert config/default/kustomization.yaml: - {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
            "insert config/network-policy/kustomization.yaml: - allow-webhook-traffic.yaml",
            "insert config/webhook/kustomization.yaml: - certificates_role.yaml",
            "insert config/webhook/kustomization.yaml: - manifests.yaml",
            "insert src/lib.rs: webhook::v1alpha1::foo_defaulter::register,",
            "insert src/webhook.rs: pub mod v1alpha1;",
            "insert src/webhook/v1alpha1.rs: pub mod foo_defaulter;",
            "insert tests/it/main.rs: mod foo_v1alpha1_defaulter;",
        ]
    );
}

#[test]
fn a_second_webhook_adds_only_its_own_files() {
    let bench = with_foo().after("create webhook --kind Foo --defaulting");
    assert_eq!(
        bench.changes("create webhook --kind Foo --programmatic-validation"),
        [
            "create src/webhook/v1alpha1/foo_validator.rs",
            "create tests/it/foo_v1alpha1_validator.rs",
            "insert src/lib.rs: webhook::v1alpha1::foo_validator::register,",
            "insert src/webhook/v1alpha1.rs: pub mod foo_validator;",
            "insert tests/it/main.rs: mod foo_v1alpha1_validator;",
        ]
    );
}

#[test]
fn a_conversion_adds_files_of_its_spoke_and_no_configuration() {
    let bench = with_foo();
    let line = "create webhook --kind Foo --version v1 --conversion --spoke v1alpha1";
    assert_eq!(
        bench.changes(line),
        [
            "create config/default/manager_webhook_patch.yaml",
            "create config/default/webhook_replacements.yaml",
            "create config/network-policy/allow-webhook-traffic.yaml",
            "create config/webhook/kustomization.yaml",
            "create config/webhook/service.yaml",
            "create src/webhook/v1alpha1.rs",
            "create src/webhook/v1alpha1/foo_converter.rs",
            "create tests/it/foo_v1alpha1_converter.rs",
            r#"insert Cargo.toml: "kbr-runtime/certificates","#,
            r#"insert Cargo.toml: "kbr-runtime/conversion", "kbr-testing/conversion","#,
            "insert config/default/kustomization.yaml: - ../webhook",
            "insert config/default/kustomization.yaml: - path: webhook_replacements.yaml",
            "insert config/default/kustomization.yaml: - {path: manager_webhook_patch.yaml, target: {kind: Deployment, name: controller-manager}}",
            "insert config/network-policy/kustomization.yaml: - allow-webhook-traffic.yaml",
            "insert config/webhook/kustomization.yaml: - certificates_role.yaml",
            "insert src/lib.rs: webhook::v1alpha1::foo_converter::register,",
            "insert src/webhook.rs: pub mod v1alpha1;",
            "insert src/webhook/v1alpha1.rs: pub mod foo_converter;",
            "insert tests/it/main.rs: mod foo_v1alpha1_converter;",
        ]
    );
}

#[test]
fn one_command_or_several_give_the_same_result() {
    let (defaulting, validation) = ("--defaulting", "--programmatic-validation");
    let after = |options: &[&str]| {
        let line = |bench: Bench, options: &&str| {
            bench.after(&format!("create webhook --kind Foo {options}"))
        };
        options.iter().fold(with_foo(), line).files
    };
    let both = after(&["--defaulting --programmatic-validation"]);
    assert_eq!(both, after(&[defaulting, validation]));
    assert_eq!(both, after(&[validation, defaulting]));
}

#[test]
fn a_webhook_for_a_type_of_kubernetes_own_gives_a_warning() {
    let warnings = |line: &str| with_foo().desired(line).expect("no refusal").warnings;
    let of_pods = "create webhook --group core --version v1 --kind Pod --defaulting";
    assert!(warnings(of_pods)[0].starts_with("`core/v1 Pod` is Kubernetes' own: "));
    assert_eq!(warnings("create webhook --kind Foo --defaulting"), [""; 0]);
}

#[test]
fn all_errors_are_reported_at_once() {
    let bench = with_foo().after("create webhook --kind Foo --defaulting");
    for (line, codes) in [
        ("--kind Foo", &["webhook-nothing-requested"][..]),
        ("--kind Bar --defaulting", &["webhook-unknown-type"]),
        ("--kind Foo --defaulting", &["webhook-exists"]),
        ("--kind Foo --conversion", &["webhook-no-spoke"]),
        (
            "--kind Foo --defaulting --conversion --spoke v1alpha1,v2",
            &[
                "webhook-exists",
                "webhook-spoke-is-hub",
                "webhook-unknown-spoke",
            ],
        ),
        (
            "--kind Foo --programmatic-validation --validation-path /mutate-example-com-v1alpha1-foo",
            &["webhook-path-taken"],
        ),
        (
            "--group core --version v1 --kind Pod --conversion --spoke v2",
            &["webhook-core-conversion"],
        ),
    ] {
        assert_eq!(
            bench.refused(&format!("create webhook {line}")),
            codes,
            "{line}"
        );
    }
}

/// A kind whose hub is `v1alpha1`, with a controller and webhooks, and what makes `v1` the hub.
fn with_hub() -> Bench {
    with_foo()
        .after("create api --kind Foo --version v2")
        .after("create webhook --kind Foo --defaulting --conversion --spoke v1,v2")
}

const MOVE: &str = "create webhook --kind Foo --version v1 --conversion --spoke v1alpha1";
const BACK: &str = "create webhook --kind Foo --version v1alpha1 --conversion --spoke v1";

#[test]
fn another_version_becomes_the_hub_with_everything_that_belongs_to_it() {
    let bench = with_hub();
    assert_eq!(
        bench.changes(MOVE),
        [
            "insert src/lib.rs: webhook::v1::foo_defaulter::register,",
            "insert src/lib.rs: webhook::v1alpha1::foo_converter::register,",
            "insert src/webhook/v1.rs: pub mod foo_defaulter;",
            "insert src/webhook/v1alpha1.rs: pub mod foo_converter;",
            "insert tests/crash.rs: \"config/samples/v1_foo.yaml\",",
            "insert tests/it/main.rs: mod foo_v1_defaulter;",
            "insert tests/it/main.rs: mod foo_v1alpha1_converter;",
            "move src/webhook/v1/foo_converter.rs to src/webhook/v1alpha1/foo_converter.rs",
            "move src/webhook/v1alpha1/foo_defaulter.rs to src/webhook/v1/foo_defaulter.rs",
            "move tests/it/foo_v1_converter.rs to tests/it/foo_v1alpha1_converter.rs",
            "move tests/it/foo_v1alpha1_defaulter.rs to tests/it/foo_v1_defaulter.rs",
            "rewrite config/samples/v1_foo.yaml",
            "rewrite config/samples/v1alpha1_foo.yaml",
            "rewrite src/controller/foo_controller.rs",
            "rewrite src/webhook/v2/foo_converter.rs",
            "rewrite tests/it/foo_controller.rs",
            "rewrite tests/it/foo_v2_converter.rs",
            "take out src/lib.rs: webhook::v1::foo_converter::register,",
            "take out src/lib.rs: webhook::v1alpha1::foo_defaulter::register,",
            "take out src/webhook/v1.rs: pub mod foo_converter;",
            "take out src/webhook/v1alpha1.rs: pub mod foo_defaulter;",
            "take out tests/crash.rs: \"config/samples/v1alpha1_foo.yaml\",",
            "take out tests/it/main.rs: mod foo_v1_converter;",
            "take out tests/it/main.rs: mod foo_v1alpha1_defaulter;",
        ]
    );
    assert_eq!(bench.desired(MOVE).expect("no refusal").warnings, [""; 0]);
    let after = bench.after(MOVE);
    let project = after.project();
    let hub = project.hub("example.com", "Foo").expect("a hub");
    assert_eq!((hub.version.as_str(), hub.is_stored()), ("v1", true));
    assert_eq!(hub.controllers, [None]);
    assert!(hub.webhooks().defaulting);
    for text in [
        after.text("src/controller/foo_controller.rs"),
        after.text("tests/it/foo_controller.rs"),
        after.text("src/webhook/v1/foo_defaulter.rs"),
        after.text("src/webhook/v2/foo_converter.rs"),
    ] {
        assert!(!text.contains("v1alpha1"), "{text}");
    }
    assert_same(&after.after(BACK), &bench);
}

#[test]
fn what_was_edited_moves_with_the_hub() {
    let mut bench = with_hub();
    let converter = "src/webhook/v1/foo_converter.rs";
    let test = "tests/it/foo_v1_converter.rs";
    bench.edit(
        converter,
        "\nmod more;\nfn field(it: Foo) -> bool { it.hub.to_hub() }\n",
    );
    bench.edit("src/webhook/v1/foo_converter/more.rs", "// mine\n");
    bench.edit(test, "// mine\n");
    bench.edit(
        "src/controller/foo_controller.rs",
        "\ntype Old = v1alpha1::FooSpec;\n",
    );
    bench.edit("src/webhook/v1alpha1/foo_defaulter.rs", "// mine\n");
    bench.edit("src/webhook/v2/foo_converter.rs", "// mine\n");
    let after = bench.after(MOVE);

    // Each function converts what it did, under the other name.
    let before = bench.text(converter);
    let text = after.text("src/webhook/v1alpha1/foo_converter.rs");
    assert!(before.contains("type Hub = v1alpha1::Foo;\n    type Spoke = v1::Foo;\n"));
    assert!(text.contains("type Spoke = v1alpha1::Foo;\n    type Hub = v1::Foo;\n"));
    assert!(text.contains("fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke"));
    assert!(text.ends_with("fn field(it: Foo) -> bool { it.hub.to_spoke() }\n"));
    let moved = with_hub().after(MOVE);
    let first = |text: &str| text.lines().next().map(str::to_owned);
    let rendered = moved.text("src/webhook/v1alpha1/foo_converter.rs");
    assert_eq!(first(text), first(rendered));
    let more = after.text("src/webhook/v1alpha1/foo_converter/more.rs");
    assert_eq!(more, "// mine\n");
    let test = after.text("tests/it/foo_v1alpha1_converter.rs");
    assert!(test.contains("use bench::webhook::v1alpha1::foo_converter::FooConverter;\n"));
    assert!(test.contains("type Spoke = v1alpha1::Foo;\ntype Hub = v1::Foo;\n"));

    for (path, rest) in [
        (
            "src/controller/foo_controller.rs",
            "\ntype Old = v1alpha1::FooSpec;\n",
        ),
        ("src/webhook/v1/foo_defaulter.rs", "// mine\n"),
        ("src/webhook/v2/foo_converter.rs", "// mine\n"),
    ] {
        assert_eq!(after.text(path), format!("{}{rest}", moved.text(path)));
    }
    assert_eq!(
        bench.desired(MOVE).expect("no refusal").warnings,
        [
            "`src/controller/foo_controller.rs` still has the name `v1alpha1`: the code there is for `v1` now",
            "`src/webhook/v2/foo_converter.rs` was edited: its functions must convert to and from the hub `v1` now",
        ]
    );
    assert!(!after.files.contains_key(converter));
}

#[test]
fn a_crash_sample_that_its_owner_removed_stays_removed() {
    let mut bench = with_hub();
    let crash = bench.files.get_mut("tests/crash.rs").expect("a test");
    *crash = crash.replace("    \"config/samples/v1alpha1_foo.yaml\",\n", "");
    let after = bench.after(MOVE);
    assert!(!after.text("tests/crash.rs").contains("config/samples/"));
}

#[test]
fn a_version_is_retired_with_commands_alone() {
    let crd = "config/crd/bases/example.com_foos.yaml";
    let stored = |bench: &mut Bench, stored: &str| {
        let version = |name: &str| format!("  - name: {name}\n    storage: {}\n", name == stored);
        let versions = ["v1", "v1alpha1"].map(version).concat();
        let text = format!("# Generated by kbr\nspec:\n  versions:\n{versions}");
        bench.files.insert(crd.to_owned(), text);
    };
    let mut bench =
        with_foo().after("create webhook --kind Foo --defaulting --conversion --spoke v1");
    stored(&mut bench, "v1alpha1");
    let mut bench = bench.after(MOVE);
    let delete = "delete api --kind Foo --version v1alpha1";
    let refused = ["delete-may-be-stored", "delete-is-spoke"];
    assert_eq!(bench.refused(delete), refused);

    // The objects could no longer be read.
    for spoke in ["", " --spoke v1alpha1"] {
        let delete = format!("delete webhook --kind Foo --version v1 --conversion{spoke}");
        assert_eq!(bench.refused(&delete), ["delete-may-be-stored"], "{delete}");
    }

    // What `kbr manifests` does, without types.
    let remembered =
        crate::commands::storage::remembered(&bench.project(), &bench.tree()).expect("YAML");
    let list = "    storedVersions:\n    - v1\n    - v1alpha1\n";
    assert!(
        remembered.render().contains(list),
        "{}",
        remembered.render()
    );
    stored(&mut bench, "v1");
    let text = remembered.render().replace(list, "");
    bench.files.insert("PROJECT".to_owned(), text);

    let alone = bench
        .after("delete webhook --kind Foo --version v1 --conversion --spoke v1alpha1")
        .after(delete);
    let project = alone.project();
    let versions: Vec<&str> = project.apis().map(|it| it.version.as_str()).collect();
    assert_eq!(versions, ["v1"]);
    let names = alone.files.iter().filter(|(path, text)| {
        ["PROJECT", "api/", "config/", "src/", "tests/"]
            .iter()
            .any(|it| path.starts_with(it))
            && (path.contains("v1alpha1")
                || text
                    .replace("kustomize.config.k8s.io/v1alpha1", "")
                    .contains("v1alpha1"))
    });
    let names: Vec<&String> = names
        .map(|(path, _)| path)
        .filter(|it| *it != crd)
        .collect();
    assert_eq!(names, [""; 0]);
}

#[test]
fn a_webhook_of_the_new_hub_stays_and_the_other_is_named() {
    let bench = with_hub().after("create webhook --kind Foo --version v1 --defaulting");
    let warnings = bench.desired(MOVE).expect("no refusal").warnings;
    assert_eq!(
        warnings,
        [
            "`example.com/v1alpha1 Foo` keeps its defaulting webhook, because `v1` already has one: `kbr delete webhook \
             --version v1alpha1 --kind Foo --defaulting` deletes it"
        ]
    );
    let after = bench.after(MOVE);
    let defaulter = "src/webhook/v1alpha1/foo_defaulter.rs";
    assert_eq!(after.text(defaulter), bench.text(defaulter));
}

#[test]
fn modules_below_a_file_of_the_hub_follow_it() {
    // The versions, and their modules.
    for (versions, modules) in [
        (["v1alpha1", "v1"], ["v1alpha1", "v1"]),
        (["match", "kube"], ["match_", "kube_"]),
        (["v1", "a-b"], ["v1", "a_b"]),
    ] {
        let hub = |hub: &str, spoke: &str| {
            format!("create webhook --kind Foo --version {hub} --conversion --spoke {spoke}")
        };
        let [old, new] = versions;
        let start = Bench::new()
            .after(&format!("create api --kind Foo --version {old}"))
            .after(&format!(
                "create api --kind Foo --version {new} --controller=false"
            ))
            .after(&format!("{} --defaulting", hub(old, new)));
        let text = |version: &str, module: &str| {
            format!(
                "use api::{module};\nuse k8s_openapi::api::apps::{old} as apps;\n\n\
                 // +kbr:webhook:path=/a,groups=example.com,resources=foos,versions={version},name=a\n\
                 fn mine(a: {module}::Foo, b: api::{module}::FooSpec, c: k8s::{old}::Foo) {{}}\n",
                old = modules[0]
            )
        };
        let mut bench = start.clone();
        let [from, to] = modules.map(|it| format!("src/webhook/{it}/foo_defaulter/mine.rs"));
        bench.files.insert(from.clone(), text(old, modules[0]));
        let after = bench.after(&hub(new, old));
        assert_eq!(after.text(&to), text(new, modules[1]));
        assert_eq!(after.files.get(&from), None);

        // A line of the owner's is named only if it has the old version.
        let path = "src/controller/foo_controller.rs";
        let line = |module: &str| format!("\ntype Old = {module}::FooSpec;\n");
        let other = "\nfn size(of: bool) -> u8 {\n    match of {\n        _ => 0,\n    }\n}\n";
        for (owners, is_named) in [(line(modules[0]), true), (other.to_owned(), false)] {
            let mut bench = start.clone();
            bench.edit(path, &owners);
            let warnings = bench.desired(&hub(new, old)).expect("no refusal").warnings;
            let named = format!(
                "`{path}` still has the name `{}`: the code there is for `{new}` now",
                modules[0]
            );
            assert_eq!(warnings.contains(&named), is_named, "{warnings:?}");
        }
    }
}
