//! The golden projects under `testdata/`, as tests copy, build and test them.
//!
//! Of the proofs of least privilege, which take longer than all else, a run makes one in [`SAMPLE`], and tries some
//! crashes of the same project: the commit that is checked out decides whose. `KBR_PROVE=all` makes all, and
//! `KBR_PROVE=7` those of the seed 7.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

use super::random::first_seed;
use super::{REPOSITORY, Sandbox, assert_same, cargo, copy, differences, kbr, say, target, tree};

/// The golden that is read first. Its vendored crates are links to `templates/`, and those of the others a link to them.
pub const SHOWCASE: &str = "cronjob";

/// The folder of the vendored crates.
pub const VENDORED: &str = "third_party";

pub const RUNTIME: &str = "kbr-runtime";

pub const TESTING: &str = "kbr-testing";

/// The vendored crates, by their names.
pub const CRATES: [&str; 2] = [RUNTIME, TESTING];

/// A crate in the folder where it is edited.
pub fn in_place(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("templates").join(name)
}

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

pub fn testdata(name: &str) -> PathBuf {
    Path::new(REPOSITORY).join("testdata").join(name)
}

/// The lines of a golden's steps.
pub fn steps(name: &str) -> Vec<String> {
    let path = testdata(&format!("{name}.steps"));
    let text =
        fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    text.lines().map(str::to_owned).collect()
}

/// Runs one step.
pub fn run_step(step: &str, name: &str, folder: &Path) {
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
        // Only for users who type the steps; `goldens::works` checks the result.
        ["cargo", "build", ..] => {}
        _ => panic!("a step is a command of kbr, `cargo add` or `cargo build`: {step}"),
    }
}

/// Adds a dependency that kbr does not emit.
///
/// Its own dependencies keep the versions of the golden in the repository, so that new releases of other
/// crates make no difference; without a golden they are the newest.
pub fn add_dependency(golden: &Path, folder: &Path, add: &str) {
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
pub fn missing_packages(lock: &str, other: &str) -> String {
    const SEPARATOR: &str = "\n[[package]]\n";
    let missing = other.split(SEPARATOR).skip(1).filter(|package| {
        let name = package.lines().next().expect("a name");
        !lock.contains(&format!("{SEPARATOR}{name}\n"))
    });
    missing
        .map(|package| format!("{SEPARATOR}{package}"))
        .collect()
}

/// Copies a golden out of the repository, with a link to the vendored crates.
pub fn check_out(name: &str, folder: &Path) {
    copy(&testdata(name), folder);
    let committed = folder.join(VENDORED);
    let is_removed = match committed.is_symlink() {
        true => fs::remove_file(&committed),
        false => fs::remove_dir_all(&committed),
    };
    is_removed.expect("the links are removed");
    symlink(vendored(), committed).expect("a link");
}

/// The vendored crates as kbr writes them: every project that is compiled has a link to this folder.
///
/// Cargo compiles them once for all projects, and would use the artifacts of one text for another one.
pub fn vendored() -> &'static Path {
    static WRITTEN: LazyLock<PathBuf> = LazyLock::new(|| {
        let sandbox = Sandbox::with_project();
        let (new, shared) = (sandbox.path().join(VENDORED), target().join(VENDORED));
        fs::create_dir_all(target()).expect("the target directory");
        // Other targets do the same.
        let lock = File::create(shared.with_extension("lock")).expect("the file of the lock");
        lock.lock().expect("the lock");
        // Untouched files are not compiled again.
        if !shared.exists() || !differences(&tree(&new), &tree(&shared)).is_empty() {
            let _ = fs::remove_dir_all(&shared);
            copy(&new, &shared);
        }
        shared
    });
    &WRITTEN
}

/// Lets a project that kbr has written use the vendored crates that are compiled for all.
pub fn share_runtime(folder: &Path) {
    let own = folder.join(VENDORED);
    if !own.is_symlink() {
        assert_same(&tree(vendored()), &tree(&own));
        fs::remove_dir_all(&own).expect("the copies are removed");
        symlink(vendored(), own).expect("a link");
    }
}

/// Builds and tests a golden as it is in the repository.
pub fn check(name: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    check_out(name, sandbox.path());
    check_project(sandbox.path());
    sandbox
}

/// Checks that a project builds without a warning and with its own lock, is formatted, linted, tested
/// and up to date. Its own files are new, so cargo reuses nothing of an earlier run for them.
pub fn check_project(folder: &Path) {
    share_runtime(folder);
    let manifest = fs::read_to_string(folder.join("Cargo.toml")).expect("a manifest");
    let name = manifest
        .lines()
        .find_map(|line| line.strip_prefix("name = "));
    let name = name.unwrap_or_default().trim_matches('"');
    let lock = fs::read_to_string(folder.join("Cargo.lock")).expect("a lock");
    for (line, takes) in [
        ("fmt --all --check", "a second"),
        (
            "clippy --workspace --all-targets --features kbr-testing/crash,kbr-testing/development --locked -- -D warnings",
            "half a minute, and three the first time",
        ),
        // With the features of an operator in a cluster; the tests build all binaries with more.
        ("check", "seconds, and one minute the first time"),
        (
            "test --workspace --locked --quiet",
            "one to four minutes, and three more the first time",
        ),
    ] {
        say(&format!("{name}: `cargo {line}` takes {takes}"));
        succeeds(folder, line);
    }
    let now = fs::read_to_string(folder.join("Cargo.lock")).expect("a lock");
    assert_eq!(lock, now, "a plain `cargo check` leaves the lock untouched");
    kbr(folder, &["manifests", "--check"]).success();
}

/// Proves that the project has no permission that it does not need, and that it survives crashes, if the seed chooses it.
pub fn prove(name: &str, folder: &Path) {
    if !is_proved(name, *SEED) {
        return;
    }
    say(&format!(
        "{name}: the proofs of least privilege and of crashes take two minutes"
    ));
    succeeds(folder, "test --test rbac --locked --quiet");
    // All of them take minutes: `make test-crash` tries them by hand. Where an object has no namespace, one run at a
    // time takes four seconds.
    let seed = SEED.unwrap_or_default();
    let sample = format!(
        "test --test crash --features kbr-testing/crash --locked --quiet -- --sample 16 --seed {seed}"
    );
    succeeds(folder, &sample);
}

#[track_caller]
fn succeeds(folder: &Path, line: &str) {
    let is_done = cargo(folder, line);
    assert!(is_done, "`cargo {line}` in {}", folder.display());
}

/// One in this many projects is proved to have least privilege: one of the goldens, or all others.
pub const SAMPLE: u64 = 11;

/// Decides which projects are proved, and with which features the crates are linted; `None` stands for all.
pub static SEED: LazyLock<Option<u64>> = LazyLock::new(|| {
    let asked = std::env::var("KBR_PROVE").unwrap_or_default();
    let seed = match asked.as_str() {
        "all" => return None,
        "" => first_seed(),
        number => number.parse().expect("KBR_PROVE is a number, or `all`"),
    };
    say(&format!(
        "least privilege is proved for some projects, and features are drawn for lints: KBR_PROVE={seed} repeats it"
    ));
    Some(seed)
});

/// Whether the seed chooses the project with that name. All names that are not a golden's share a place.
pub fn is_proved(name: &str, seed: Option<u64>) -> bool {
    let place = GOLDENS.iter().position(|golden| *golden == name);
    let place = place.unwrap_or(GOLDENS.len()) as u64;
    seed.is_none_or(|seed| (place + seed % SAMPLE).is_multiple_of(SAMPLE))
}
