//! What remains after a deletion, and what cannot be deleted; tested on values.

mod files;

use crate::commands::tests::Bench;
use crate::error::help_of;
use crate::plan::Outcome;
use crate::project::PROJECT_FILE;

/// Carries out `create`, then the `delete` that undoes it; every byte must be as before.
#[track_caller]
fn back(before: &Bench, create: &str, delete: &str) {
    let there = before.after(create);
    assert_ne!(there.files, before.files, "{create}");
    let plan = there.plan(delete).expect(delete);
    let is_made = |outcome| [Outcome::Created, Outcome::Kept].contains(&outcome);
    let made = plan.steps.iter().filter(|step| is_made(step.outcome));
    let made: Vec<_> = made.map(|step| &step.path).collect();
    assert!(made.is_empty(), "{delete} creates or keeps {made:?}");
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

/// A new project of each kind.
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
fn policies_are_deleted_without_a_trace() {
    let both = "--mutating --validating";
    for empty in projects() {
        let foo = empty.after("create api --kind Foo");
        for of in [
            "--kind Foo",
            "--group core --version v1 --kind Pod",
            "--group core --version v1 --kind Namespace",
        ] {
            for one in ["--mutating", "--validating", both] {
                back(
                    &foo,
                    &format!("create policy {of} {one}"),
                    &format!("delete policy {of} {one}"),
                );
            }
            back(
                &foo.after(&format!("create policy {of} --mutating")),
                &format!("create policy {of} --validating"),
                &format!("delete policy {of} --validating"),
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
            for (there, one, path) in [
                (validation, defaulting, "--defaulting-path /a"),
                (defaulting, validation, "--validation-path /b"),
            ] {
                back(
                    &three.after(&format!("create webhook {of} {there}")),
                    &format!("create webhook {of} {one} {path}"),
                    &format!("delete webhook {of} {one}"),
                );
            }
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
fn a_deleted_kind_leaves_the_other_as_if_it_were_alone() {
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
fn a_type_of_kubernetes_own_is_in_project_while_it_is_used() {
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
fn a_version_that_is_no_longer_stored_can_be_deleted() {
    let stored = |bench: &Bench, version: &str| {
        let mut bench = bench.clone();
        let text = bench.text(PROJECT_FILE).replace("\n    storage: true", "");
        let entries: Vec<&str> = text.split_inclusive("\n- ").collect();
        let entry = |entry: &&str| {
            if entry.contains(&format!("version: {version}\n")) {
                entry.replace(
                    "namespaced: true\n",
                    "namespaced: true\n    storage: true\n",
                )
            } else {
                (*entry).to_owned()
            }
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
        "it belonged to that version"
    );
}

#[test]
fn a_missing_or_needed_type_is_refused() {
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
        ("webhook --kind Foo", &["delete-nothing-requested"]),
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
        let help = help_of(&bench.plan(line).expect_err(line)).expect(line);
        let first = help
            .split("`kbr ")
            .nth(1)
            .and_then(|rest| rest.split('`').next());
        bench = bench.after(first.unwrap_or_else(|| panic!("no command: {help}")));
        bench = then
            .into_iter()
            .fold(bench, |bench, then| bench.after(then));
    }
    assert_same(&bench, &Bench::new(), "the commands from the help");
}
