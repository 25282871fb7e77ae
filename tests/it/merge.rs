//! Two branches on which kbr was run, merged by git.

use crate::support::{Sandbox, assert_same, commit, git, try_git};

/// A repository with a kind `Middle`.
fn repository() -> Sandbox {
    let sandbox = Sandbox::with_project();
    sandbox.kbr("create api --kind Middle").success();
    git(&sandbox, "init -b main");
    commit(&sandbox);
    sandbox
}

/// Runs each list of commands on its own branch, and merges the first branch into the second. Returns whether git could.
fn merge(sandbox: &Sandbox, branches: [&[&str]; 2]) -> bool {
    for (name, lines) in ["one", "two"].into_iter().zip(branches) {
        git(sandbox, &format!("checkout -b {name} main"));
        for line in lines {
            sandbox.kbr(line).success();
        }
        commit(sandbox);
    }
    try_git(sandbox, "merge one").status.success()
}

/// The project without git's own files.
fn tree(sandbox: &Sandbox) -> std::collections::BTreeMap<String, String> {
    let mut tree = sandbox.tree();
    tree.retain(|path, _| !path.starts_with(".git/"));
    tree
}

/// A text in which both sides of each conflict are kept.
fn both_sides(text: &str) -> String {
    let is_mark = |line: &str| {
        let marks = ["<<<<<<< ", ">>>>>>> "];
        line == "=======" || marks.iter().any(|mark| line.starts_with(mark))
    };
    let lines = text.lines().filter(|line| !is_mark(line));
    lines.map(|line| format!("{line}\n")).collect()
}

const FIRST: &str = "create api --kind Alpha";

#[test]
fn kinds_with_another_between_them_merge() {
    let sandbox = repository();
    let base = tree(&sandbox);
    let last = [
        "create api --kind Zulu",
        "create webhook --kind Zulu --defaulting",
    ];
    assert!(merge(&sandbox, [&[FIRST], &last]));
    sandbox.kbr("create api --kind Next").success();
    sandbox.kbr("delete api --kind Next").success();

    let in_turn = Sandbox::with_project();
    let middle = "create api --kind Middle";
    for line in [middle, FIRST].iter().chain(&last) {
        in_turn.kbr(line).success();
    }
    assert_same(&tree(&in_turn), &tree(&sandbox));
    for line in [
        "delete webhook --kind Zulu --defaulting",
        "delete api --kind Zulu",
        "delete api --kind Alpha",
    ] {
        sandbox.kbr(line).success();
    }
    assert_same(&base, &tree(&sandbox));
}

#[test]
fn adjacent_kinds_conflict_where_their_lines_meet() {
    let sandbox = repository();
    let base = tree(&sandbox);
    assert!(!merge(&sandbox, [&[FIRST], &["create api --kind Bravo"]]));
    let conflicts = conflicts(&sandbox);
    assert_eq!(
        conflicts,
        [
            "PROJECT",
            "api/src/bin/crdgen.rs",
            "api/src/v1alpha1.rs",
            "config/crd/kustomization.yaml",
            "config/rbac/kustomization.yaml",
            "config/samples/kustomization.yaml",
            "src/controller.rs",
            "src/lib.rs",
            "tests/crash.rs",
            "tests/it/main.rs",
        ]
    );
    let project = sandbox.read("PROJECT");
    let at = project.lines().position(|line| line.starts_with("<<<<"));
    sandbox.kbr("create api --kind Next").refused(
        1,
        format!(
            "error: a merge has left a conflict in PROJECT: line {}\n help: keep both sides: all lines under \
             `files`, all entries under `resources`, each of them whole; of two lines for one file, and of its entries under `bases`, keep those of one side\n",
            at.expect("a conflict") + 1
        ),
    );
    for path in conflicts {
        let text = both_sides(&sandbox.read(&path));
        // If there is little between two conflicts, git includes it in both sides.
        let shared = "mod middle_types;\n// +kbr:scaffold:modules\n\n";
        let text = text.replacen(&format!("{shared}pub use bravo_types::*;\n"), "", 1);
        let text = text.replace(
            "pub use alpha_types",
            "pub use bravo_types::*;\npub use alpha_types",
        );
        // Entries of `resources` begin and end with the same lines.
        let head = "  version: v1alpha1\n- api:\n    crdVersion: v1\n    namespaced: true\n    storage: true\n  \
                    controller: true\n  domain: example.com\n";
        let (bravo, alpha) = ("  plural: bravos\n", "  kind: Alpha\n");
        let text = text.replace(&format!("{bravo}{alpha}"), &format!("{bravo}{head}{alpha}"));
        sandbox.write(&path, &text);
    }
    for line in [
        "create api --kind Next",
        "delete api --kind Alpha",
        "delete api --kind Next",
        "delete api --kind Bravo",
    ] {
        let run = sandbox.kbr(line).success();
        assert!(!run.stderr.contains("was edited"), "{}", run.stderr);
    }
    assert_same(&base, &tree(&sandbox));
}

/// The files that git could not merge.
fn conflicts(sandbox: &Sandbox) -> Vec<String> {
    let paths = git(sandbox, "diff --name-only --diff-filter=U");
    paths.lines().map(str::to_owned).collect()
}
