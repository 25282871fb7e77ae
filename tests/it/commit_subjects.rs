//! `.ci/subjects`, which checks how the subjects of commits are written.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::support::{REPOSITORY, Run, Sandbox, git};

const SCRIPT: &str = ".ci/subjects";

/// A repository whose second commit adds the script.
fn repository() -> Sandbox {
    let sandbox = Sandbox::new();
    git(&sandbox, "init --quiet --initial-branch main");
    commit(
        &sandbox,
        "what was written before anybody checked subjects was often longer than a line of git log.",
    );
    fs::create_dir(sandbox.path().join(".ci")).expect("a folder");
    let script = Path::new(REPOSITORY).join(SCRIPT);
    fs::copy(script, sandbox.path().join(SCRIPT)).expect("a copy");
    git(&sandbox, "add .ci");
    commit(&sandbox, "Check the subjects of commits");
    sandbox
}

fn commit(sandbox: &Sandbox, subject: &str) {
    sandbox.write(".git/message", &format!("{subject}\n\nThe reason.\n"));
    git(
        sandbox,
        "commit --quiet --allow-empty --file .git/message --cleanup verbatim",
    );
}

/// Runs the script of that folder, from elsewhere.
fn check(folder: &Path) -> Run {
    let script = Command::new(folder.join(SCRIPT)).output();
    script.expect("the script runs").into()
}

#[test]
fn commits_with_a_good_subject_pass_and_older_ones_are_not_checked() {
    let sandbox = repository();
    assert_eq!(check(sandbox.path()).success().stderr, "");
    commit(&sandbox, &format!("Ä{}", "é".repeat(71)));
    commit(&sandbox, "Say why `kbr dev` waits...  or not");
    commit(&sandbox, &format!("fixup! {}", "x".repeat(72)));
    assert_eq!(check(sandbox.path()).success().stderr, "");
}

#[test]
fn a_commit_without_a_body_is_refused() {
    let sandbox = repository();
    git(&sandbox, "commit --quiet --allow-empty --message Close");
    let stderr = check(sandbox.path()).failure().stderr;
    assert!(stderr.contains("say in the body why"), "{stderr}");
}

#[test]
fn a_commit_with_a_bad_subject_is_refused_with_the_reason() {
    for (subject, reason) in [
        (
            format!("L{}", "é".repeat(72)),
            "has 73 characters; 72 is the limit",
        ),
        (
            "Close the file.".to_owned(),
            "the subject ends with a full stop",
        ),
        (
            "close the file".to_owned(),
            "the subject begins with a small letter",
        ),
    ] {
        let sandbox = repository();
        commit(&sandbox, &subject);
        let hash = git(&sandbox, "rev-parse --short=12 HEAD");
        commit(&sandbox, "Open the file");
        let stderr = check(sandbox.path()).failure().stderr;
        let start = format!("error: commit {}: the subject ", hash.trim());
        assert!(stderr.starts_with(&start), "{stderr}");
        assert!(stderr.contains(reason), "{stderr}");
        assert!(
            stderr.contains(&format!("\n       {subject}\n")),
            "{stderr}"
        );
        assert!(stderr.contains("\nhelp: "), "{stderr}");
        assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
    }
}

#[test]
fn commits_of_a_merged_branch_are_checked_and_the_merge_is_not() {
    let sandbox = repository();
    let merge = |branch: &str| {
        sandbox.write(".git/message", &format!("merge {}.\n", "x".repeat(80)));
        let line = format!("merge --quiet --no-ff --file .git/message {branch}");
        git(&sandbox, &line);
    };
    git(&sandbox, "checkout --quiet -b good");
    commit(&sandbox, "Open the file");
    git(&sandbox, "checkout --quiet main");
    merge("good");
    assert_eq!(check(sandbox.path()).success().stderr, "");

    // It began before the script.
    git(&sandbox, "checkout --quiet -b bad HEAD~2");
    commit(&sandbox, "Opened the file.");
    git(&sandbox, "checkout --quiet main");
    merge("bad");
    let stderr = check(sandbox.path()).failure().stderr;
    assert!(stderr.contains("       Opened the file.\n"), "{stderr}");
    assert_eq!(stderr.matches("error: ").count(), 1, "{stderr}");
}

#[test]
fn a_shallow_clone_and_a_copy_without_git_are_not_checked() {
    let sandbox = repository();
    commit(&sandbox, "bad.");
    let clone = Sandbox::new();
    let mut command = Command::new("git");
    let source = format!("file://{}", sandbox.path().display());
    let command = command.args(["clone", "--quiet", "--depth", "1", &source, "."]);
    let status = command.current_dir(clone.path()).status();
    assert!(status.expect("git runs").success());
    let run = check(clone.path()).success();
    assert!(run.stderr.contains("shallow clone"), "{}", run.stderr);
    fs::remove_dir_all(clone.path().join(".git")).expect("the history is removed");
    assert_eq!(check(clone.path()).success().stderr, "");
}
