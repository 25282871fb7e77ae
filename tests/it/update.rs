//! `kbr update`: projects of an earlier kbr, on disk and in git.
//!
//! An earlier kbr is simulated with PROJECT: a file gets an older text, and PROJECT the hash of that text.

mod crates;
mod odd;

use crate::support::goldens::GOLDENS;
use crate::support::releases::{FIRST, SCAFFOLDS, UP_TO_DATE, project_of};
use crate::support::{REPOSITORY, Sandbox, assert_formatted, assert_same, commit, git, kbr, names};
use sha2::{Digest, Sha256};
use std::fs;
use std::path::Path;

fn hash(text: &str) -> String {
    let digest = Sha256::digest(text);
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A project with a kind of each sort, in git.
fn project() -> Sandbox {
    let sandbox = Sandbox::with_project();
    for line in [
        "create api --group crew --version v1 --kind Captain",
        "create api --group crew --version v1 --kind Cook --image cook:1 --image-port 80",
        "create webhook --group crew --version v1 --kind Captain --defaulting",
    ] {
        sandbox.kbr(line).success();
    }
    git(&sandbox, "init --quiet");
    commit(&sandbox);
    sandbox
}

/// Makes it look as if an earlier kbr had rendered `old` where this one renders `new`.
#[track_caller]
fn age(sandbox: &Sandbox, path: &str, new: &str, old: &str) {
    let text = sandbox.read(path);
    assert!(text.contains(new), "{path} has no {new}");
    let text = text.replacen(new, old, 1);
    sandbox.write(path, &text);
    record(sandbox, path, Some(&hash(&text)));
}

/// Sets or removes the hash of a file in PROJECT.
fn record(sandbox: &Sandbox, path: &str, hash: Option<&str>) {
    let project = sandbox.read("PROJECT");
    let entry = format!("  {path}: ");
    let is_it = |line: &&str| line.starts_with(&entry);
    let mut lines: Vec<String> = project
        .lines()
        .filter(|line| !is_it(line))
        .map(str::to_owned)
        .collect();
    if let Some(hash) = hash {
        let files = lines.iter().position(|line| line == "files:");
        lines.insert(files.expect("files") + 1, format!("{entry}{hash}"));
    }
    sandbox.write("PROJECT", &(lines.join("\n") + "\n"));
}

/// Files in which an earlier kbr had something else: path, new text, old text.
const AGED: [(&str, &str, &str); 12] = [
    ("Makefile", ".PHONY", ".PONY"),
    ("Dockerfile", "WORKDIR", "WURKDIR"),
    ("README.md", "Kubernetes", "Cubernetes"),
    ("AGENTS.md", "Kubernetes", "Cubernetes"),
    (".gitignore", "/target", "/tarjet"),
    (".github/workflows/test.yml", "name:", "nome:"),
    (
        "config/manager/manager.yaml",
        "kind: Deployment",
        "kind: Deploymend",
    ),
    ("api/src/v1/captain_types.rs", "pub foo:", "pub fuu:"),
    (
        "src/controller/captain_controller.rs",
        "pub fn register",
        "pub fn enlist",
    ),
    (
        "src/controller/cook_controller/children.rs",
        "pub fn deployment",
        "pub fn employment",
    ),
    ("src/main.rs", "fn main()", "fn mine()"),
    (
        "tests/it/captain_controller.rs",
        "async fn create()",
        "async fn make()",
    ),
];

fn aged() -> Sandbox {
    let sandbox = project();
    for (path, new, old) in AGED {
        age(&sandbox, path, new, old);
    }
    commit(&sandbox);
    sandbox
}

#[test]
fn an_untouched_project_becomes_a_fresh_one() {
    let sandbox = aged();
    // Added and removed files, the lock, a vendored crate, and the program that prints the types.
    for (path, is_new) in [
        ("hack/delete.sh", true),
        // It has lines for two kinds.
        ("tests/crash.rs", true),
        ("hack/old.sh", false),
    ] {
        if is_new {
            sandbox.remove(path);
            record(&sandbox, path, None);
        } else {
            sandbox.write(path, "old\n");
            record(&sandbox, path, Some(&hash("old\n")));
        }
    }
    age(&sandbox, "Cargo.lock", "version = 4", "version = 3");
    let runtime = "third_party/kbr-runtime";
    let text = sandbox.read(&format!("{runtime}/src/lib.rs")) + "// Old.\n";
    sandbox.write(&format!("{runtime}/src/lib.rs"), &text);
    let sums = sandbox.read(&format!("{runtime}/SHA256SUMS"));
    let sums = sums.lines().map(|line| match line.split_once("  ") {
        Some((_, "src/lib.rs")) => format!("{}  src/lib.rs\n", hash(&text)),
        _ => format!("{line}\n"),
    });
    let sums = sums.collect::<String>() + &hash("gone") + "  src/gone.rs\n";
    sandbox.write(&format!("{runtime}/SHA256SUMS"), &sums);
    sandbox.write(&format!("{runtime}/src/gone.rs"), "gone");
    sandbox.edit("api/src/bin/crdgen.rs", "fn main()", "fn mine()");
    sandbox.edit("PROJECT", "cliVersion: \"0.2.0\"", "cliVersion: \"0.1.9\"");
    commit(&sandbox);
    let before = sandbox.tree();

    let dry = sandbox.kbr("update --dry-run").success();
    assert!(
        dry.status().contains(&"Would update Makefile".to_owned()),
        "{dry:?}"
    );
    assert_same(&before, &sandbox.tree());
    let check = sandbox.kbr(UP_TO_DATE);
    assert_eq!(check.code(), Some(1), "{check:?}");
    assert!(check.stderr.contains("`Makefile`"), "{check:?}");

    sandbox.kbr("update").success();
    assert_same(&without_git(&project()), &without_git(&sandbox));
    sandbox.kbr(UP_TO_DATE).success();
    commit(&sandbox);
    sandbox.kbr("update").success();
    assert_same(&without_git(&project()), &without_git(&sandbox));
}

fn without_git(sandbox: &Sandbox) -> std::collections::BTreeMap<String, String> {
    let mut tree = sandbox.tree();
    tree.retain(|path, _| !path.starts_with(".git/"));
    tree
}

#[test]
fn what_the_user_wrote_is_kept_in_every_file() {
    let sandbox = aged();
    for (path, ..) in AGED {
        let comment = if path.ends_with(".rs") { "//" } else { "#" };
        let text = sandbox.read(path);
        sandbox.write(path, &format!("{text}\n{comment} Mine.\n"));
    }
    commit(&sandbox);

    sandbox.kbr("update").success();

    for (path, new, old) in AGED {
        let text = sandbox.read(path);
        assert!(text.contains(new) && !text.contains(old), "{path}\n{text}");
        assert!(text.ends_with(" Mine.\n"), "{path}\n{text}");
    }
    assert_formatted(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn lines_above_markers_stay_and_removed_ones_stay_removed() {
    let sandbox = Sandbox::with_project();
    age(
        &sandbox,
        "src/lib.rs",
        "pub fn register",
        "pub  fn register",
    );
    age(
        &sandbox,
        "tests/it/main.rs",
        "real API server",
        "reel API server",
    );
    sandbox.kbr("create api --kind Foo").success();
    sandbox.kbr("create api --kind Bar").success();
    sandbox.edit(
        "src/lib.rs",
        "    controller::foo_controller::register,\n",
        "",
    );

    sandbox.kbr("update --allow-dirty").success();

    let lib = sandbox.read("src/lib.rs");
    assert!(lib.contains("pub fn register"), "{lib}");
    assert!(
        lib.contains("    controller::bar_controller::register,\n"),
        "{lib}"
    );
    assert!(!lib.contains("foo_controller"), "{lib}");
    let tests = sandbox.read("tests/it/main.rs");
    assert!(
        tests.contains("real API server") && tests.contains("mod foo_controller;\n"),
        "{tests}"
    );
}

#[test]
fn a_line_that_both_have_changed_is_shown_as_a_git_conflict() {
    let sandbox = aged();
    sandbox.edit("src/main.rs", "fn mine()", "fn his_own()");
    // New in this kbr.
    fs::remove_dir_all(sandbox.path().join("hack")).expect("a folder");
    record(&sandbox, "hack/delete.sh", None);
    commit(&sandbox);
    let before = without_git(&sandbox);

    let run = sandbox.kbr("update");

    assert_eq!(run.code(), Some(1), "{run:?}");
    let error = "error: these files have edits in lines that kbr changes too: `src/main.rs`\n \
                 help: choose between the two texts at each `<<<<<<<`, then type the next command; \
                 if everything was committed before, `git checkout . && git clean -fd` undoes this one\n";
    assert!(run.stderr.ends_with(error), "{run:?}");
    let main = sandbox.read("src/main.rs");
    let texts: Vec<&str> = ["<<<<<<<", "fn his_own()", "=======", "fn main()", ">>>>>>>"].into();
    let places: Vec<Option<usize>> = texts.iter().map(|text| main.find(text)).collect();
    assert!(
        places.iter().all(Option::is_some) && places.is_sorted(),
        "{main}"
    );
    // The rest is updated, and all of it can be undone.
    assert!(sandbox.read("Makefile").contains(".PHONY"));
    git(&sandbox, "checkout --quiet .");
    git(&sandbox, "clean --quiet -fd");
    assert_same(&before, &without_git(&sandbox));
    // There is nothing to undo.
    let run = sandbox.kbr("update --dry-run");
    assert_eq!(run.code(), Some(1), "{run:?}");
    let end = ", then type the next command\n";
    assert!(run.stderr.ends_with(end), "{run:?}");
}

#[test]
fn the_text_that_was_rendered_is_found_on_other_branches_and_files_move_after_that() {
    let sandbox = aged();
    // Squashed: only the branch that was merged has the text without the edit.
    git(&sandbox, "branch rendered");
    git(&sandbox, "checkout --quiet --orphan squashed");
    let makefile = sandbox.read("Makefile") + "\n# Mine.\n";
    sandbox.write("Makefile", &makefile);
    commit(&sandbox);
    sandbox.edit(
        "src/controller/captain_controller.rs",
        "use kbr_runtime::{Action, Controller, Handle, Manager};\n",
        "use kbr_runtime::{Action, Controller, Handle, Manager}; // Mine.\n",
    );
    commit(&sandbox);
    // What kbr rendered there is not what this kbr renders.
    let run = sandbox.kbr("edit --multigroup");
    assert_eq!(run.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("type `kbr update` first"), "{run:?}");

    let run = sandbox.kbr("update").success();

    assert!(!run.stderr.contains(".kbr-new"), "{run:?}");
    commit(&sandbox);
    sandbox.kbr("edit --multigroup").success();
    commit(&sandbox);
    sandbox.kbr(UP_TO_DATE).success();
    let makefile = sandbox.read("Makefile");
    assert!(
        makefile.ends_with("# Mine.\n") && makefile.contains(".PHONY"),
        "{makefile}"
    );
    let controller = sandbox.read("src/controller/crew/captain_controller.rs");
    let texts = ["Handle, Manager}; // Mine.\n", "pub fn register"];
    assert!(
        texts.iter().all(|text| controller.contains(text)),
        "{controller}"
    );
}

#[test]
fn without_the_text_that_was_rendered_the_new_one_is_put_beside_the_file() {
    let sandbox = project();
    age(&sandbox, "Makefile", ".PHONY", ".PONY");
    sandbox.write("Makefile", "mine\n");
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    let warning = "`Makefile` was edited, and the text that kbr rendered is not in git's history: copy what is new from `Makefile.kbr-new`, then delete it";
    assert!(run.stderr.contains(warning), "{run:?}");
    assert_eq!(sandbox.read("Makefile"), "mine\n");
    assert!(sandbox.read("Makefile.kbr-new").contains(".PHONY"));
    sandbox.kbr(UP_TO_DATE).success();
    sandbox.remove("Makefile.kbr-new");
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn a_shallow_clone_is_refused_only_if_it_lacks_what_an_edit_needs() {
    let clone_of = |source: &Sandbox| {
        let clone = Sandbox::new();
        let from = source.path().display();
        git(&clone, &format!("clone --quiet --depth 1 file://{from} ."));
        clone
    };
    let source = aged();
    clone_of(&source).kbr("update").success();
    let mine = source.read("Makefile") + "\n# Mine.\n";
    source.write("Makefile", &mine);
    commit(&source);
    let clone = clone_of(&source);
    let before = clone.tree();

    let run = clone.kbr("update");

    assert_eq!(run.code(), Some(1), "{run:?}");
    let words = ["`Makefile` was edited", "type `git fetch --unshallow`"];
    assert!(words.iter().all(|it| run.stderr.contains(it)), "{run:?}");
    assert_eq!(clone.tree(), before);
    git(&clone, "fetch --quiet --unshallow");
    clone.kbr("update").success();
    assert!(clone.read("Makefile").ends_with("# Mine.\n"));
}

#[test]
fn a_deleted_file_stays_deleted_and_files_of_the_user_stay() {
    let sandbox = aged();
    sandbox.remove("Dockerfile");
    // No longer emitted, but edited.
    sandbox.write("hack/old.sh", "mine\n");
    record(&sandbox, "hack/old.sh", Some(&hash("old\n")));
    // A file of the user, at a path that now belongs to the scaffold.
    sandbox.write("hack/delete.sh", "mine\n");
    record(&sandbox, "hack/delete.sh", None);
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    assert!(
        run.stderr
            .contains("`Dockerfile` was deleted, and stays deleted"),
        "{run:?}"
    );
    let stays =
        "`hack/old.sh` is no longer a part of the scaffold, and stays because it was edited";
    assert!(run.stderr.contains(stays), "{run:?}");
    let yours = "`hack/delete.sh` is yours, and now part of the scaffold: copy what is new from \
                 `hack/delete.sh.kbr-new`, then delete it";
    assert!(run.stderr.contains(yours), "{run:?}");
    assert_eq!(sandbox.read("hack/delete.sh"), "mine\n");
    assert_eq!(sandbox.read("hack/old.sh"), "mine\n");
    assert!(!sandbox.tree().contains_key("Dockerfile"));
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn the_copies_of_crates_are_restored_and_files_that_were_added_to_them_stay() {
    for (name, module) in [("kbr-runtime", "clock"), ("kbr-testing", "keys")] {
        let sandbox = project();
        let path = |file| format!("third_party/{name}/src/{file}.rs");
        let text = sandbox.read(&path("lib"));
        sandbox.write(&path("lib"), "// Mine.\n");
        sandbox.write(&path("mine"), "// Mine.\n");
        sandbox.remove(&path(module));
        commit(&sandbox);

        let run = sandbox.kbr("update").success();

        for warning in [
            format!("`{}` was edited, and is restored", path("lib")),
            format!("`{}` was added, and stays", path("mine")),
            format!("`{}` is missing, and is restored", path(module)),
        ] {
            assert!(run.stderr.contains(&warning), "{run:?}");
        }
        assert_eq!(sandbox.read(&path("lib")), text);
        assert_eq!(sandbox.read(&path("mine")), "// Mine.\n");
        assert!(!sandbox.read(&path(module)).is_empty());
    }
}

/// Nor does a copy that was deleted come back.
#[test]
fn a_project_with_other_copies_of_the_crates_gets_none() {
    for folder in ["third_party", "third_party/kbr-testing"] {
        let sandbox = Sandbox::with_project();
        fs::remove_dir_all(sandbox.path().join(folder)).expect("a folder");
        sandbox.kbr("update --allow-dirty").success();
        assert!(!sandbox.path().join(folder).exists(), "{folder}");
    }
}

#[test]
fn dependencies_of_the_user_stay() {
    let sandbox = project();
    age(
        &sandbox,
        "Cargo.toml",
        "edition = \"2024\"",
        "edition = \"2021\"",
    );
    age(&sandbox, "Cargo.lock", "version = 4", "version = 3");
    commit(&sandbox);
    let manifest = sandbox.read("Cargo.toml");
    let manifest = manifest.replacen(
        "\n[dependencies]\n",
        "\n[dependencies]\nmine = { path = \"mine\" } # why\n",
        1,
    );
    sandbox.write("Cargo.toml", &manifest);
    let lock = sandbox.read("Cargo.lock") + "# mine\n";
    sandbox.write("Cargo.lock", &lock);
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    let manifest = sandbox.read("Cargo.toml");
    assert!(manifest.contains("edition = \"2024\""), "{manifest}");
    assert!(
        manifest.contains("\nmine = { path = \"mine\" } # why\n"),
        "{manifest}"
    );
    // Cargo does not find the crate here, so the lock file is left to the user.
    let warning = "`Cargo.lock` is unchanged (";
    assert!(run.stderr.contains(warning), "{run:?}");
    assert_eq!(sandbox.read("Cargo.lock"), lock);
    sandbox.kbr(UP_TO_DATE).success();
}

#[test]
fn a_lock_file_with_a_conflict_is_left_alone() {
    let sandbox = project();
    age(&sandbox, "Cargo.lock", "version = 4", "version = 3");
    sandbox.write("Cargo.lock", "<<<<<<< HEAD\n");
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    let warning = "`Cargo.lock` is not TOML: ";
    assert!(run.stderr.contains(warning), "{run:?}");
    assert_eq!(sandbox.read("Cargo.lock"), "<<<<<<< HEAD\n");
}

#[test]
fn uncommitted_changes_are_refused_without_allow_dirty() {
    let sandbox = project();
    sandbox.write("Makefile", "mine\n");
    sandbox.write("new", "new\n");
    git(&sandbox, "config status.showUntrackedFiles no");
    sandbox.kbr("update").refused(
        1,
        "error: these files are not committed: `Makefile`, `new`\n \
         help: commit them first, so that `git checkout . && git clean -fd` can undo the update; or add `--allow-dirty`\n",
    );
    sandbox.kbr("update --dry-run").success();
    sandbox.kbr("update --allow-dirty").success();

    let sandbox = Sandbox::with_project();
    let run = sandbox.kbr("update");
    assert_eq!(run.code(), Some(1), "{run:?}");
    assert!(run.stderr.contains("is not in a git repository"), "{run:?}");
    sandbox.kbr("update --allow-dirty").success();

    // Whatever else git has to say is passed on.
    git(&sandbox, "init --quiet");
    sandbox.write(".git/config", "no config");
    let run = sandbox.kbr("update");
    assert_eq!(run.code(), Some(1), "{run:?}");
    let error = "error: `git rev-parse` failed: fatal: bad config line 1 in file .git/config\n";
    assert!(run.stderr.contains(error), "{run:?}");
}

#[test]
fn an_older_kbr_is_reported_and_a_newer_one_refused() {
    let sandbox = Sandbox::with_project();
    let own = env!("CARGO_PKG_VERSION");
    let set = |version: &str| {
        let project = sandbox.read("PROJECT");
        let line = project.lines().find(|line| line.starts_with("cliVersion:"));
        let text = project.replacen(
            line.expect("a version"),
            &format!("cliVersion: {version}"),
            1,
        );
        sandbox.write("PROJECT", &text);
    };
    set("0.1.9");
    let run = sandbox.kbr("create api --kind Foo").success();
    let warning =
        format!("PROJECT was written by kbr 0.1.9, and this is kbr {own}: type `kbr update`");
    assert!(run.stderr.contains(&warning), "{run:?}");

    set("99.0.0");
    for line in ["create api --kind Bar", "update", "manifests --check"] {
        sandbox.kbr(line).refused(
            1,
            format!(
                "error: PROJECT was written by kbr 99.0.0, and this is kbr {own}\n \
                 help: type `cargo install --locked kbr@99.0.0`, or install a newer kbr\n"
            ),
        );
    }
}

/// The commands that created these scaffolds.
const STEPS: &str = include_str!("../data/scaffolds/steps");

/// The releases whose scaffolds are kept.
fn releases() -> Vec<String> {
    let files = names(Path::new(SCAFFOLDS)).into_iter();
    let releases = files.filter_map(|file| file.strip_suffix(".tar.gz").map(str::to_owned));
    releases.collect()
}

#[test]
fn a_project_of_each_release_becomes_a_fresh_one() {
    let fresh = Sandbox::new();
    let mut steps = STEPS.lines();
    fresh.kbr(steps.next().expect("init")).success();
    // Managers with another Lease could lead beside those that run.
    let lease = "leaderElectionId: scaffold-leader-election\nlicense:";
    fresh.edit("PROJECT", "license:", lease);
    fresh.kbr("update --allow-dirty").success();
    for line in steps {
        fresh.kbr(line).success();
    }
    let scaffold = |sandbox: &Sandbox| {
        let mut tree = without_git(sandbox);
        tree.retain(|path, _| {
            let made_by_manifests = [
                "config/crd/bases/",
                "config/prometheus/kube_state_metrics.yaml",
                "config/rbac/role.yaml",
                "config/webhook/certificates_role.yaml",
                "config/webhook/manifests.yaml",
            ];
            !made_by_manifests.iter().any(|made| path.starts_with(made))
        });
        tree
    };
    for release in releases() {
        let sandbox = project_of(&release);
        sandbox.kbr("update").success();
        assert_same(&scaffold(&fresh), &scaffold(&sandbox));
        sandbox.kbr(UP_TO_DATE).success();
    }
}

/// What is not released yet has no date.
#[test]
fn the_scaffold_of_each_release_is_kept() {
    let changelog = fs::read_to_string(Path::new(REPOSITORY).join("CHANGELOG.md"));
    let changelog = changelog.expect("a changelog");
    let released = changelog.lines().filter_map(|line| {
        let (version, date) = line.strip_prefix("## [")?.split_once("] - ")?;
        date.starts_with("20").then(|| version.to_owned())
    });
    let mut expected = vec![FIRST.to_owned()];
    expected.extend(released);
    expected.sort();
    assert_eq!(
        releases(),
        expected,
        "`tests/tools/keep-scaffold` keeps the scaffold of this version"
    );
}

#[test]
fn edits_in_every_file_of_the_kept_scaffold_stay() {
    let sandbox = project_of(FIRST);
    let project = sandbox.read("PROJECT");
    let files = project.lines().skip_while(|line| *line != "files:").skip(1);
    let files = files.map_while(|line| line.strip_prefix("  ")?.split_once(": "));
    // Except the one that belongs to cargo.
    let files = files.map(|(path, _)| path);
    let files: Vec<&str> = files.filter(|path| *path != "Cargo.lock").collect();
    for path in &files {
        let comment = if path.ends_with(".rs") { "//" } else { "#" };
        let text = sandbox.read(path);
        // After the first line, which few versions change.
        let (first, rest) = text.split_once('\n').unwrap_or((&text, ""));
        sandbox.write(path, &format!("{first}\n{comment} Mine.\n{rest}"));
    }
    commit(&sandbox);

    let run = sandbox.kbr("update").success();

    assert!(!run.stderr.contains(".kbr-new"), "{run:?}");
    for path in &files {
        assert!(sandbox.read(path).contains(" Mine.\n"), "{path}");
    }
    // Its marker is new.
    let manifest = sandbox.read("Cargo.toml");
    assert!(
        manifest.contains("    \"kbr-runtime/certificates\",\n"),
        "{manifest}"
    );
    assert_formatted(&sandbox);
}

#[test]
fn no_golden_is_out_of_date() {
    for golden in GOLDENS {
        let folder = Path::new(REPOSITORY).join("testdata").join(golden);
        kbr(&folder, &["update", "--check"]).success();
    }
}
