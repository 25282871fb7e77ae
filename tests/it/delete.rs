//! `kbr delete`: it removes everything that was created, and keeps what the user wrote.

use crate::support::report::{Outcome, Report};
use crate::support::{Sandbox, assert_same};

/// Runs a `create` command and the `delete` command that must undo it.
#[track_caller]
fn assert_undone(sandbox: &Sandbox, create: &str, delete: &str) {
    let before = sandbox.tree();
    sandbox.kbr(&format!("create {create}")).success();
    assert_ne!(before, sandbox.tree(), "{create}");
    let run = sandbox.kbr(&format!("delete {delete}")).success();
    assert_eq!(
        run.status().last().map(String::as_str),
        Some("Next kbr manifests")
    );
    assert_same(&before, &sandbox.tree());
}

#[test]
fn everything_that_was_created_is_deleted() {
    for options in ["", "--multigroup"] {
        let sandbox = Sandbox::new();
        let line = format!("init --domain example.com --project-name sandbox {options}");
        sandbox.kbr(&line).success();
        let foo = "--group batch --kind Foo";
        assert_undone(&sandbox, &format!("api {foo}"), &format!("api {foo}"));
        sandbox.kbr(&format!("create api {foo}")).success();
        let second = format!("api {foo} --version v1");
        assert_undone(&sandbox, &format!("{second} --controller=false"), &second);
        let named = format!("{foo} --controller-name second");
        assert_undone(
            &sandbox,
            &format!("api --resource=false {named}"),
            &format!("controller {named}"),
        );
        for webhook in [
            format!("webhook {foo} --defaulting --programmatic-validation"),
            "webhook --group core --version v1 --kind Pod --defaulting".to_owned(),
        ] {
            assert_undone(&sandbox, &webhook, &webhook);
        }
        sandbox
            .kbr(&format!("create {second} --controller=false"))
            .success();
        let conversion = format!("webhook {foo} --conversion");
        assert_undone(&sandbox, &format!("{conversion} --spoke v1"), &conversion);
    }
}

#[test]
fn the_status_lists_what_was_deleted() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    let run = sandbox.kbr("delete controller --kind Foo").success();
    assert_eq!(
        run.status(),
        [
            "Edited src/controller.rs",
            "Removed src/controller/foo_controller.rs",
            "Edited src/lib.rs",
            "Edited tests/crash.rs",
            "Removed tests/it/foo_controller.rs",
            "Edited tests/it/main.rs",
            "Updated PROJECT",
            "Next kbr manifests",
        ]
    );
    let run = sandbox.kbr("delete api --kind Foo").success();
    assert_eq!(
        run.status()[run.status().len() - 2],
        "Warning in a cluster, the CRD `foos.example.com` and each `Foo` still exist, with everything that they own; \
         deleting the CRD deletes all of that, and waits for finalizers, which only an operator with the controller \
         removes: delete the objects while it still runs"
    );
}

const DEFAULTER: &str = "src/webhook/v1alpha1/foo_defaulter.rs";

/// A project with a webhook that its owner has edited.
fn with_edited_webhook() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox
        .kbr("create webhook --kind Foo --defaulting")
        .success();
    let text = sandbox.read(DEFAULTER);
    sandbox.write(DEFAULTER, &format!("{text}// mine\n"));
    sandbox
}

/// What is left of an edited webhook would be called, and nobody would serve it.
#[test]
fn markers_in_what_is_left_of_an_edited_webhook_are_refused() {
    let sandbox = with_edited_webhook();
    let path = DEFAULTER;
    let run = sandbox
        .kbr("delete webhook --kind Foo --defaulting")
        .success();
    let warning = format!(
        "Warning `{path}` was edited, so it stays, but is no longer part of the project: take out what you need, \
         and delete it, because `kbr manifests` refuses its markers; with `--force`, kbr deletes such files too"
    );
    assert!(run.status().contains(&warning), "{run:?}");
    let line = sandbox
        .read(path)
        .lines()
        .position(|line| line.contains("// +kbr:webhook:"));
    let line = line.expect("a marker") + 1;
    for command in ["manifests", "manifests --check"] {
        sandbox.kbr(command).refused(
            1,
            format!(
                "error: {path}:{line}:1: `+kbr:webhook` is in a file that no `mod` declares; delete `{path}`, or write \
                 `mod foo_defaulter;` in `src/webhook/v1alpha1.rs`\n"
            ),
        );
    }
    sandbox.remove(path);
}

/// Its owner still has to delete it, wherever the rest of the project goes.
#[test]
fn what_is_left_of_an_edited_webhook_stays_in_a_project_that_moves_or_is_renamed() {
    for line in ["edit --multigroup", "rename kind --kind Foo --to Bar"] {
        let sandbox = with_edited_webhook();
        sandbox
            .kbr("delete webhook --kind Foo --defaulting")
            .success();

        sandbox.kbr(line).success();

        let left = sandbox.read(DEFAULTER);
        assert!(left.ends_with("// mine\n"), "{line}: {left}");
        let refused = sandbox.kbr("manifests").failure();
        let start = format!("error: {DEFAULTER}:");
        assert!(
            refused.stderr.starts_with(&start),
            "{line}: {}",
            refused.stderr
        );
    }
}

#[test]
fn every_outcome_is_in_the_json_document() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    let crd = "config/crd/bases/example.com_foos.yaml";
    sandbox.write(crd, "# Generated by kbr manifests.\nkind: Old\n");
    let edited = "tests/it/foo_controller.rs";
    sandbox.write(edited, "// mine\n");
    let above = sandbox.path().join("..");
    let folder = sandbox.path().display().to_string();
    let args = [
        "-C", &folder, "delete", "api", "--kind", "Foo", "--output", "json",
    ];
    let report = Report::of(&crate::support::kbr(&above, &args).success());
    assert_eq!(report.errors, []);
    let quoted = match folder.contains(' ') {
        true => format!("'{folder}'"),
        false => folder,
    };
    assert_eq!(report.next, [format!("cd {quoted} && kbr manifests")]);
    assert_eq!(report.warnings.len(), 2, "{:?}", report.warnings);
    assert!(report.warnings[0].starts_with(&format!("`{edited}` was edited, so it stays")));
    for (path, outcome) in [
        ("PROJECT", Outcome::Updated),
        ("api/src/bin/crdgen.rs", Outcome::Updated),
        ("api/src/lib.rs", Outcome::Edited),
        ("api/src/v1alpha1.rs", Outcome::Removed),
        (crd, Outcome::Removed),
        (edited, Outcome::Kept),
    ] {
        let found = report.files.iter().find(|file| file.path == path);
        assert_eq!(found.map(|file| file.outcome), Some(outcome), "{path}");
        let exists = sandbox.path().join(path).exists();
        assert_eq!(exists, outcome != Outcome::Removed, "{path}");
    }
    assert!(!sandbox.path().join("config/crd").exists());
    assert!(!sandbox.path().join("src/controller").exists());
}

#[test]
fn force_deletes_edited_files_but_none_of_the_users() {
    let sandbox = Sandbox::with_project();
    let before = sandbox.tree();
    sandbox.kbr("create api --kind Foo").success();
    sandbox.write("src/controller/foo_controller.rs", "// mine\n");
    sandbox.edit(
        "api/src/v1alpha1.rs",
        "\nmod foo_types;\n",
        "\nmod foo_types;\nmod helper;\n",
    );
    sandbox.write("api/src/v1alpha1/helper.rs", "// mine\n");
    sandbox.kbr("delete api --kind Foo --force").success();
    let mut expected = before;
    expected.insert(
        "api/src/v1alpha1/helper.rs".to_owned(),
        "// mine\n".to_owned(),
    );
    assert_same(&expected, &sandbox.tree());
}

/// A kbr that was killed leaves such folders behind.
#[test]
fn folders_whose_files_are_already_missing_are_deleted_too() {
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name sandbox --multigroup")
        .success();
    let before = sandbox.tree();
    sandbox
        .kbr("create api --group batch --kind Foo --controller=false")
        .success();
    let file = sandbox.path().join("api/src/batch/v1alpha1/foo_types.rs");
    std::fs::remove_file(file).expect("a file");
    let line = "delete api --group batch --kind Foo";
    let run = sandbox.kbr(line).success();
    assert!(!run.stderr.contains("foo_types"), "{}", run.stderr);
    assert_same(&before, &sandbox.tree());
}

#[test]
fn a_module_of_the_user_is_still_declared() {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Foo").success();
    sandbox.edit(
        "api/src/v1alpha1.rs",
        "\nmod foo_types;\n",
        "\nmod foo_types;\nmod helper;\n",
    );
    sandbox.write("api/src/v1alpha1/helper.rs", "//! Mine.\n");
    sandbox.kbr("delete api --kind Foo").success();
    assert!(
        sandbox
            .read("api/src/lib.rs")
            .contains("\npub mod v1alpha1;\n")
    );
    let module = sandbox.read("api/src/v1alpha1.rs");
    assert!(
        module.contains("\nmod helper;\n") && !module.contains("foo"),
        "{module}"
    );
    crate::support::assert_formatted(&sandbox);
}

#[test]
fn line_ends_of_windows_are_no_edit() {
    let sandbox = Sandbox::with_project();
    let before = sandbox.tree();
    sandbox.kbr("create api --kind Foo").success();
    let files = sandbox.tree().into_iter().filter(|(path, text)| {
        !before.contains_key(path) && !text.starts_with("# Generated by kbr")
    });
    for (path, text) in files {
        sandbox.write(&path, &text.replace('\n', "\r\n"));
    }

    sandbox.kbr("delete api --kind Foo").success();

    assert_same(&before, &sandbox.tree());
}
