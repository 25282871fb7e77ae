//! The changes for a new API, and the conflicts with existing ones; tested on values.

use std::collections::BTreeSet;

use crate::commands::tests::Bench;
use crate::layout;
use crate::plan::Outcome;
use crate::project::{PROJECT_FILE, Project};

#[test]
fn the_first_type_adds_its_version_and_what_all_types_share() {
    assert_eq!(
        Bench::new().changes("create api --kind Foo --controller=false"),
        [
            "create api/src/v1alpha1.rs",
            "create api/src/v1alpha1/foo_types.rs",
            "create config/crd/kustomization.yaml",
            "create config/rbac/foo_admin_role.yaml",
            "create config/rbac/foo_editor_role.yaml",
            "create config/rbac/foo_viewer_role.yaml",
            "create config/samples/kustomization.yaml",
            "create config/samples/v1alpha1_foo.yaml",
            "create tests/it/samples.rs",
            "create tests/stored/v1alpha1_foo.yaml",
            "generate api/src/bin/crdgen.rs",
            "insert api/src/lib.rs: pub mod v1alpha1;",
            "insert api/src/v1alpha1.rs: mod foo_types;",
            "insert api/src/v1alpha1.rs: pub use foo_types::*;",
            "insert config/crd/kustomization.yaml: - \"bases/example.com_foos.yaml\"",
            "insert config/default/kustomization.yaml: - ../crd",
            "insert config/rbac/kustomization.yaml: - foo_admin_role.yaml",
            "insert config/rbac/kustomization.yaml: - foo_editor_role.yaml",
            "insert config/rbac/kustomization.yaml: - foo_viewer_role.yaml",
            "insert config/samples/kustomization.yaml: - \"v1alpha1_foo.yaml\"",
            "insert tests/it/main.rs: mod samples;",
        ]
    );
}

#[test]
fn a_type_may_have_every_name_that_kubernetes_and_rust_accept() {
    let of = |version: &str| format!("create api --kind postgresql --version {version}");
    let warnings = |bench: &Bench, line: &str| bench.desired(line).expect("no refusal").warnings;
    let undo = "; `kbr delete api --version match --kind postgresql` undoes this";
    let expected = [
        "the kind `postgresql` is not in upper camel case; its type in Rust is `Postgresql`",
        "the version `match` does not have a form such as `v1` or `v1beta2`: Kubernetes sorts it after those that have; \
         its module in Rust is `match_`",
    ];
    let bench = Bench::new();
    let line = of("match");
    assert_eq!(
        warnings(&bench, &line),
        expected.map(|warning| format!("{warning}{undo}"))
    );
    let bench = bench.after(&line);
    let types = bench.text("api/src/match_/postgresql_types.rs");
    for part in [
        "version = \"match\"",
        "kind = \"postgresql\"",
        "root = \"Postgresql\"",
        "pub struct PostgresqlSpec",
    ] {
        assert!(types.contains(part), "{part} in {types}");
    }
    let next = of("v1") + " --controller=false";
    assert_eq!(warnings(&bench, &next), [""; 0]);
    let deleted = bench.after("delete api --version match --kind postgresql");
    assert_eq!(deleted.project(), Bench::new().project());
}

#[test]
fn the_samples_of_all_versions_have_names_that_differ_and_fit() {
    for kind in ["A".to_owned(), "A".repeat(30), "A".repeat(59)] {
        let create = format!("create api --controller=false --kind {kind} --version ");
        let mut bench = Bench::small("").after(&format!("{create}v1"));
        let lengths = [2, 30, 31, 56, 57, 63];
        for length in lengths {
            bench = bench.after(&format!("{create}{}", "v".repeat(length)));
        }
        let samples = bench.files.iter();
        let samples = samples.filter(|(path, _)| path.starts_with(layout::SAMPLES));
        let names = samples.filter_map(|(_, text)| {
            let mut lines = text.lines();
            lines.find_map(|line| line.strip_prefix("  name: \"")?.strip_suffix('"'))
        });
        let names: BTreeSet<&str> = names.collect();
        assert_eq!(names.len(), lengths.len() + 1, "{names:?}");
        assert!(names.iter().all(|name| name.len() <= 63), "{names:?}");
    }
}

#[test]
fn a_controller_adds_two_files_and_the_lines_that_refer_to_it() {
    let bench = Bench::new().after("create api --kind Foo --controller=false");
    assert_eq!(
        bench.changes("create api --kind Foo --resource=false"),
        [
            "create src/controller/foo_controller.rs",
            "create tests/it/foo_controller.rs",
            "insert src/controller.rs: pub mod foo_controller;",
            "insert src/lib.rs: controller::foo_controller::register,",
            "insert tests/crash.rs: \"config/samples/v1alpha1_foo.yaml\",",
            "insert tests/it/main.rs: mod foo_controller;",
        ]
    );
}

#[test]
fn a_controller_for_a_type_of_kubernetes_own_adds_no_type() {
    let line = "create api --group apps --version v1 --kind Deployment --resource=false";
    let bench = Bench::new();
    assert_eq!(
        bench.changes(line),
        [
            "create src/controller/deployment_controller.rs",
            "create tests/it/deployment_controller.rs",
            "insert src/controller.rs: pub mod deployment_controller;",
            "insert src/lib.rs: controller::deployment_controller::register,",
            "insert tests/it/main.rs: mod deployment_controller;",
        ]
    );
    let bench = bench.after(line);
    assert_eq!(
        bench.changes(&format!("{line} --controller-name rollout")),
        [
            "create src/controller/rollout_controller.rs",
            "create tests/it/rollout_controller.rs",
            "insert src/controller.rs: pub mod rollout_controller;",
            "insert src/lib.rs: controller::rollout_controller::register,",
            "insert tests/it/main.rs: mod rollout_controller;",
        ]
    );
}

#[test]
fn a_webhook_and_a_controller_for_a_type_of_kubernetes_own_give_the_same_in_either_order() {
    let pod = "--group core --version v1 --kind Pod";
    let controller = format!("create api {pod} --resource=false");
    let webhook = format!("create webhook {pod} --defaulting");
    let there = Bench::new().after(&controller).after(&webhook);
    let back = Bench::new().after(&webhook).after(&controller);
    assert_eq!(there.files, back.files);
}

#[test]
fn a_second_kind_adds_only_its_own_files() {
    let bench = Bench::new().after("create api --kind Foo");
    assert_eq!(
        bench.changes("create api --kind Bar"),
        [
            "create api/src/v1alpha1/bar_types.rs",
            "create config/rbac/bar_admin_role.yaml",
            "create config/rbac/bar_editor_role.yaml",
            "create config/rbac/bar_viewer_role.yaml",
            "create config/samples/v1alpha1_bar.yaml",
            "create src/controller/bar_controller.rs",
            "create tests/it/bar_controller.rs",
            "create tests/stored/v1alpha1_bar.yaml",
            "generate api/src/bin/crdgen.rs",
            "insert api/src/v1alpha1.rs: mod bar_types;",
            "insert api/src/v1alpha1.rs: pub use bar_types::*;",
            "insert config/crd/kustomization.yaml: - \"bases/example.com_bars.yaml\"",
            "insert config/rbac/kustomization.yaml: - bar_admin_role.yaml",
            "insert config/rbac/kustomization.yaml: - bar_editor_role.yaml",
            "insert config/rbac/kustomization.yaml: - bar_viewer_role.yaml",
            "insert config/samples/kustomization.yaml: - \"v1alpha1_bar.yaml\"",
            "insert src/controller.rs: pub mod bar_controller;",
            "insert src/lib.rs: controller::bar_controller::register,",
            "insert tests/crash.rs: \"config/samples/v1alpha1_bar.yaml\",",
            "insert tests/it/main.rs: mod bar_controller;",
        ]
    );
}

#[test]
fn a_second_version_leaves_roles_controller_and_stored_version_unchanged() {
    let bench = Bench::new().after("create api --kind Foo");
    let line = "create api --kind Foo --version v1";
    assert_eq!(
        bench.changes(line),
        [
            "create api/src/v1.rs",
            "create api/src/v1/foo_types.rs",
            "create config/samples/v1_foo.yaml",
            "create tests/stored/v1_foo.yaml",
            "generate api/src/bin/crdgen.rs",
            "insert api/src/lib.rs: pub mod v1;",
            "insert api/src/v1.rs: mod foo_types;",
            "insert api/src/v1.rs: pub use foo_types::*;",
            "insert config/samples/kustomization.yaml: - \"v1_foo.yaml\"",
        ]
    );
    let project = bench.desired(line).expect("no refusal").project;
    let stored = project.expect("PROJECT changes");
    let stored = stored
        .apis()
        .map(|api| (api.version.as_str(), api.is_stored()));
    let mut stored: Vec<(&str, bool)> = stored.collect();
    stored.sort_unstable();
    assert_eq!(stored, [("v1", false), ("v1alpha1", true)]);
}

#[test]
fn force_rewrites_a_file_and_duplicates_no_line() {
    let mut bench = Bench::new().after("create api --kind Foo");
    let line = "create api --kind Foo --controller=false --force";
    let plan = bench.plan(line).expect("no refusal");
    assert_eq!(plan.changing().count(), 0, "everything exists");

    let types = "api/src/v1alpha1/foo_types.rs";
    bench.files.insert(types.to_owned(), "mine\n".to_owned());
    let plan = bench.plan(line).expect("no refusal");
    let changing: Vec<_> = plan
        .changing()
        .map(|step| (&*step.path, step.outcome))
        .collect();
    assert_eq!(changing, [(types, Outcome::Updated)]);
}

#[test]
fn the_order_of_kinds_leaves_no_trace() {
    let lines = [
        "create api --kind Foo",
        "create api --kind Bar --version v1",
        "create api --kind Baz --controller=false",
    ];
    let there = lines
        .iter()
        .fold(Bench::new(), |bench, line| bench.after(line));
    let lines = lines.iter().rev();
    let back = lines.fold(Bench::new(), |bench, line| bench.after(line));
    assert_eq!(there.files, back.files);
}

#[test]
fn project_has_the_resource_and_a_hash_of_each_file() {
    let bench = Bench::new();
    let plan = bench.plan("create api --kind Foo").expect("no refusal");
    let last = plan.steps.last().expect("a step");
    assert_eq!(
        (&*last.path, last.outcome),
        (PROJECT_FILE, Outcome::Updated)
    );
    let text = last.after.as_deref().expect("a text");
    let project = Project::parse(text).expect("a valid PROJECT");
    assert_eq!(project.apis().count(), 1);
    for step in &plan.steps {
        let is_known = project.files.contains_key(&step.path);
        let has_none = [PROJECT_FILE, layout::CRDGEN].contains(&&*step.path);
        assert_eq!(is_known, !has_none, "{}", step.path);
    }
}

#[test]
fn conflicts_with_existing_apis_are_refused() {
    let bench = Bench::new().after("create api --kind Foo --group batch --version v1");
    for (line, code) in [
        ("--kind Foo --group batch --version v1", "api-exists"),
        (
            "--kind Foo --group batch --version v1 --resource=false",
            "api-controller-exists",
        ),
        (
            "--kind Foo --group batch --version v2 --controller",
            "api-controller-exists",
        ),
        (
            "--kind Bar --group batch --resource=false",
            "api-unknown-type",
        ),
        (
            "--kind Bar --group batch --resource=false --controller=false",
            "api-nothing-requested",
        ),
        ("--kind Bar --group other", "api-second-group"),
        (
            "--kind Bar --group batch --version bench",
            "api-version-clash",
        ),
        (
            "--kind Foo --group batch --version v2 --namespaced=false",
            "api-scope-differs",
        ),
        ("--kind FooList --group batch", "api-kind-clash"),
        ("--kind Bar --group batch --plural foos", "api-kind-clash"),
        (
            "--kind Foo --group batch --version v2 --plural fooes",
            "api-plural-differs",
        ),
    ] {
        assert_eq!(
            bench.refused(&format!("create api {line}")),
            [code],
            "{line}"
        );
    }
}
