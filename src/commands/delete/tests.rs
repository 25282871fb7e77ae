//! What deleting leaves, and what cannot be deleted; on values.

use crate::commands::tests::Bench;
use crate::plan::Outcome;
use crate::project::PROJECT_FILE;

/// Carries out `create`, then what takes it back; every byte must be as before.
#[track_caller]
fn back(before: &Bench, create: &str, delete: &str) {
    let there = before.after(create);
    assert_ne!(there.files, before.files, "{create}");
    let plan = there.plan(delete).expect(delete);
    let is_made = |outcome| [Outcome::Created, Outcome::Kept].contains(&outcome);
    let made = plan.steps.iter().filter(|step| is_made(step.outcome));
    let made: Vec<_> = made.map(|step| &step.path).collect();
    assert!(made.is_empty(), "{delete} makes or leaves {made:?}");
    assert_same(&there.after(delete), before, delete);
}

#[track_caller]
fn assert_same(one: &Bench, other: &Bench, what: &str) {
    for (path, text) in &one.files {
        assert_eq!(other.files.get(path), Some(text), "{path} after {what}");
    }
    let paths = |bench: &Bench| bench.files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(paths(one), paths(other), "{what}");
}

/// A project as each kind of it begins.
fn projects() -> [Bench; 3] {
    [
        Bench::new(),
        Bench::of("--multigroup"),
        Bench::of("--namespaced --license none"),
    ]
}

#[test]
fn what_was_created_is_deleted_without_a_trace() {
    for empty in projects() {
        for group in ["", " --group batch"] {
            let foo = &format!("--kind Foo{group}");
            let api = &format!("delete api {foo}");
            back(&empty, &format!("create api {foo} --controller=false"), api);
            back(&empty, &format!("create api {foo}"), api);
            let named = "--controller-name foo-two";
            back(&empty, &format!("create api {foo} {named}"), api);

            let with_type = empty.after(&format!("create api {foo} --controller=false"));
            let alone = &format!("create api {foo} --resource=false");
            let controller = &format!("delete controller {foo}");
            back(&with_type, alone, controller);
            back(
                &with_type,
                &format!("{alone} {named}"),
                &format!("{controller} {named}"),
            );

            let with_foo = empty.after(&format!("create api {foo}"));
            back(
                &with_foo,
                &format!("{alone} {named}"),
                &format!("{controller} {named}"),
            );
            let v2 = &format!("{foo} --version v2");
            back(
                &with_foo,
                &format!("create api {v2} --controller=false"),
                &format!("delete api {v2}"),
            );
            let bar = &format!("--kind Bar{group} --version v2 --plural barres");
            back(
                &with_foo,
                &format!("create api {bar}"),
                &format!("delete api --kind Bar{group} --version v2"),
            );
        }
    }
}

#[test]
fn webhooks_are_deleted_without_a_trace() {
    let (defaulting, validation) = ("--defaulting", "--programmatic-validation");
    let both = "--defaulting --programmatic-validation";
    let paths = "--defaulting-path /a --validation-path /b";
    for empty in projects() {
        let three = ["v1alpha1", "v1", "v2"]
            .iter()
            .fold(empty, |bench, version| {
                let controller = *version == "v1";
                bench.after(&format!(
                    "create api --kind Foo --version {version} --controller={controller}"
                ))
            });
        let pod = "--group core --version v1 --kind Pod";
        for of in ["--kind Foo", pod] {
            for one in [defaulting, validation, both] {
                back(
                    &three,
                    &format!("create webhook {of} {one}"),
                    &format!("delete webhook {of} {one}"),
                );
            }
            back(
                &three,
                &format!("create webhook {of} {both} {paths}"),
                &format!("delete webhook {of} {both}"),
            );
            let first = three.after(&format!("create webhook {of} {validation}"));
            back(
                &first,
                &format!("create webhook {of} {defaulting}"),
                &format!("delete webhook {of} {defaulting}"),
            );
        }
        let hub = "--kind Foo --version v1 --conversion";
        let create = |spokes: &str| format!("create webhook {hub} --spoke {spokes}");
        let delete = |spokes: &str| format!("delete webhook {hub} --spoke {spokes}");
        let all = &format!("delete webhook {hub}");
        back(&three, &create("v2"), all);
        back(&three, &create("v2"), &delete("v2"));
        back(&three, &create("v2,v1alpha1"), all);
        back(&three, &create("v2,v1alpha1"), &delete("v1alpha1,v2"));
        let one = three.after(&create("v1alpha1"));
        back(&one, &create("v2"), &delete("v2"));
        let hooked = three.after(&format!("create webhook --kind Foo --version v2 {both}"));
        back(&hooked, &create("v2"), all);
        back(
            &three,
            &format!("create webhook {hub} --spoke v2 {both}"),
            &format!("{all} {both}"),
        );
    }
}

#[test]
fn the_second_of_two_kinds_leaves_the_first_as_if_it_were_alone() {
    let (foo, bar) = ("create api --kind Foo", "create api --kind Bar");
    let hook = "create webhook --kind Bar --defaulting";
    for empty in projects() {
        let both = empty.after(foo).after(bar).after(hook);
        let left = both.after("delete webhook --kind Bar --defaulting");
        assert_same(
            &left.after("delete api --kind Bar"),
            &empty.after(foo),
            "Bar",
        );
        let left = both.after("delete api --kind Foo");
        assert_same(&left, &empty.after(bar).after(hook), "Foo");
    }
}

#[test]
fn a_type_of_kubernetes_own_is_in_project_for_as_long_as_it_has_something() {
    let empty = Bench::new();
    let job = "--group batch --version v1 --kind Job";
    let both = empty.after(&format!(
        "create webhook {job} --defaulting --programmatic-validation"
    ));
    let left = both.after(&format!("delete webhook {job} --defaulting"));
    assert_eq!(left.project().resources.len(), 1);
    let left = left.after(&format!("delete webhook {job} --programmatic-validation"));
    assert_same(&left, &empty, job);
    // As it may be typed after `create`.
    let ingress = "--group networking --version v1 --kind Ingress --defaulting";
    back(
        &empty,
        &format!("create webhook {ingress}"),
        &format!("delete webhook {ingress}"),
    );
}

#[test]
fn a_version_that_is_stored_no_longer_can_go() {
    let stored = |bench: &Bench, version: &str| {
        let mut bench = bench.clone();
        let text = bench.text(PROJECT_FILE).replace("\n    storage: true", "");
        let entries: Vec<&str> = text.split_inclusive("\n- ").collect();
        let entry = |entry: &&str| match entry.contains(&format!("version: {version}\n")) {
            true => entry.replace(
                "namespaced: true\n",
                "namespaced: true\n    storage: true\n",
            ),
            false => (*entry).to_owned(),
        };
        let text = entries.iter().map(entry).collect();
        bench.files.insert(PROJECT_FILE.to_owned(), text);
        bench
    };
    let two = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false");
    assert_eq!(
        two.refused("delete api --kind Foo"),
        ["delete-stored-version"]
    );
    let left = stored(&two, "v1").after("delete api --kind Foo");
    let apis: Vec<String> = left
        .project()
        .apis()
        .map(|api| api.gvk().to_string())
        .collect();
    assert_eq!(apis, ["example.com/v1 Foo"]);
    assert!(
        !left.files.contains_key("src/controller/foo_controller.rs"),
        "it was that version's"
    );
}

#[test]
fn what_is_not_there_or_needed_is_refused() {
    let bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false")
        .after("create api --kind Foo --version v2 --controller=false")
        .after("create webhook --kind Foo --version v1 --conversion --spoke v2 --defaulting")
        .after("create webhook --group core --version v1 --kind Pod --defaulting");
    let pod = "--group core --version v1 --kind Pod";
    for (line, codes) in [
        ("api --kind Bar", &["delete-unknown-type"][..]),
        ("api --kind Foo --version v3", &["delete-unknown-type"]),
        ("api --kind Foo --group batch", &["delete-unknown-type"]),
        (&format!("api {pod}"), &["delete-not-own"]),
        ("api --kind Foo", &["delete-stored-version"]),
        ("api --kind Foo --version v1", &["delete-has-webhooks"]),
        ("api --kind Foo --version v2", &["delete-is-spoke"]),
        ("webhook --kind Bar --defaulting", &["delete-unknown-type"]),
        ("webhook --kind Foo", &["delete-nothing-wanted"]),
        ("webhook --kind Foo --defaulting", &["delete-no-admission"]),
        ("webhook --kind Foo --conversion", &["delete-no-conversion"]),
        (
            "webhook --kind Foo --version v1 --programmatic-validation --conversion --spoke v2,v3,v1alpha1",
            &["delete-no-admission", "delete-no-spoke", "delete-no-spoke"],
        ),
        (
            &format!("webhook {pod} --conversion"),
            &["delete-no-conversion"],
        ),
        ("controller --kind Bar", &["delete-unknown-type"]),
        (
            "controller --kind Foo --version v1",
            &["delete-no-controller"],
        ),
        (
            "controller --kind Foo --controller-name foo",
            &["delete-no-controller"],
        ),
        (&format!("controller {pod}"), &["delete-no-controller"]),
    ] {
        assert_eq!(bench.refused(&format!("delete {line}")), codes, "{line}");
    }
}

#[test]
fn each_refusal_says_what_to_type_first_and_that_works() {
    let mut bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false")
        .after("create webhook --kind Foo --defaulting --programmatic-validation --conversion --spoke v1")
        .after("create webhook --group core --version v1 --kind Pod --defaulting");
    for (line, then) in [
        ("delete api --group core --version v1 --kind Pod", None),
        (
            "delete api --kind Foo --version v1",
            Some("delete api --kind Foo --version v1"),
        ),
        ("delete api --kind Foo", Some("delete api --kind Foo")),
    ] {
        let help = bench.plan(line).expect_err(line).help();
        let first = help
            .split("`kbr ")
            .nth(1)
            .and_then(|rest| rest.split('`').next());
        bench = bench.after(first.unwrap_or_else(|| panic!("no command: {help}")));
        bench = then
            .into_iter()
            .fold(bench, |bench, then| bench.after(then));
    }
    assert_same(&bench, &Bench::new(), "what each help says");
}

/// A project with `Foo` in v1alpha1, of which one file says something else.
fn edited(path: &str, text: &str) -> Bench {
    let mut bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Bar --version v1 --controller=false");
    bench.edit(path, text);
    bench
}

/// Outcomes of the files that are not as they were made by kbr.
fn outcome(bench: &Bench, line: &str, path: &str) -> Outcome {
    let plan = bench.plan(line).expect("no refusal");
    let mut steps = plan.steps.into_iter();
    steps
        .find(|step| step.path == path)
        .expect("a step")
        .outcome
}

#[test]
fn a_file_that_was_edited_stays_and_nothing_names_it() {
    let path = "src/controller/foo_controller.rs";
    let bench = edited(path, "// mine\n");
    let line = "delete api --kind Foo";
    assert_eq!(outcome(&bench, line, path), Outcome::Kept);
    let warnings = bench.wanted(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        format!(
            "`{path}` was edited: it is still there, and no longer part of the project, but `kbr \
             manifests` still reads its markers; delete it yourself, or type `--force` for all that \
             was edited"
        )
    );
    let left = bench.after(line);
    assert!(left.text(path).ends_with("// mine\n"));
    assert!(!left.text("src/controller.rs").contains("foo_controller"));
    assert!(!left.text("src/lib.rs").contains("foo_controller"));
    assert!(!left.project().files.contains_key(path));

    let bench = edited("tests/it/foo_controller.rs", "// mine\n");
    let warnings = bench.wanted(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        "`tests/it/foo_controller.rs` was edited: it is still there, and no longer part of the project; delete it \
         yourself, or type `--force` for all that was edited"
    );

    let bench = edited(path, "// mine\n");
    let forced = "delete api --kind Foo --force";
    assert_eq!(outcome(&bench, forced, path), Outcome::Removed);
    assert_eq!(bench.wanted(forced).expect("no refusal").warnings.len(), 1);
    let alone = Bench::new().after("create api --kind Bar --version v1 --controller=false");
    assert_same(&bench.after(forced), &alone, forced);
}

#[test]
fn a_module_with_others_in_it_stays_and_is_declared() {
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
    let warnings = bench.wanted(line).expect("no refusal").warnings;
    assert_eq!(
        warnings[0],
        format!(
            "`{path}` was edited: it is still there, and still part of the project for what else it \
             names; `--force` would delete it"
        )
    );
    let alone = Bench::new().after("create api --kind Bar --version v1 --controller=false");
    let forced = "delete api --kind Foo --force";
    assert_same(&bench.after(forced), &alone, forced);
}

#[test]
fn what_declares_a_module_that_stays_is_needed_too() {
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
    let warnings = bench.wanted(line).expect("no refusal").warnings;
    assert_eq!(warnings.len(), 2, "one file was edited: {warnings:?}");
}

#[test]
fn the_folder_of_crds_is_deployed_for_as_long_as_it_has_one() {
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
fn lines_that_somebody_has_moved_are_named() {
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
        .wanted("delete controller --kind Foo")
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
fn files_that_are_gone_already_are_no_trouble() {
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
fn what_manifests_made_for_it_goes_too() {
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
        "the other webhook is in it"
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
fn what_it_means_for_a_cluster_is_said() {
    let bench = Bench::new()
        .after("create api --kind Foo")
        .after("create api --kind Foo --version v1 --controller=false")
        .after("create api --kind Foo --version v2 --controller=false");
    let warnings = |bench: &Bench, line: &str| {
        let mut warnings = bench.wanted(line).expect("no refusal").warnings;
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
        kind.contains("`kubectl delete crd foos.example.com` deletes all of them"),
        "{kind}"
    );

    let hooked = bench.after("create webhook --kind Foo --defaulting");
    let hook = warnings(&hooked, "delete webhook --kind Foo --defaulting");
    let command =
        "`kubectl delete mutatingwebhookconfiguration bench-mutating-webhook-configuration`";
    assert!(hook.ends_with(command), "{hook}");
    let pod = hooked.after("create webhook --group core --version v1 --kind Pod --defaulting");
    let one_of_two = pod
        .wanted("delete webhook --kind Foo --defaulting")
        .expect("no refusal");
    assert_eq!(
        one_of_two.warnings, [""; 0],
        "the configuration has the other one"
    );

    let converted = bench.after("create webhook --kind Foo --conversion --spoke v1,v2");
    let spoke = warnings(
        &converted,
        "delete webhook --kind Foo --conversion --spoke v1",
    );
    assert!(spoke.contains("nobody answers for v1: "), "{spoke}");
    let all = warnings(&converted, "delete webhook --kind Foo --conversion");
    assert!(
        all.starts_with("without a conversion the API server changes nothing but `apiVersion`"),
        "{all}"
    );
}

#[test]
fn objects_that_tests_would_go_on_to_apply_are_named() {
    let mut bench = edited("tests/stored/v1alpha1_foo.yaml", "# mine\n");
    let first = bench.text("tests/stored/v1alpha1_foo.yaml").to_owned();
    bench
        .files
        .insert("tests/stored/older.yaml".to_owned(), first);
    let warnings = bench
        .wanted("delete api --kind Foo")
        .expect("no refusal")
        .warnings;
    let named: Vec<&str> = warnings
        .iter()
        .filter_map(|it| {
            it.strip_suffix(
                " is an object of the type that goes: the tests fail until it is deleted",
            )
        })
        .collect();
    assert_eq!(
        named,
        [
            "`tests/stored/older.yaml`",
            "`tests/stored/v1alpha1_foo.yaml`"
        ]
    );
    let bench = bench.after("delete api --kind Bar --version v1");
    let warnings = bench
        .wanted("delete api --kind Foo")
        .expect("no refusal")
        .warnings;
    assert!(
        !warnings.iter().any(|it| it.contains("the tests fail")),
        "no test is left: {warnings:?}"
    );
}
