//! The golden projects apart from the showcase build, are linted, and pass their tests.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::goldens::{
    GOLDENS, SAMPLE, SHOWCASE, check, check_out, is_proved, prove, run_step, share_runtime, steps,
};
use crate::support::{Sandbox, cargo, cargo_into, compiling, target};

/// Builds and tests a golden, and proves it if it is its turn.
fn works(name: &str) {
    let _one_at_a_time = compiling();
    let sandbox = check(name);
    prove(name, sandbox.path());
}

mod works {
    use super::works;

    #[test]
    fn foo() {
        works("foo");
    }

    #[test]
    fn guestbook() {
        works("guestbook");
    }

    #[test]
    fn manager() {
        works("manager");
    }

    #[test]
    fn memcached() {
        works("memcached");
    }

    #[test]
    fn multigroup() {
        works("multigroup");
    }

    #[test]
    fn multiversion() {
        works("multiversion");
    }

    #[test]
    fn myjob() {
        works("myjob");
    }

    #[test]
    fn namespaced() {
        works("namespaced");
    }

    #[test]
    fn scaffold() {
        works("scaffold");
    }
}

/// `cargo test` does the rest of what is done with the showcase.
#[test]
fn the_showcase_is_proved() {
    let _one_at_a_time = compiling();
    let sandbox = Sandbox::new();
    check_out(SHOWCASE, sandbox.path());
    prove(SHOWCASE, sandbox.path());
}

#[test]
fn each_project_is_proved_for_one_seed_in_some_and_when_all_are_asked_for() {
    for name in GOLDENS.iter().chain(&["another"]) {
        let proved = (0..SAMPLE).filter(|seed| is_proved(name, Some(*seed)));
        assert_eq!(proved.count(), 1, "{name}");
        assert!(is_proved(name, None));
    }
}

/// Each golden apart from the showcase has a test above.
#[test]
fn every_golden_is_tested() {
    let text = include_str!("goldens.rs");
    for name in GOLDENS.iter().filter(|name| **name != SHOWCASE) {
        assert!(
            text.contains(&format!("        works(\"{name}\");\n")),
            "{name}"
        );
    }
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
            let check = "check --workspace --all-targets --features kbr-testing/crash,kbr-testing/development --locked";
            share_runtime(sandbox.path());
            assert!(cargo(sandbox.path(), check), "after `{step}`");
        }
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
