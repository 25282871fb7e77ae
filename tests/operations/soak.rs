//! The operator of `testdata/cronjob` under faults, for some minutes; `tests/tools/soak` runs for hours.

use std::fs;
use std::process::Command;

use crate::support::goldens::{SHOWCASE, check_out};
use crate::support::{Sandbox, assets, cargo, compiling, target};

/// Faults that once stopped all CronJobs permanently.
const FAULTS: &str = "--fault=black-hole,unreadable-at-start";

#[test]
fn each_due_run_has_one_job_despite_a_black_hole_and_an_unreadable_object() {
    // No other test compiles meanwhile: a busy machine starts runs late.
    let _alone = compiling();
    let sandbox = Sandbox::new();
    check_out(SHOWCASE, sandbox.path());
    // Built separately: together with the example, it would have the features that are only for tests.
    for line in [
        "build --locked --quiet --bin cronjob",
        "build --locked --quiet --example soak",
    ] {
        assert!(cargo(sandbox.path(), line), "{line}");
    }
    // Here the logs stay after a failure, and no later build replaces the binaries.
    let folder = target().join("soak");
    fs::create_dir_all(&folder).expect("a folder");
    for binary in ["cronjob", "examples/soak"] {
        let name = binary.trim_start_matches("examples/");
        fs::copy(target().join("debug").join(binary), folder.join(name)).expect("a binary");
    }
    let mut soak = Command::new(folder.join("soak"));
    soak.args([
        "--seed=1",
        "--duration=135s",
        "--longest=15",
        "--peace=15",
        "--at-once=1",
        FAULTS,
    ])
    .arg(folder.join("cronjob"))
    .env("KUBEBUILDER_ASSETS", assets());
    assert!(soak.status().expect("a soak").success());
}
