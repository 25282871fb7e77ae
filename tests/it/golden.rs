//! The golden projects under `testdata/`: regenerated and compared file by file in both directions,
//! and, apart from that, compiled, linted and tested.
//!
//! A golden is the result of its `NAME.steps`, which are commands of kbr and of cargo. The files of
//! `NAME.overlay`, if it exists, are copied over it before `kbr manifests`, and before a crate of the overlay
//! is added.
//! `KBR_OVERWRITE=1 cargo test --test it golden::is_written` regenerates them and builds only their API
//! types. `golden::works` builds and tests them.
//!
//! Of the proofs of least privilege, which take longer than all else, a run makes one in [`SAMPLE`], and tries some
//! crashes of the same project: the commit that is checked out decides whose. `KBR_PROVE=all` makes all, and
//! `KBR_PROVE=7` those of the seed 7.
//!
//! Only [`SHOWCASE`] is committed with its vendored crates; the other goldens have a link to them, so that each of them
//! builds as it is.

use std::collections::BTreeMap;
use std::fs;
use std::io::Write;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::LazyLock;
use std::time::{Duration, SystemTime};

use crate::support::{
    REPOSITORY, Sandbox, assert_same, cargo, cargo_into, compiling, copy, differences, kbr, names,
    target, tree,
};

/// The golden that is committed with its vendored crates.
pub const SHOWCASE: &str = "cronjob";

/// The folder of the vendored crates, which is a link to [`SHARED`] in the other goldens.
const VENDORED: &str = "third_party";

/// The vendored crates of [`SHOWCASE`], as a link in another golden leads to them.
const SHARED: &str = "../cronjob/third_party";

/// Every golden, by its folder under `testdata/`, which is its project's name as well.
pub const GOLDENS: [&str; 10] = [
    "cronjob",
    "foo",
    "guestbook",
    "manager",
    "memcached",
    "multigroup",
    "multiversion",
    "myjob",
    "namespaced",
    "scaffold",
];

fn testdata(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("testdata").join(name)
}

/// The lines of a golden's steps.
pub fn steps(name: &str) -> Vec<String> {
    let path = testdata(&format!("{name}.steps"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// Generates the golden in an empty folder, exactly as its steps say.
fn regenerate(name: &str, folder: &Path) {
    for step in steps(name) {
        run_step(&step, name, folder);
    }
}

/// Runs one step.
fn run_step(step: &str, name: &str, folder: &Path) {
    let words: Vec<&str> = step.split_whitespace().collect();
    let overlay = testdata(&format!("{name}.overlay"));
    let needs_overlay = matches!(
        words[..],
        ["kbr", "manifests"] | ["cargo", "add", .., "--path", _]
    );
    if needs_overlay && overlay.exists() {
        copy(&overlay, folder);
    }
    match words[..] {
        ["kbr", ref args @ ..] => drop(kbr(folder, args).success()),
        ["cargo", "add", ..] => add_dependency(&testdata(name), folder, &step["cargo ".len()..]),
        // Only for users who type the steps; `golden::works` checks the result.
        ["cargo", "build", ..] => {}
        _ => panic!("a step is a command of kbr, `cargo add` or `cargo build`: {step}"),
    }
}

/// Adds a dependency that kbr does not emit.
///
/// Its own dependencies keep the versions of the golden in the repository, so that new releases of other
/// crates make no difference; without a golden they are the newest.
fn add_dependency(golden: &Path, folder: &Path, add: &str) {
    let lock = folder.join("Cargo.lock");
    let before = fs::read_to_string(&lock).expect("a lock");
    assert!(cargo(folder, add), "{add}");
    let committed = fs::read_to_string(golden.join("Cargo.lock")).unwrap_or_default();
    let pinned = before.clone() + &missing_packages(&before, &committed);
    fs::write(&lock, pinned).expect("a lock");
    assert!(
        cargo(folder, "update --workspace --quiet"),
        "the lock after `cargo {add}`"
    );
}

/// The packages of `other` whose names `lock` does not have.
fn missing_packages(lock: &str, other: &str) -> String {
    const SEPARATOR: &str = "\n[[package]]\n";
    let missing = other.split(SEPARATOR).skip(1).filter(|package| {
        let name = package.lines().next().expect("a name");
        !lock.contains(&format!("{SEPARATOR}{name}\n"))
    });
    missing
        .map(|package| format!("{SEPARATOR}{package}"))
        .collect()
}

/// Regenerates one golden and compares it with the one in the repository, or overwrites that one.
fn compare(name: &str) {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    regenerate(name, sandbox.path());
    if name != SHOWCASE {
        let vendored = sandbox.path().join(VENDORED);
        fs::remove_dir_all(&vendored).expect("the vendored crates are removed");
        symlink(SHARED, vendored).expect("a link to those of the showcase");
    }
    let golden = testdata(name);
    if std::env::var_os("KBR_OVERWRITE").is_some() {
        if golden.exists() {
            fs::remove_dir_all(&golden).expect("the old golden is removed");
        }
        copy(sandbox.path(), &golden);
    }
    let differences = differences(&tree(&golden), &sandbox.tree());
    assert!(
        differences.is_empty(),
        "testdata/{name} is not what kbr generates; `KBR_OVERWRITE=1 cargo test --test it \
         golden::is_written` regenerates it:\n{}",
        differences.join("\n")
    );
}

/// Copies a golden out of the repository, with the vendored crates.
pub fn check_out(name: &str, folder: &Path) {
    copy(&testdata(name), folder);
    if name != SHOWCASE {
        let vendored = folder.join(VENDORED);
        fs::remove_file(&vendored).expect("the link is removed");
        copy(&testdata(SHOWCASE).join(VENDORED), &vendored);
    }
    share_runtime(folder);
}

/// Lets cargo compile the vendored crates once for all projects: in each they have the same text and the same
/// path in the workspace, so the same modification times are all that is needed.
///
/// With another text, cargo would use the artifacts of one for the other.
pub fn share_runtime(folder: &Path) {
    let (original, copied) = (testdata(SHOWCASE).join(VENDORED), folder.join(VENDORED));
    let files = tree(&original);
    assert_same(&files, &tree(&copied));
    for path in files.keys() {
        let original = fs::metadata(original.join(path)).expect("a file");
        let copied = fs::File::options().write(true).open(copied.join(path));
        let modified = original.modified().expect("a time");
        let set = copied.expect("a file").set_modified(modified);
        set.expect("the same time");
    }
}

/// Builds and tests a golden as it is in the repository.
fn check(name: &str) {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    check_out(name, sandbox.path());
    check_project(name, sandbox.path());
}

/// Checks that a project builds without a warning and with its own lock, is formatted, linted, tested
/// and up to date. Its own files are new, so cargo reuses nothing of an earlier run for them.
pub fn check_project(name: &str, folder: &Path) {
    share_runtime(folder);
    let lock = fs::read_to_string(folder.join("Cargo.lock")).expect("a lock");
    for line in [
        "fmt --all --check",
        "clippy --workspace --all-targets --locked -- -D warnings",
        // With the features of an operator in a cluster; the tests build all binaries with more.
        "check",
        "test --workspace --locked --quiet",
    ] {
        succeeds(folder, line);
    }
    if is_proved(name, *SEED) {
        succeeds(folder, "test --test rbac --locked --quiet");
        // All of them take minutes: `make test-crash` tries them by hand. Where an object has no namespace, one run at a
        // time takes four seconds.
        let seed = SEED.unwrap_or_default();
        let sample = format!("test --test crash --locked --quiet -- --sample 16 --seed {seed}");
        succeeds(folder, &sample);
    }
    let now = fs::read_to_string(folder.join("Cargo.lock")).expect("a lock");
    assert_eq!(lock, now, "a plain `cargo check` leaves the lock untouched");
    kbr(folder, &["manifests", "--check"]).success();
}

#[track_caller]
fn succeeds(folder: &Path, line: &str) {
    let is_done = cargo(folder, line);
    assert!(is_done, "`cargo {line}` in {}", folder.display());
}

/// One in this many projects is proved to have least privilege.
const SAMPLE: u64 = 5;

/// Decides which projects are proved; `None` stands for all.
static SEED: LazyLock<Option<u64>> = LazyLock::new(|| {
    let asked = std::env::var("KBR_PROVE").unwrap_or_default();
    let seed = match asked.as_str() {
        "all" => return None,
        "" => seed_of_commit(),
        number => number.parse().expect("KBR_PROVE is a number, or `all`"),
    };
    let said =
        format!("least privilege is proved for some projects: KBR_PROVE={seed} repeats it\n");
    let _ = std::io::stderr().write_all(said.as_bytes());
    Some(seed)
});

/// 0 for a copy of the repository without git.
fn seed_of_commit() -> u64 {
    let mut git = Command::new("git");
    git.args(["rev-parse", "HEAD"]).current_dir(REPOSITORY);
    let commit = git.output().map(|output| output.stdout).unwrap_or_default();
    let commit = String::from_utf8_lossy(&commit);
    let start = commit.get(..8).unwrap_or_default();
    u64::from_str_radix(start, 16).unwrap_or(0)
}

/// Whether the seed chooses the project with that name. All names that are not a golden's share a place.
fn is_proved(name: &str, seed: Option<u64>) -> bool {
    let place = GOLDENS.iter().position(|golden| *golden == name);
    let place = place.unwrap_or(GOLDENS.len()) as u64;
    seed.is_none_or(|seed| (place + seed % SAMPLE).is_multiple_of(SAMPLE))
}

#[test]
fn each_project_is_proved_for_one_seed_in_some_and_when_all_are_asked_for() {
    for name in GOLDENS.iter().chain(&["another"]) {
        let proved = (0..SAMPLE).filter(|seed| is_proved(name, Some(*seed)));
        assert_eq!(proved.count(), 1, "{name}");
        assert!(is_proved(name, None));
    }
}

#[test]
#[should_panic(expected = "kbr-runtime/src/lib.rs:")]
fn an_edited_runtime_is_not_shared() {
    let sandbox = Sandbox::with_project();
    share_runtime(sandbox.path());
    let lib = "third_party/kbr-runtime/src/lib.rs";
    let text = sandbox.read(lib) + "// edited\n";
    sandbox.write(lib, &text);
    share_runtime(sandbox.path());
}

/// How many steps of `multigroup` are taken between builds, so that the test takes a minute.
const SAMPLED: usize = 5;

#[test]
fn a_project_builds_after_any_command() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    let steps = steps("multigroup");
    for (at, step) in steps.iter().enumerate() {
        run_step(step, "multigroup", sandbox.path());
        if at % SAMPLED == SAMPLED - 1 {
            let check = "check --workspace --all-targets --locked";
            share_runtime(sandbox.path());
            assert!(cargo(sandbox.path(), check), "after `{step}`");
        }
    }
}

/// The goldens in the repository are what kbr generates.
mod is_written {
    #[test]
    fn cronjob() {
        super::compare("cronjob");
    }

    #[test]
    fn foo() {
        super::compare("foo");
    }

    #[test]
    fn guestbook() {
        super::compare("guestbook");
    }

    #[test]
    fn manager() {
        super::compare("manager");
    }

    #[test]
    fn memcached() {
        super::compare("memcached");
    }

    #[test]
    fn multigroup() {
        super::compare("multigroup");
    }

    #[test]
    fn multiversion() {
        super::compare("multiversion");
    }

    #[test]
    fn myjob() {
        super::compare("myjob");
    }

    #[test]
    fn namespaced() {
        super::compare("namespaced");
    }

    #[test]
    fn scaffold() {
        super::compare("scaffold");
    }
}

/// The goldens in the repository build, are linted, and pass their tests.
mod works {
    #[test]
    fn cronjob() {
        super::check("cronjob");
    }

    #[test]
    fn foo() {
        super::check("foo");
    }

    #[test]
    fn guestbook() {
        super::check("guestbook");
    }

    #[test]
    fn manager() {
        super::check("manager");
    }

    #[test]
    fn memcached() {
        super::check("memcached");
    }

    #[test]
    fn multigroup() {
        super::check("multigroup");
    }

    #[test]
    fn multiversion() {
        super::check("multiversion");
    }

    #[test]
    fn myjob() {
        super::check("myjob");
    }

    #[test]
    fn namespaced() {
        super::check("namespaced");
    }

    #[test]
    fn scaffold() {
        super::check("scaffold");
    }
}

/// Cargo distinguishes packages of different workspaces only by their names. If two packages had the same
/// name, it would use the artifacts of one for the other.
#[test]
fn every_golden_has_a_test_and_unique_package_names() {
    let mut found = names(&testdata(""));
    found.retain(|name| !name.contains('.'));
    assert_eq!(found, GOLDENS);
    let mut packages = BTreeMap::new();
    for golden in GOLDENS {
        let files = tree(&testdata(golden)).into_iter();
        let manifests =
            files.filter(|(path, _)| path.ends_with("Cargo.toml") && !path.starts_with(VENDORED));
        for (path, text) in manifests {
            let name = text.lines().find_map(|line| line.strip_prefix("name = "));
            let name = name.unwrap_or_else(|| panic!("{golden}/{path}")).to_owned();
            let other = packages.insert(name, golden);
            assert_eq!(other, None, "{golden}/{path}");
        }
        assert_eq!(packages.get(&format!("\"{golden}\"")), Some(&golden));
    }
}

/// Nonsense with an old modification time does not build, whatever another golden left in the target directory.
#[test]
fn one_target_directory_never_mixes_up_goldens() {
    let _one_at_a_time = compiling();
    let folder = tempfile::tempdir().expect("a folder");
    // Only the package with the nonsense: the rest of a golden takes a minute.
    let build = |name: &str| {
        let line = format!("build --locked --quiet --package {name}-api");
        cargo_into(&folder.path().join(name), &line, &target())
    };
    let [other, planted] = ["manager", "scaffold"];
    for name in [other, planted] {
        check_out(name, &folder.path().join(name));
        forget(&folder.path().join(name), name, &target());
    }
    plant_nonsense(&folder.path().join(planted));
    assert!(build(other), "{other}");
    assert!(!build(planted), "nonsense in {planted} was built");
}

/// Removes the artifacts of the golden's API types from the target directory, as if it were
/// empty; those of other crates, which all goldens share, may stay.
fn forget(folder: &Path, name: &str, target: &Path) {
    let line = format!("clean --quiet -p {name}-api");
    assert!(cargo_into(folder, &line, target), "{line}");
}

fn plant_nonsense(project: &Path) {
    let path = project.join("api/src/lib.rs");
    fs::write(&path, "nonsense\n").expect("the file");
    let old = SystemTime::now() - Duration::from_secs(10 * 365 * 24 * 3600);
    let file = fs::File::options()
        .write(true)
        .open(&path)
        .expect("the file");
    file.set_modified(old).expect("an old time");
}

#[test]
fn a_missing_line_in_any_file_is_a_difference() {
    for name in GOLDENS {
        let golden = tree(&testdata(name));
        for (path, text) in golden.iter().filter(|(_, text)| !text.is_empty()) {
            let less: String = text.split_inclusive('\n').skip(1).collect();
            let changed = BTreeMap::from([(path.clone(), less)]);
            let one = BTreeMap::from([(path.clone(), text.clone())]);
            assert_eq!(differences(&one, &changed).len(), 1, "{path}");
            assert_eq!(
                differences(&one, &BTreeMap::new()),
                [format!("{path} is missing")]
            );
            assert_eq!(
                differences(&BTreeMap::new(), &one),
                [format!("{path} is unexpected")]
            );
        }
    }
}

#[test]
fn a_dependency_that_is_added_keeps_the_versions_of_the_golden() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    sandbox
        .kbr("init --domain example.com --project-name added")
        .success();
    let embedded = sandbox.read("Cargo.lock");
    let golden = Sandbox::new();

    // A package that is in the lock: the only new line is the dependency.
    add_dependency(
        golden.path(),
        sandbox.path(),
        "add --package added tokio-util@0.7",
    );
    let lock = sandbox.read("Cargo.lock");
    assert_ne!(lock, embedded);
    assert_eq!(
        lock.replacen(" \"tokio-util\",\n", "", 1).len(),
        embedded.len()
    );

    // A package that is not: its version is the golden's, not the newest.
    let older = "\n[[package]]\nname = \"fnv\"\nversion = \"1.0.6\"\n\
                source = \"registry+https://github.com/rust-lang/crates.io-index\"\n";
    assert!(
        !embedded.contains("name = \"fnv\""),
        "choose another package for this test"
    );
    golden.write("Cargo.lock", &format!("{embedded}{older}"));
    add_dependency(golden.path(), sandbox.path(), "add --package added fnv@1");
    let lock = sandbox.read("Cargo.lock");
    assert!(lock.contains("name = \"fnv\"\nversion = \"1.0.6\"\n"));
}
