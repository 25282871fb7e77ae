//! How a deletion treats files that are not as kbr wrote them, and its warnings; tested on values.

use super::assert_same;
use crate::commands::tests::Bench;
use crate::plan::Outcome;
use crate::project::PROJECT_FILE;

/// A project with `Foo` in v1alpha1, in which one file was edited.
fn edited(path: &str, text: &str) -> Bench {
    let mut bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Bar --version v1 --controller=false");
    bench.edit(path, text);
    bench
}

/// The outcome for a file.
fn outcome(bench: &Bench, line: &str, path: &str) -> Outcome {
    let plan = bench.plan(line).expect("no refusal");
    let mut steps = plan.steps.into_iter();
    steps
        .find(|step| step.path == path)
        .expect("a step")
        .outcome
}

#[test]
fn an_edited_file_stays_and_nothing_refers_to_it() {
    let path = "src/controller/foo_controller.rs";
    let bench = edited(path, "// mine\n");
    let line = "delete api --kind Foo";
    assert_eq!(outcome(&bench, line, path), Outcome::Kept);
    let warnings = bench.desired(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        format!(
            "`{path}` was edited, so it stays, but is no longer part of the project: take out what you \
             need, and delete it, because `kbr manifests` refuses its markers; with `--force`, kbr deletes \
             such files too"
        )
    );
    let left = bench.after(line);
    assert!(left.text(path).ends_with("// mine\n"));
    assert_eq!(left.refused("manifests"), ["marker-invalid"]);
    assert!(!left.text("src/controller.rs").contains("foo_controller"));
    assert!(!left.text("src/lib.rs").contains("foo_controller"));
    assert!(!left.project().files.contains_key(path));

    let bench = edited("tests/it/foo_controller.rs", "// mine\n");
    let warnings = bench.desired(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        "`tests/it/foo_controller.rs` was edited, so it stays, but is no longer part of the project: take out \
         what you need, and delete it; with `--force`, kbr deletes such files too"
    );

    let bench = edited(path, "// mine\n");
    let forced = "delete api --kind Foo --force";
    assert_eq!(outcome(&bench, forced, path), Outcome::Removed);
    assert_eq!(bench.desired(forced).expect("no refusal").warnings.len(), 1);
    let alone = Bench::new().after("create api --kind Bar --version v1 --controller=false");
    assert_same(&bench.after(forced), &alone, forced);
}

#[test]
fn a_module_that_contains_others_stays_declared() {
    let path = "api/src/v1alpha1.rs";
    let bench = edited(path, "mod helper;\n");
    let line = "delete api --kind Foo";
    assert_eq!(outcome(&bench, line, path), Outcome::Edited);
    let left = bench.after(line);
    assert!(left.text(path).contains("\nmod helper;\n"));
    assert!(!left.text(path).contains("foo_types"));
    assert!(
        left.text("api/src/lib.rs")
            .contains("\npub mod v1alpha1;\n")
    );
    let warnings = bench.desired(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        format!(
            "`{path}` was edited, so it stays, and is still part of the project because of what else it declares; with `--force`, kbr deletes such files too"
        )
    );
    let alone = Bench::new().after("create api --kind Bar --version v1 --controller=false");
    let forced = "delete api --kind Foo --force";
    assert_same(&bench.after(forced), &alone, forced);
}

#[test]
fn a_module_that_declares_one_that_stays_is_needed_too() {
    let mut bench = Bench::of("--multigroup").after("create api --kind Foo --group batch");
    bench.edit("api/src/batch/v1alpha1.rs", "mod helper;\n");
    let line = "delete api --kind Foo --group batch";
    let left = bench.after(line);
    assert!(
        left.text("api/src/batch.rs")
            .contains("\npub mod v1alpha1;\n")
    );
    assert!(left.text("api/src/lib.rs").contains("\npub mod batch;\n"));
    assert!(!left.files.contains_key("src/controller/batch.rs"));
    assert!(!left.text("src/controller.rs").contains("batch"));
    let warnings = bench.desired(line).expect("no refusal").warnings;
    assert_eq!(warnings.len(), 2, "one file was edited: {warnings:?}");
}

#[test]
fn the_folder_of_crds_is_deployed_while_it_contains_one() {
    let path = "config/crd/kustomization.yaml";
    let default = "config/default/kustomization.yaml";
    let mut bench = Bench::new().after("create api --kind Foo");
    let text = bench
        .text(path)
        .replace("resources:\n", "resources:\n- theirs.yaml\n");
    bench.files.insert(path.to_owned(), text);
    let left = bench.after("delete api --kind Foo");
    assert!(left.text(path).contains("\n- theirs.yaml\n"));
    assert!(left.text(default).contains("\n- ../crd\n"));

    let mut bench = Bench::new().after("create api --kind Foo");
    bench.edit(path, "# mine\n");
    let left = bench.after("delete api --kind Foo");
    assert!(left.text(path).ends_with("# mine\n"));
    assert!(
        !left.text(default).contains("- ../crd"),
        "kustomize builds no empty folder"
    );
}

#[test]
fn lines_that_somebody_has_moved_are_reported() {
    let mut bench = Bench::new().after("create api --kind Foo");
    let line = "controller::foo_controller::register,";
    let lib = bench
        .text("src/lib.rs")
        .replace(&format!("    {line}\n"), "");
    bench.files.insert("src/lib.rs".to_owned(), lib);
    let tests = bench
        .text("tests/it/main.rs")
        .replace("mod foo_controller;\n", "");
    bench.files.insert(
        "tests/it/main.rs".to_owned(),
        format!("{tests}\nmod foo_controller;\n"),
    );
    let mut warnings = bench
        .desired("delete controller --kind Foo")
        .expect("no refusal")
        .warnings;
    assert_eq!(
        warnings.pop().as_deref(),
        Some(
            "`tests/it/main.rs` still has the line `mod foo_controller;`, not directly above \
             `// +kbr:scaffold:modules`: remove it"
        )
    );
    assert!(warnings.is_empty(), "{warnings:?}");
}

#[test]
fn files_that_are_already_missing_are_no_error() {
    let mut bench = Bench::new().after("create api --kind Foo");
    for path in [
        "src/controller.rs",
        "src/controller/foo_controller.rs",
        "config/rbac/kustomization.yaml",
    ] {
        bench.files.remove(path);
    }
    let left = bench.after("delete api --kind Foo");
    assert!(!left.files.contains_key("tests/it/foo_controller.rs"));
    assert!(!left.text(PROJECT_FILE).contains("foo"));
}

#[test]
fn its_generated_manifests_are_removed_too() {
    let crd = |kind: &str| format!("config/crd/bases/example.com_{kind}s.yaml");
    let hooks = "config/webhook/manifests.yaml";
    let mut bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false")
        .after("create api --kind Bar")
        .after("create webhook --kind Foo --conversion --spoke v1")
        .after("create webhook --kind Bar --defaulting --programmatic-validation");
    for path in [&crd("foo"), &crd("bar"), hooks] {
        bench.edit(path, "# Generated by kbr manifests.\n");
    }
    let bench = bench.after("delete webhook --kind Bar --defaulting");
    assert!(
        bench.files.contains_key(hooks),
        "it contains the other webhook"
    );
    let bench = bench.after("delete webhook --kind Bar --programmatic-validation");
    assert!(!bench.files.contains_key(hooks));
    assert!(
        bench.files.contains_key("config/webhook/service.yaml"),
        "for the conversion"
    );
    let bench = bench.after("delete webhook --kind Foo --conversion");
    assert!(
        !bench
            .files
            .keys()
            .any(|path| path.starts_with("config/webhook/"))
    );

    let mut bench = bench.after("delete api --kind Foo --version v1");
    assert!(
        bench.files.contains_key(&crd("foo")),
        "it has another version"
    );
    bench.files.insert(crd("bar"), "mine\n".to_owned());
    let bench = bench
        .after("delete api --kind Foo")
        .after("delete api --kind Bar");
    assert!(!bench.files.contains_key(&crd("foo")));
    assert_eq!(bench.text(&crd("bar")), "mine\n");
}

#[test]
fn warnings_explain_what_it_means_for_a_cluster() {
    let bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false")
        .after("create api --kind Foo --version v2 --controller=false");
    let warnings = |bench: &Bench, line: &str| {
        let mut warnings = bench.desired(line).expect("no refusal").warnings;
        assert_eq!(warnings.len(), 1, "{warnings:?}");
        warnings.remove(0)
    };
    let version = warnings(&bench, "delete api --kind Foo --version v1");
    assert!(
        version.starts_with("a cluster refuses the CRD `foos.example.com` without `v1` "),
        "{version}"
    );
    let alone = Bench::new().after("create api --kind Foo");
    let kind = warnings(&alone, "delete api --kind Foo");
    assert!(
        kind.contains(
            "the CRD `foos.example.com` and each `Foo` still exist, with everything that they own"
        ),
        "{kind}"
    );
    assert!(kind.contains("finalizers"), "{kind}");
    assert!(!kind.contains("kubectl"), "{kind}");

    let hooked = bench.after("create webhook --kind Foo --defaulting");
    let hook = warnings(&hooked, "delete webhook --kind Foo --defaulting");
    let until = "until the MutatingWebhookConfiguration `bench-mutating-webhook-configuration` is deleted there";
    assert!(hook.ends_with(until), "{hook}");
    let pod = hooked.after("create webhook --group core --version v1 --kind Pod --defaulting");
    let one_of_two = pod
        .desired("delete webhook --kind Foo --defaulting")
        .expect("no refusal");
    assert_eq!(
        one_of_two.warnings, [""; 0],
        "the configuration contains the other webhook"
    );

    let converted = bench.after("create webhook --kind Foo --conversion --spoke v1,v2");
    let spoke = warnings(
        &converted,
        "delete webhook --kind Foo --conversion --spoke v1",
    );
    assert!(spoke.contains("but nothing converts v1: "), "{spoke}");
    let all = warnings(&converted, "delete webhook --kind Foo --conversion");
    assert!(
        all.starts_with("without a conversion, the API server changes only the `apiVersion`"),
        "{all}"
    );
}

#[test]
fn objects_that_tests_would_still_apply_are_reported() {
    let mut bench = edited("tests/stored/v1alpha1_foo.yaml", "# mine\n");
    let first = bench.text("tests/stored/v1alpha1_foo.yaml").to_owned();
    let json = r#"{"apiVersion": "example.com/v1alpha1", "kind": "Foo"}"#;
    for (name, text) in [
        ("older.json", json),
        ("older.yaml", &first),
        ("older.yml", &first),
        ("older.txt", &first),
    ] {
        let path = format!("tests/stored/{name}");
        bench.files.insert(path, text.to_owned());
    }
    let warnings = bench
        .desired("delete api --kind Foo")
        .expect("no refusal")
        .warnings;
    let named: Vec<&str> = warnings
        .iter()
        .filter_map(|it| {
            it.strip_suffix(" is an object of the deleted type: the tests fail until it is deleted")
        })
        .collect();
    assert_eq!(
        named,
        [
            "`tests/stored/older.json`",
            "`tests/stored/older.yaml`",
            "`tests/stored/older.yml`",
            "`tests/stored/v1alpha1_foo.yaml`"
        ]
    );
    let bench = bench.after("delete api --kind Bar --version v1");
    let warnings = bench
        .desired("delete api --kind Foo")
        .expect("no refusal")
        .warnings;
    assert!(
        !warnings.iter().any(|it| it.contains("the tests fail")),
        "no test remains: {warnings:?}"
    );
}
