//! Kills kbr at every write of every command that writes, and then types the command again.
//!
//! The killed process is this test binary, which runs itself with the same test: `apply::faults` ends it
//! before its nth write. The commands have thousands of writes, so `cargo test` tries only some of each,
//! other ones for each commit; `tests/tools/fuzz` tries all.

mod child;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use tempfile::TempDir;

use crate::apply::RECORD;
use crate::cli::{Cli, Known};
use crate::commands;
use crate::commands::error::Result;
use crate::commands::external::tests::CRDS;
use crate::fuzz;
use crate::report::Report;
use crate::tree::TEMPORARY;
use child::{Child, End};

const INIT: &str = "init --domain example.com --project-name sandbox";
const API: &str = "create api --kind Foo";
const API_V1: &str = "create api --kind Foo --version v1 --controller=false";
const DELETE_API: &str = "delete api --kind Foo";
const WEBHOOK: &str = "create webhook --kind Foo --defaulting --programmatic-validation";

/// A marker for which `manifests` writes a webhook configuration.
const WEBHOOK_MARKER: &str = "\
// +kbr:webhook:mutating=false,path=/a,groups=core,resources=pods,verbs=create,versions=v1,name=a.b.c
pub const PATH: &str = \"/a\";
";

/// Every file and folder below a folder, by path; a folder's path ends in a slash.
type Files = BTreeMap<String, Vec<u8>>;

/// Runs a line in `folder`, in this process.
fn kbr(folder: &Path, line: &str) -> Result<()> {
    run(folder, line).1
}

fn run(folder: &Path, line: &str) -> (Report, Result<()>) {
    let options = ["kbr", "--output", "json", "-C"].map(OsString::from);
    let before = options.into_iter().chain([folder.into()]);
    let words: Vec<OsString> = before
        .chain(line.split_whitespace().map(Into::into))
        .collect();
    let cli = Cli::of(&words, &Known::default()).expect("a line that can be parsed");
    let report = Report::new(&cli);
    let done = commands::run(cli, &report);
    (report, done)
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
            let below = format!("{prefix}{name}/");
            walk(&path, &below, found);
            found.insert(below, Vec::new());
        } else {
            found.insert(format!("{prefix}{name}"), fs::read(&path).expect("a file"));
        }
    }
}

/// A folder with those files.
fn folder(files: &Files) -> TempDir {
    let folder = fuzz::folder();
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

/// A line, and the files before and after it.
struct Case {
    line: &'static str,
    old: Files,
    new: Files,
}

impl Case {
    fn new(line: &'static str, before: &[&str], written: &[(&str, &str)]) -> Self {
        let start = fuzz::folder();
        for line in before {
            kbr(start.path(), line).expect("no refusal");
        }
        for (path, text) in written {
            let file = start.path().join(path);
            fs::create_dir_all(file.parent().expect("a folder")).expect("a folder");
            fs::write(file, text).expect("a file");
        }
        let old = files(start.path());
        kbr(start.path(), line).expect("no refusal");
        let new = files(start.path());
        assert_ne!(old, new, "`{line}` writes something");
        Self { line, old, new }
    }

    /// Whichever write the line is killed before, typing it again gives the result of an uninterrupted run.
    fn is_finished_when_typed_again(&self, child: &Child, fails_at: usize) {
        let whole = folder(&self.old);
        let ran = child.run(whole.path(), self.line, fails_at, 0);
        let (expected, end) = match fails_at {
            0 => (&self.new, End::Done),
            _ => (&self.old, End::Refused),
        };
        assert_eq!(ran.end, end);
        assert_same(expected, &files(whole.path()), self.line);
        for ends_at in child.drawn(self.line, fails_at + 1, ran.writes) {
            let when = format!("`{}` killed before write {ends_at}", self.line);
            let folder = folder(&self.old);
            let ran = child.run(folder.path(), self.line, fails_at, ends_at);
            assert_eq!(ran.end, End::Killed, "{when}");
            // Often there are only temporary files so far, which make no difference to the next run.
            if ends_at % 8 != 1 && self.is_untouched(folder.path()) {
                continue;
            }
            kbr(folder.path(), self.line).unwrap_or_else(|error| panic!("{when}: {error}"));
            assert_same(&self.new, &files(folder.path()), &when);
        }
    }

    /// Whether only temporary files and empty folders were added to the old tree.
    fn is_untouched(&self, folder: &Path) -> bool {
        let mut found = files(folder);
        let is_temporary = |name: &str| name.contains(TEMPORARY) && name != RECORD;
        found.retain(|name, _| !is_temporary(name) && !name.ends_with('/'));
        let old = self.old.iter().filter(|(name, _)| !name.ends_with('/'));
        found.iter().eq(old)
    }

    /// Whichever write fails, the old tree is restored.
    fn leaves_the_old_tree_when_a_write_fails(&self, child: &Child) {
        for fails_at in child.drawn(self.line, 1, self.writes(child)) {
            let when = format!("write {fails_at} of `{}` failed", self.line);
            let folder = folder(&self.old);
            let ran = child.run(folder.path(), self.line, fails_at, 0);
            assert_eq!(ran.end, End::Refused, "{when}");
            assert_same(&self.old, &files(folder.path()), &when);
        }
    }

    /// The number of writes if none fails.
    fn writes(&self, child: &Child) -> usize {
        let ran = child.run(folder(&self.old).path(), self.line, 0, 0);
        assert_eq!(ran.end, End::Done);
        assert!(ran.writes > 50, "{} writes", ran.writes);
        ran.writes
    }
}

/// Tests that each case is finished, whenever it was killed.
macro_rules! killed {
    ($($name:ident: $case:expr;)*) => {$(
        #[test]
        fn $name() {
            let child = Child::of(concat!("killed::", stringify!($name)));
            $case.is_finished_when_typed_again(&child, 0);
        }
    )*};
}

killed! {
    init_is_finished: Case::new(INIT, &[], &[]);
    init_of_a_new_folder_is_finished: Case::new("init a/b --domain example.com --namespaced", &[], &[]);
    init_beside_files_is_finished: Case::new(INIT, &[], &[("LICENSE", "mine"), ("src/mine.rs", "mine")]);
    create_api_is_finished: Case::new(API, &[INIT], &[]);
    a_second_version_is_finished: Case::new("create api --kind Foo --version v1", &[INIT, API], &[]);
    create_api_by_force_is_finished: Case::new(
        "create api --kind Foo --force", &[INIT, API], &[("src/controller/foo_controller.rs", "mine")]
    );
    create_webhook_is_finished: Case::new(WEBHOOK, &[INIT, API], &[]);
    a_webhook_for_pods_is_finished: Case::new("create webhook --group core --version v1 --kind Pod --defaulting", &[INIT], &[]);
    a_type_of_another_operator_is_finished: Case::new(
        "create api --group cert-manager.io --version v1 --kind Certificate \
         --external-api-path cert_manager::v1::Certificate --external-api-crd crds.yaml",
        &[INIT], &[("crds.yaml", CRDS)],
    );
    an_image_is_finished: Case::new("create api --kind Foo --image a --image-port 80", &[INIT], &[]);
    update_is_finished: Case::new("update --allow-dirty", &[INIT, API], &[
        ("third_party/kbr-runtime/README.md", "old"), ("api/src/bin/crdgen.rs", "// Generated by kbr\n"),
    ]);
    conversion_is_finished: Case::new("create webhook --kind Foo --conversion --spoke v1", &[INIT, API, API_V1], &[]);
    manifests_is_finished: Case::new("manifests", &[INIT], &[
        ("config/crd/bases/example.com_gone.yaml", "# Generated by kbr\n"),
        ("src/bin/a.rs", "// +kbr:rbac:groups=batch,resources=jobs,verbs=get\n"),
        ("src/bin/b.rs", WEBHOOK_MARKER),
    ]);
    docs_is_finished: Case::new("docs", &[INIT], &[("api/README.md", "<!-- Generated by kbr -->\n")]);
    chart_is_finished: Case::new("chart", &[INIT], &[("dist/chart/values.yaml", "mine")]);
    bundle_is_finished: Case::new("bundle --version 1.2.3", &[INIT], &[("bundle.Dockerfile", "mine")]);
    delete_api_is_finished: Case::new(DELETE_API, &[INIT, API], &[]);
    delete_api_by_force_is_finished: Case::new(
        "delete api --kind Foo --force", &[INIT, API], &[("src/controller/foo_controller.rs", "mine")]
    );
    delete_api_beside_files_is_finished: Case::new(
        DELETE_API, &[INIT, API], &[("src/controller/foo_controller.rs", "mine"), ("config/crd/mine", "mine")]
    );
    delete_webhook_is_finished: Case::new(
        "delete webhook --kind Foo --defaulting --programmatic-validation", &[INIT, API, WEBHOOK], &[]
    );
    delete_controller_is_finished: Case::new("delete controller --kind Foo", &[INIT, API], &[]);
    edit_is_finished: Case::new("edit --multigroup", &[INIT, API, WEBHOOK], &[]);
    edit_beside_files_is_finished: Case::new(
        "edit --multigroup", &[INIT, API], &[("src/controller/mine.rs", ""), ("api/src/v1alpha1/foo_types/mine.txt", "")]
    );
    rename_is_finished: Case::new("rename kind --kind Foo --to Bar", &[INIT, API, WEBHOOK], &[]);
    rename_version_is_finished: Case::new("rename version --version v1alpha1 --to v1", &[INIT, API, WEBHOOK], &[]);
    rename_group_is_finished: Case::new("rename group --to batch", &[INIT, API, WEBHOOK], &[]);
    edit_name_is_finished: Case::new("edit --project-name other", &[INIT, API], &[]);
    edit_back_is_finished: Case::new("edit --multigroup=false", &[INIT, "edit --multigroup", API, WEBHOOK], &[]);
}

#[test]
fn a_write_that_fails_leaves_the_old_tree() {
    let child = Child::of("killed::a_write_that_fails_leaves_the_old_tree");
    for (line, before) in [(API, &[INIT][..]), (DELETE_API, &[INIT, API])] {
        let case = Case::new(line, before, &[]);
        case.leaves_the_old_tree_when_a_write_fails(&child);
    }
}

#[test]
fn an_undo_is_finished() {
    let child = Child::of("killed::an_undo_is_finished");
    for (line, before) in [(API, &[INIT][..]), (DELETE_API, &[INIT, API])] {
        let case = Case::new(line, before, &[]);
        case.is_finished_when_typed_again(&child, case.writes(&child));
    }
}

/// A folder in which the line was killed after it had written its record.
fn killed_half_way(case: &Case, child: &Child) -> TempDir {
    for ends_at in (1..).step_by(5) {
        let folder = folder(&case.old);
        let ran = child.run(folder.path(), case.line, 0, ends_at);
        assert_eq!(ran.end, End::Killed);
        if !case.is_untouched(folder.path()) {
            return folder;
        }
    }
    unreachable!("it writes something")
}

#[test]
fn what_finishes_the_work_may_be_killed_as_well() {
    let child = Child::of("killed::what_finishes_the_work_may_be_killed_as_well");
    let case = Case::new(DELETE_API, &[INIT, API], &[]);
    let half = files(killed_half_way(&case, &child).path());
    let whole = folder(&half);
    let ran = child.run(whole.path(), case.line, 0, 0);
    assert_eq!(ran.end, End::Done);
    assert_same(&case.new, &files(whole.path()), "not killed again");
    assert!(ran.writes > 20, "it has many writes");
    for ends_at in child.drawn(case.line, 1, ran.writes) {
        let when = format!("killed before write {ends_at} of what finishes it");
        let folder = folder(&half);
        let ran = child.run(folder.path(), case.line, 0, ends_at);
        assert_eq!(ran.end, End::Killed, "{when}");
        kbr(folder.path(), case.line).unwrap_or_else(|error| panic!("{when}: {error}"));
        assert_same(&case.new, &files(folder.path()), &when);
    }
}

#[test]
fn another_command_finishes_it_first() {
    let child = Child::of("killed::another_command_finishes_it_first");
    let folder = killed_half_way(&Case::new(API, &[INIT], &[]), &child);
    let other = "create api --kind Bar";
    kbr(folder.path(), other).expect("no refusal");
    let both = Case::new(other, &[INIT, API], &[]);
    assert_same(&both.new, &files(folder.path()), "two commands");
}

#[test]
fn typed_again_it_tells_what_it_would_have_told_at_once() {
    let child = Child::of("killed::typed_again_it_tells_what_it_would_have_told_at_once");
    let line = "create webhook --group core --version v1 --kind Pod --defaulting";
    let case = Case::new(line, &[INIT], &[]);
    let report = |folder: &Path| -> serde_json::Value {
        let ran = child.run(folder, line, 0, 0);
        assert_eq!(ran.end, End::Done);
        let at = ran.text.find('{').expect("a document");
        serde_json::from_str(&ran.text[at..]).expect("JSON")
    };
    let mut at_once = report(folder(&case.old).path());
    let again = report(killed_half_way(&case, &child).path());
    let warnings = at_once["warnings"].as_array_mut().expect("a list");
    assert_eq!(warnings.len(), 1, "of its own");
    let stopped = "an interrupted `kbr create webhook` has now been finished";
    warnings.insert(0, stopped.into());
    assert_eq!(again, at_once);
}

#[test]
fn leftovers_are_removed_and_what_only_looks_like_one_is_not() {
    let folder = fuzz::folder();
    kbr(folder.path(), INIT).expect("no refusal");
    let put = |path: &str| fs::write(folder.path().join(path), "half a file").expect("a file");
    // Leftovers of a killed kbr: three in folders that are written to, then one in a folder that is not.
    for path in [".kbr-Ab12Cd", "src/.kbr-abcdef", "config/rbac/.kbr-000000"] {
        put(path);
    }
    put("config/manager/.kbr-abcdef");
    put("src/.kbr-notes");
    put("src/.kbr-abc.ef");
    put("src/kbr-abcdef");
    fs::create_dir(folder.path().join("src/.kbr-folder")).expect("a folder");
    kbr(folder.path(), API).expect("no refusal");
    let mut left: Vec<String> = files(folder.path()).into_keys().collect();
    left.retain(|path| path.contains("kbr-") && !path.starts_with("third_party"));
    let kept = [
        "config/manager/.kbr-abcdef",
        "src/.kbr-abc.ef",
        "src/.kbr-folder/",
        "src/.kbr-notes",
        "src/kbr-abcdef",
    ];
    assert_eq!(left, kept);
}
