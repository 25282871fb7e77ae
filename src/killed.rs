//! kbr is killed at every write of every command that writes, and typed again.
//!
//! The process that is killed is this test binary, which runs itself with the one test that starts
//! it: `apply::faults` ends it before its nth write, for n = 1, 2, 3 until it is done before that.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs;
use std::path::Path;
use std::process::{Command, exit};

use tempfile::TempDir;

use crate::apply::faults::{self, KILLED};
use crate::cli::Cli;
use crate::commands;
use crate::error::Result;
use crate::report::Report;

/// Says to the process that is to be killed: the line, the write that fails, the one that is the end.
const TO_CHILD: &str = "KBR_TEST_KILLED";

const INIT: &str = "init --domain example.com --project-name sandbox";
const API: &str = "create api --kind Foo";
const WEBHOOK: &str = "create webhook --kind Foo --defaulting --programmatic-validation";

/// Every file below a folder, and every folder, by path; folders end in a slash.
type Files = BTreeMap<String, Vec<u8>>;

/// Runs a line in `folder`, in this process.
fn kbr(folder: &Path, line: &str) -> Result<()> {
    let words = ["kbr", "--output", "json", "-C"].map(OsString::from);
    let words = words.into_iter().chain([folder.into()]);
    let words: Vec<OsString> = words.chain(line.split_whitespace().map(Into::into)).collect();
    let cli = Cli::of(&words).expect("a line that can be parsed");
    let report = Report::new(&cli);
    commands::run(cli, &report)
}

/// How a process ended that ran a line.
#[derive(Debug, PartialEq, Eq)]
enum End {
    Done,
    Refused,
    Killed,
}

/// The test that is running, which another process runs as well.
struct Child {
    test: &'static str,
}

impl Child {
    /// In the process that is to be killed it runs the line, and never returns.
    fn of(test: &'static str) -> Self {
        if let Ok(told) = env::var(TO_CHILD) {
            let mut told = told.splitn(3, ' ');
            let mut next = || told.next().expect("three words");
            let (fails_at, ends_at) = (next().parse(), next().parse());
            faults::set(fails_at.expect("a number"), ends_at.expect("a number"));
            let done = kbr(Path::new("."), next());
            exit(i32::from(done.is_err()));
        }
        Self { test }
    }

    /// Runs a line in another process.
    fn run(&self, folder: &Path, line: &str, fails_at: usize, ends_at: usize) -> End {
        let mut child = Command::new(env::current_exe().expect("this program"));
        child.args(["--exact", self.test, "--test-threads=1"]);
        child.env(TO_CHILD, format!("{fails_at} {ends_at} {line}"));
        let output = child.current_dir(folder).output().expect("it runs");
        match output.status.code() {
            Some(0) => End::Done,
            Some(1) => End::Refused,
            Some(KILLED) => End::Killed,
            _ => panic!("{output:?}"),
        }
    }
}

fn files(folder: &Path) -> Files {
    let mut found = Files::new();
    walk(folder, "", &mut found);
    found
}

fn walk(folder: &Path, prefix: &str, found: &mut Files) {
    for entry in fs::read_dir(folder).expect("a folder") {
        let path = entry.expect("an entry").path();
        let name = path.file_name().expect("a name").to_string_lossy();
        if path.is_dir() {
            let name = format!("{prefix}{name}/");
            walk(&path, &name, found);
            found.insert(name, Vec::new());
        } else {
            found.insert(format!("{prefix}{name}"), fs::read(&path).expect("a file"));
        }
    }
}

/// A folder with those files.
fn folder(files: &Files) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, _) in files.iter().filter(|(name, _)| name.ends_with('/')) {
        fs::create_dir_all(folder.path().join(name)).expect("a folder");
    }
    for (name, text) in files.iter().filter(|(name, _)| !name.ends_with('/')) {
        fs::write(folder.path().join(name), text).expect("a file");
    }
    folder
}

#[track_caller]
fn assert_same(expected: &Files, actual: &Files, when: &str) {
    let names = expected.keys().chain(actual.keys());
    let different: Vec<&String> = names
        .filter(|name| expected.get(*name) != actual.get(*name))
        .collect();
    assert!(different.is_empty(), "{when}: {different:?}");
}

/// What stands before a line is typed, and after it.
struct Case {
    line: &'static str,
    old: Files,
    new: Files,
}

impl Case {
    fn new(line: &'static str, before: &[&str], written: &[(&str, &str)]) -> Self {
        let start = tempfile::tempdir().expect("a folder");
        for line in before {
            kbr(start.path(), line).expect("no refusal");
        }
        for (path, text) in written {
            let path = start.path().join(path);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        let old = files(start.path());
        kbr(start.path(), line).expect("no refusal");
        let new = files(start.path());
        assert_ne!(old, new, "`{line}` writes something");
        Self { line, old, new }
    }

    /// Killed before whichever write, typed again it gives what it would have given at once.
    fn is_finished_when_typed_again(&self, child: &Child, fails_at: usize) {
        for ends_at in fails_at + 1.. {
            let folder = folder(&self.old);
            let end = child.run(folder.path(), self.line, fails_at, ends_at);
            if end != End::Killed {
                let (expected, code) = match fails_at {
                    0 => (&self.new, End::Done),
                    _ => (&self.old, End::Refused),
                };
                assert_eq!(end, code);
                assert_same(expected, &files(folder.path()), self.line);
                return;
            }
            let when = format!("`{}` killed before write {ends_at}", self.line);
            kbr(folder.path(), self.line).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert_same(&self.new, &files(folder.path()), &when);
        }
    }

    /// Whichever write fails, the old tree is there afterwards; returns how many there are.
    fn leaves_the_old_tree_when_a_write_fails(&self, child: &Child) -> usize {
        for fails_at in 1.. {
            let folder = folder(&self.old);
            if child.run(folder.path(), self.line, fails_at, 0) == End::Done {
                return fails_at - 1;
            }
            let when = format!("write {fails_at} of `{}` failed", self.line);
            assert_same(&self.old, &files(folder.path()), &when);
        }
        unreachable!("a command has an end")
    }
}

#[test]
fn init_is_finished_when_typed_again() {
    let child = Child::of("killed::init_is_finished_when_typed_again");
    Case::new(INIT, &[], &[]).is_finished_when_typed_again(&child, 0);
}

#[test]
fn create_api_is_finished_when_typed_again() {
    let child = Child::of("killed::create_api_is_finished_when_typed_again");
    Case::new(API, &[INIT], &[]).is_finished_when_typed_again(&child, 0);
}
