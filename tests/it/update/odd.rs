//! Odd files, and odd repositories.

use std::fs;

use crate::support::report::{Outcome, Report};
use crate::support::{REPOSITORY, Sandbox, commit, git, kbr};

use super::{age, aged, project};
use crate::support::releases::UP_TO_DATE;

#[test]
fn in_a_folder_of_a_repository_the_advice_is_for_that_folder() {
    let sandbox = Sandbox::new();
    sandbox.kbr("init op --domain example.com").success();
    git(&sandbox, "init --quiet");
    commit(&sandbox);
    sandbox.write("op/Makefile", "mine\n");
    sandbox.write("elsewhere", "mine\n");

    let run = kbr(sandbox.path(), &["-C", "op", "update"]);

    run.refused(
        1,
        "error: these files are not committed: `Makefile`\n \
         help: commit them first, so that `cd op && git checkout . && git clean -fd` can undo the update; \
         or add `--allow-dirty`\n",
    );
}

/// git cannot restore it.
#[test]
fn a_file_that_git_ignores_counts_as_not_committed() {
    let sandbox = project();
    let ignored = sandbox.read(".gitignore") + "/Cargo.lock\n/notes\n";
    sandbox.write(".gitignore", &ignored);
    sandbox.write("notes", "mine\n");
    git(&sandbox, "rm --quiet --cached Cargo.lock");
    commit(&sandbox);

    let refusal = sandbox.kbr("update").refused_with(1);

    let error = "error: these files are not committed: `Cargo.lock`\n";
    assert!(refusal.contains(error), "{refusal}");
}

#[test]
fn a_conflict_is_reported_until_it_is_resolved() {
    let sandbox = aged();
    sandbox.edit("src/main.rs", "fn mine()", "fn his_own()");
    commit(&sandbox);
    assert_eq!(sandbox.kbr("update").code(), Some(1));
    commit(&sandbox);

    for line in [
        "update",
        UP_TO_DATE,
        "update --allow-dirty",
        "bundle --version 1.0.0",
        "chart",
        "chart --check",
        "create api --kind Foo",
        "create policy --group crew --kind Captain --validating",
        "create webhook --group crew --kind Captain --defaulting",
        "delete controller --group crew --kind Captain",
        "dev",
        "docs",
        "docs --check",
        "edit --certificates cert-manager",
        "edit --multigroup",
        "edit --project-name other",
        "import crd crds.yaml",
        "manifests",
        "manifests --check",
        "rename kind --group crew --kind Captain --to Commander",
    ] {
        sandbox.kbr(line).refused(
            1,
            "error: these files have edits in lines that kbr changes too: `src/main.rs`\n \
             help: choose between the two texts at each `<<<<<<<`, then type the next command\n",
        );
    }

    sandbox.write("src/main.rs", "fn main() {}\n");
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn json_lists_the_files_that_changed_although_there_are_conflicts() {
    let sandbox = aged();
    sandbox.edit("src/main.rs", "fn mine()", "fn his_own()");
    commit(&sandbox);
    let run = sandbox.kbr("update --output json").failure();

    let report = Report::of(&run);

    let [error] = &report.errors[..] else {
        panic!("{report:?}");
    };
    assert_eq!(error.code, "edit-conflict");
    let outcome = |path: &str| report.files.iter().find(|file| file.path == path);
    let outcome = |path: &str| outcome(path).map(|file| file.outcome);
    assert_eq!(outcome("src/main.rs"), Some(Outcome::Edited));
    assert_eq!(outcome("Makefile"), Some(Outcome::Updated));
    let guide = fs::read_to_string(format!("{REPOSITORY}/src/guide/json.md")).expect("a text");
    let row = guide.lines().find(|line| line.starts_with("| `files` |"));
    assert!(row.is_some_and(|row| row.contains(&format!("`{}`", error.code))));
}

#[test]
fn lines_above_markers_follow_a_new_name() {
    let sandbox = project();
    age(&sandbox, "src/lib.rs", "pub fn register", "pub fn enlist");
    commit(&sandbox);
    let text = sandbox.read("src/lib.rs") + "\n// Mine.\n";
    sandbox.write("src/lib.rs", &text);
    commit(&sandbox);
    sandbox
        .kbr("rename kind --group crew --kind Captain --to Commander")
        .success();
    commit(&sandbox);

    sandbox.kbr("update").success();

    let text = sandbox.read("src/lib.rs");
    for part in [
        "pub fn register",
        "commander_controller::register",
        "// Mine.\n",
    ] {
        assert!(text.contains(part), "{part}\n{text}");
    }
}

#[test]
fn line_ends_of_windows_are_no_edit_and_stay_in_edited_files() {
    let sandbox = aged();
    let windows = |text: String| text.replace('\n', "\r\n");
    let dockerfile = windows(sandbox.read("Dockerfile"));
    sandbox.write("Dockerfile", &dockerfile);
    let makefile = windows(sandbox.read("Makefile") + "\n# Mine.\n");
    sandbox.write("Makefile", &makefile);
    commit(&sandbox);

    sandbox.kbr("update").success();

    assert!(sandbox.read("Dockerfile").contains("FROM"));
    let makefile = sandbox.read("Makefile");
    assert!(makefile.contains(".PHONY") && makefile.ends_with("# Mine.\r\n"));
    assert_eq!(
        makefile.matches('\n').count(),
        makefile.matches("\r\n").count()
    );
}

#[test]
#[cfg(unix)]
fn what_is_not_a_text_file_is_reported_and_stays() {
    let sandbox = aged();
    sandbox.remove("Makefile");
    std::os::unix::fs::symlink("README.md", sandbox.path().join("Makefile")).expect("a link");
    fs::write(sandbox.path().join("Dockerfile"), b"\xff").expect("a file");
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    for path in ["Makefile", "Dockerfile"] {
        let warning = format!("`{path}` is not a text file, and stays as it is");
        assert!(run.stderr.contains(&warning), "{run:?}");
    }
    assert!(sandbox.path().join("Makefile").is_symlink());
}

#[test]
fn a_dependency_of_the_workspace_stays_while_a_crate_inherits_it() {
    let sandbox = project();
    age(
        &sandbox,
        "Cargo.toml",
        "[workspace.dependencies]\n",
        "[workspace.dependencies]\nold = \"1\"\nolder = \"1\"\n",
    );
    commit(&sandbox);
    sandbox.edit(
        "api/Cargo.toml",
        "[dependencies]\n",
        "[dependencies]\nold.workspace = true\n",
    );
    commit(&sandbox);

    sandbox.kbr("update").success();

    let manifest = sandbox.read("Cargo.toml");
    assert!(manifest.contains("old = \"1\"\n"), "{manifest}");
    assert!(!manifest.contains("older"), "{manifest}");
    commit(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn configuration_of_git_hides_no_text() {
    let sandbox = aged();
    let makefile = sandbox.read("Makefile") + "\n# Mine.\n";
    sandbox.write("Makefile", &makefile);
    commit(&sandbox);
    for setting in [
        "log.showRoot false",
        "diff.relative true",
        "diff.orderFile /nowhere",
    ] {
        git(&sandbox, &format!("config {setting}"));
    }

    let run = sandbox.kbr("update").success();

    assert!(!run.stderr.contains(".kbr-new"), "{run:?}");
}
