//! Commands are all or nothing: when they fail half-way, are repeated, or run at the same time.

#![cfg(unix)]

use std::collections::BTreeMap;
use std::fs::{self, Permissions};
use std::os::unix::fs::{MetadataExt, PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use crate::support::{Run, Sandbox, assert_same, copy};

/// The user `nobody`, to whom file modes apply.
const NOBODY: u32 = 65534;

/// A sandbox in which file modes apply to kbr, even when root runs the tests.
struct Bound {
    sandbox: Sandbox,
    /// The folder with a copy of kbr that every user may run.
    program: tempfile::TempDir,
    is_root: bool,
}

impl Bound {
    fn new(sandbox: Sandbox) -> Self {
        let program = tempfile::tempdir().expect("a temporary folder");
        set_mode(program.path(), 0o755);
        let kbr = program.path().join("kbr");
        // Not copied by this process: a process that another test forks meanwhile would hold the file
        // open for writing, and such a file cannot be run.
        let mut cp = Command::new("cp");
        cp.arg(env!("CARGO_BIN_EXE_kbr")).arg(&kbr);
        assert!(cp.status().expect("cp runs").success(), "a copy of kbr");
        set_mode(&kbr, 0o755);
        let is_root = fs::metadata(sandbox.path()).expect("a folder").uid() == 0;
        let bound = Self {
            sandbox,
            program,
            is_root,
        };
        bound.give(bound.sandbox.path());
        bound
    }

    /// Makes everything at and below `path` belong to the user that runs kbr.
    fn give(&self, path: &Path) {
        if !self.is_root {
            return;
        }
        chown(path, Some(NOBODY), Some(NOBODY)).expect("a new owner");
        if path.is_dir() {
            for entry in fs::read_dir(path).expect("a folder") {
                self.give(&entry.expect("an entry").path());
            }
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.sandbox.path().join(path)
    }

    fn kbr(&self, line: &str) -> Run {
        let mut command = Command::new(self.program.path().join("kbr"));
        command.args(line.split_whitespace()).stdin(Stdio::null());
        command.current_dir(self.sandbox.path());
        if self.is_root {
            command.uid(NOBODY).gid(NOBODY);
        }
        command.output().expect("kbr runs").into()
    }

    /// Runs a command that must fail with that message and change no file, folder or mode.
    #[track_caller]
    fn fails(&self, line: &str, stderr: &str) {
        let (before, modes_before) = (self.sandbox.tree(), modes(self.sandbox.path()));
        self.kbr(line).refused(1, stderr);
        assert_same(&before, &self.sandbox.tree());
        assert_eq!(modes(self.sandbox.path()), modes_before);
    }
}

fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, Permissions::from_mode(mode)).expect("a mode");
}

/// The mode of each file and folder below `folder`, including temporary files of kbr.
fn modes(folder: &Path) -> BTreeMap<PathBuf, u32> {
    let mut found = BTreeMap::new();
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            found.extend(modes(&path));
        }
        let mode = fs::symlink_metadata(&path).expect("a file").mode();
        found.insert(path, mode);
    }
    found
}

/// No temporary file was left behind.
#[track_caller]
fn assert_clean(tree: &BTreeMap<String, String>) {
    let left = tree.keys().find(|path| path.contains(".kbr-"));
    assert_eq!(left, None);
}

#[test]
fn a_read_only_folder_leaves_the_old_tree() {
    let line = "create api --kind Foo";
    for (folder, verb, path) in [
        ("api/src", "write", "./api/src/lib.rs"),
        (
            "config/default",
            "write",
            "./config/default/kustomization.yaml",
        ),
        ("config", "create", "./config/crd"),
        ("src", "write", "./src/controller.rs"),
    ] {
        let bound = Bound::new(Sandbox::with_project());
        set_mode(&bound.path(folder), 0o555);
        let denied = "Permission denied (os error 13)";
        bound.fails(
            line,
            &format!("error: could not {verb} `{path}`: {denied}\n"),
        );
        set_mode(&bound.path(folder), 0o755);
        bound.kbr(line).success();
    }
}

#[test]
fn init_fails_in_a_read_only_folder() {
    let bound = Bound::new(Sandbox::new());
    let line = "init --domain example.com --project-name sandbox";
    let denied = "Permission denied (os error 13)";
    set_mode(bound.sandbox.path(), 0o555);
    bound.fails(
        line,
        &format!("error: could not write `./.clippy.toml`: {denied}\n"),
    );
    let below = line.replace("init", "init a/b/c");
    bound.fails(&below, &format!("error: could not create `a`: {denied}\n"));
    set_mode(bound.sandbox.path(), 0o755);
    bound.kbr(&below).success();
}

#[test]
fn a_role_that_cannot_be_written_leaves_the_old_tree() {
    let bound = Bound::new(Sandbox::with_project());
    bound
        .sandbox
        .module("a", "// +kbr:rbac:urls=/metrics,verbs=get\n");
    set_mode(&bound.path("config/rbac"), 0o555);
    bound.fails(
        "manifests",
        "error: could not write `./config/rbac/role.yaml`: Permission denied (os error 13)\n",
    );
    set_mode(&bound.path("config/rbac"), 0o755);
    bound.kbr("manifests").success();
}

#[test]
fn a_file_that_cannot_be_read_leaves_the_old_tree() {
    let bound = Bound::new(Sandbox::with_project());
    let lib = bound.path("src/lib.rs");
    let text = fs::read(&lib).expect("a file");
    set_mode(&lib, 0o000);
    let before = modes(bound.sandbox.path());
    for line in ["create api --kind Foo", "manifests"] {
        let text = "error: could not read `./src/lib.rs`: Permission denied (os error 13)\n";
        bound.kbr(line).refused(1, text);
        assert_eq!(modes(bound.sandbox.path()), before);
    }
    set_mode(&lib, 0o644);
    assert_eq!(fs::read(&lib).expect("a file"), text);
    bound.kbr("create api --kind Foo").success();
}

/// A read-only file is replaced, not written to, so only the mode of its folder matters.
#[test]
fn a_read_only_file_is_edited_and_stays_read_only() {
    let bound = Bound::new(Sandbox::with_project());
    set_mode(&bound.path("src/lib.rs"), 0o444);
    bound.kbr("create api --kind Foo").success();
    assert_eq!(
        modes(bound.sandbox.path())[&bound.path("src/lib.rs")] & 0o777,
        0o444
    );
}

/// In a sticky folder every user may create files but not replace those of other users: the temporary
/// files are written, most of them renamed, and then one rename fails. Only root can set that up;
/// for other users the folder is read-only.
#[test]
fn a_rename_that_fails_leaves_the_old_tree() {
    let line = "create api --kind Foo";
    let bound = Bound::new(Sandbox::with_project());
    set_mode(&bound.path("api/src/lib.rs"), 0o444);
    let message = if bound.is_root {
        chown(bound.path("src"), Some(0), Some(0)).expect("a new owner");
        chown(bound.path("src/lib.rs"), Some(0), Some(0)).expect("a new owner");
        set_mode(&bound.path("src"), 0o1777);
        "error: could not write `./src/lib.rs`: Operation not permitted (os error 1)\n"
    } else {
        set_mode(&bound.path("src"), 0o555);
        "error: could not write `./src/controller.rs`: Permission denied (os error 13)\n"
    };
    bound.fails(line, message);
    bound.give(&bound.path("src"));
    set_mode(&bound.path("src"), 0o755);
    bound.kbr(line).success();
}

#[cfg(target_os = "linux")]
#[test]
fn a_file_name_that_is_too_long_leaves_the_old_tree() {
    let sandbox = Sandbox::with_project();
    let before = sandbox.tree();
    let group = ["a".repeat(60), "b".repeat(60), "c".repeat(60)].join(".");
    let kind = format!("K{}", "i".repeat(58));
    let line = format!("create api --group {group} --kind {kind}");
    let sample = format!("{group}_v1alpha1_{}.yaml", kind.to_lowercase());
    sandbox.kbr(&format!("{line} --plural ks")).refused(
        1,
        format!(
            "error: could not write `./config/samples/{sample}`: File name too long (os error 36)\n"
        ),
    );
    assert_same(&before, &sandbox.tree());
    sandbox.kbr("create api --kind Foo").success();
}

#[test]
fn a_repeated_command_changes_nothing() {
    let sandbox = Sandbox::new();
    let init = "init --domain example.com --project-name sandbox";
    sandbox.kbr(init).success();
    let tree = sandbox.tree();
    drop(sandbox.kbr(init).failure());
    assert_same(&tree, &sandbox.tree());
    for _ in 0..2 {
        let run = sandbox.kbr("manifests").success();
        let unchanged = [
            "Unchanged config/rbac/role.yaml",
            "Next cargo build --locked",
        ];
        assert_eq!(run.status(), unchanged);
        assert_same(&tree, &sandbox.tree());
    }
    sandbox.kbr("create api --kind Foo").success();
    let tree = sandbox.tree();
    drop(sandbox.kbr("create api --kind Foo").failure());
    assert_same(&tree, &sandbox.tree());
    let run = sandbox.kbr("create api --kind Foo --force").success();
    let mut status = run.status();
    assert_eq!(status.pop().as_deref(), Some("Next kbr manifests"));
    assert!(
        status.iter().all(|line| line.starts_with("Unchanged ")),
        "{status:?}"
    );
    assert_same(&tree, &sandbox.tree());
    assert_clean(&tree);
}

#[test]
fn the_order_in_which_kinds_are_created_does_not_matter() {
    let kinds = [
        "Policy",
        "HTTPProxy --version v1",
        "Redis --version v10 --controller=false",
        "Pol --version v9",
    ];
    let orders = [
        [0, 1, 2, 3],
        [3, 2, 1, 0],
        [2, 0, 3, 1],
        [1, 3, 0, 2],
        [3, 0, 1, 2],
    ];
    let mut trees = orders.map(|order| {
        let sandbox = Sandbox::with_project();
        for at in order {
            sandbox
                .kbr(&format!("create api --kind {}", kinds[at]))
                .success();
        }
        sandbox.tree()
    });
    let [first, others @ ..] = &mut trees;
    for other in others {
        assert_same(first, other);
    }
}

/// Starts kbr without waiting for it.
fn start(folder: &Path, line: &str) -> Child {
    Command::new(env!("CARGO_BIN_EXE_kbr"))
        .args(line.split_whitespace())
        .current_dir(folder)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("kbr runs")
}

/// Runs both commands at once and returns whether each succeeded. Each must exit with 0 or 1.
fn at_once(folder: &Path, lines: [&str; 2]) -> [bool; 2] {
    let children = lines.map(|line| start(folder, line));
    children.map(|child| {
        let run = Run::from(child.wait_with_output().expect("kbr ends"));
        assert!(matches!(run.code(), Some(0 | 1)), "{}", run.stderr);
        assert!(!run.stderr.contains("undoing"), "{}", run.stderr);
        run.code() == Some(0)
    })
}

#[test]
fn two_kbr_at_once_never_leave_half_a_tree() {
    let lines = [
        "create api --kind Foo",
        "create api --kind Bar --version v1",
    ];
    let start = Sandbox::with_project();
    let made = |wanted: [bool; 2]| {
        let sandbox = Sandbox::new();
        copy(start.path(), sandbox.path());
        for (line, _) in lines.iter().zip(wanted).filter(|(_, wanted)| *wanted) {
            sandbox.kbr(line).success();
        }
        sandbox.tree()
    };
    let expected =
        BTreeMap::from([[true, false], [false, true], [true, true]].map(|w| (w, made(w))));
    for _ in 0..16 {
        let sandbox = Sandbox::new();
        copy(start.path(), sandbox.path());
        let succeeded = at_once(sandbox.path(), lines);
        let expected = expected.get(&succeeded).expect("at least one succeeds");
        assert_same(expected, &sandbox.tree());
    }
}

#[test]
fn two_inits_at_once_make_one_project() {
    let lines = ["one", "two"]
        .map(|name| format!("init sub/new --domain example.com --project-name {name}"));
    let expected = lines.clone().map(|line| {
        let sandbox = Sandbox::new();
        sandbox.kbr(&line).success();
        sandbox.tree()
    });
    for _ in 0..6 {
        let sandbox = Sandbox::new();
        let succeeded = at_once(sandbox.path(), [&lines[0], &lines[1]]);
        let winner = match succeeded {
            [true, false] => &expected[0],
            [false, true] => &expected[1],
            both => panic!("{both:?}"),
        };
        assert_same(winner, &sandbox.tree());
    }
}
