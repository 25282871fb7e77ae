//! The golden projects apart from the showcase build, are linted, and pass their tests.

use std::fs;
use std::path::Path;
use std::time::{Duration, SystemTime};

use crate::support::goldens::{
    GOLDENS, SHOWCASE, check, check_out, run_step, share_runtime, steps,
};
use crate::support::{Sandbox, cargo, cargo_into, compiling, target};

mod works {
    use super::check;

    #[test]
    fn foo() {
        check("foo");
    }

    #[test]
    fn guestbook() {
        check("guestbook");
    }

    #[test]
    fn manager() {
        check("manager");
    }

    #[test]
    fn memcached() {
        check("memcached");
    }

    #[test]
    fn multigroup() {
        check("multigroup");
    }

    #[test]
    fn multiversion() {
        check("multiversion");
    }

    #[test]
    fn myjob() {
        check("myjob");
    }

    #[test]
    fn namespaced() {
        check("namespaced");
    }

    #[test]
    fn scaffold() {
        check("scaffold");
    }
}

/// Each golden apart from the showcase has a test above.
#[test]
fn every_golden_is_tested() {
    let text = include_str!("goldens.rs");
    for name in GOLDENS.iter().filter(|name| **name != SHOWCASE) {
        assert!(
            text.contains(&format!("        check(\"{name}\");\n")),
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
            let check = "check --workspace --all-targets --locked";
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
