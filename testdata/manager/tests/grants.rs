// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Excess permissions in a role are found, and so are those that cannot be proved.
//!
//! The proof runs the tests in `roles.rs`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;
use std::process::{Command, Output};

/// The variable with the test target, for a process that must prove the roles with it.
const SUITE: &str = "PROVE_THE_ROLES_WITH";

#[test]
fn the_proof() {
    if let Ok(suite) = std::env::var(SUITE) {
        let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/it/bad/too-much");
        kbr_testing::least_privilege(project, &suite);
    }
}

/// Runs the proof in a separate process, where its output is captured as usual; it must fail.
///
/// Returns what the test runner shows at the end, and the progress output before it.
#[track_caller]
fn failed_proof(suite: &str) -> (String, String) {
    failed_proof_of(suite, "")
}

/// The same, of the permissions whose marker contains `only`.
#[track_caller]
fn failed_proof_of(suite: &str, only: &str) -> (String, String) {
    let mut this = Command::new(std::env::current_exe().unwrap());
    this.args(["--exact", "the_proof"]);
    this.env(SUITE, suite).env("RUST_BACKTRACE", "0");
    this.env("KBR_RBAC_ONLY", only);
    let Output {
        status,
        stdout,
        stderr,
    } = this.output().unwrap();
    let text = |bytes| String::from_utf8(bytes).unwrap();
    let (stdout, stderr) = (text(stdout), text(stderr));
    assert_eq!(status.code(), Some(101), "{stdout}\n{stderr}");
    (stdout, stderr)
}

/// Whether this process runs these tests for a proof.
fn is_proved_with() -> bool {
    std::env::var_os(SUITE).is_some()
}

#[test]
fn needed_permissions_are_proved_and_the_others_are_reported() {
    if is_proved_with() {
        return;
    }

    let (text, progress) = failed_proof("roles");

    let all = PROOFS.len() + NOT_PROVED.len();
    let lines = progress.lines().filter_map(|line| line.strip_prefix('['));
    let lines: Vec<(&str, &str)> = lines.filter_map(|line| line.split_once("] ")).collect();
    let numbers: Vec<&str> = lines.iter().map(|(number, _)| *number).collect();
    let expected: Vec<String> = (1..=all).map(|number| format!("{number}/{all}")).collect();
    assert_eq!(numbers, expected, "{progress}");
    for (marker, outcome) in PROOFS.iter().chain(&NOT_PROVED) {
        let is_shown =
            |(_, line): &(&str, &str)| line.starts_with(marker) && line.contains(outcome);
        assert!(
            lines.iter().any(is_shown),
            "no {marker}{outcome} in {progress}"
        );
    }
    let paragraphs: Vec<&str> = text.split("\n\n").collect();
    for fault in FAULTS {
        assert!(paragraphs.contains(&fault), "{fault}: {text}");
    }
    let unexplained = paragraphs
        .iter()
        .find_map(|text| text.strip_prefix(UNEXPLAINED));
    let (log, end) = unexplained.unwrap().split_once(", ends with\n").unwrap();
    assert!(
        Path::new(log.strip_prefix("; its output, ").unwrap()).exists(),
        "{log}"
    );
    let failed = "\n    the_manager_reads_metrics_and_might_list_nodes\n";
    assert!(end.contains(failed), "{end}");
    assert_eq!(text.matches("Role `").count(), 4, "{text}");
}

#[test]
fn only_the_permissions_that_are_asked_for_are_tried() {
    if is_proved_with() {
        return;
    }

    let (text, progress) = failed_proof_of("roles", "resources=configmaps,verbs=delete");

    let tried = progress.lines().filter(|line| line.starts_with('['));
    assert_eq!(tried.count(), 1, "{progress}");
    let line = "[1/1] // +kbr:rbac:groups=core,resources=configmaps,verbs=delete: ";
    assert!(progress.contains(line), "{progress}");
    assert!(!text.contains("resources=nodes"), "{text}");

    let (text, _) = failed_proof_of("roles", "resources=tables");

    let refusal = "no permission of the manager contains `resources=tables`, which KBR_RBAC_ONLY \
                   asks for: set it to a part of a marker, such as `resources=pods`";
    assert!(text.contains(refusal), "{text}");
}

#[test]
fn the_proof_must_not_be_one_of_the_tests_that_it_runs() {
    if is_proved_with() {
        return;
    }

    let (text, _) = failed_proof("grants");

    let broken = "the tests also fail with all permissions, so nothing is proved: \
                  the run ended with exit status: 1; its output, ";
    assert!(text.contains(broken), "{text}");
    let advice = "\nerror: the proof is one of the tests that it runs: \
                  give it a test target of its own\n";
    assert!(text.contains(advice), "{text}");
}

#[test]
fn tests_that_do_not_build_prove_nothing_and_the_error_of_cargo_is_shown() {
    if is_proved_with() {
        return;
    }

    let (text, said) = failed_proof("absent");

    let error = "could not build the test target `absent`: cargo ended with exit status: 101\n";
    assert!(text.contains(error), "{text}");
    assert!(said.contains("no test target named `absent`"), "{said}");
}

/// Each needed permission, and what the API server says without it.
const PROOFS: [(&str, &str); 7] = [
    (
        "// +kbr:rbac:groups=core,resources=configmaps,verbs=create: ",
        "cannot create resource \"configmaps\" in API group \"\" in the namespace",
    ),
    (
        "// +kbr:rbac:groups=core,resources=configmaps,verbs=patch: ",
        "cannot patch resource \"configmaps\" in API group \"\" in the namespace",
    ),
    (
        "// +kbr:rbac:groups=core,resources=configmaps/finalizers,verbs=update: ",
        "a resource you can't set finalizers on",
    ),
    (
        "// +kbr:rbac:groups=core,resources=pods,verbs=get: ",
        "attempting to grant RBAC permissions not currently held:",
    ),
    (
        "// +kbr:rbac:groups=core,resources=secrets,resourceNames=known,verbs=get: ",
        "secrets \"known\" is forbidden: User \"system:serviceaccount:system:manager\" cannot get",
    ),
    (
        "// +kbr:rbac:groups=rbac.authorization.k8s.io,resources=roles,verbs=create: ",
        "cannot create resource \"roles\" in API group \"rbac.authorization.k8s.io\"",
    ),
    (
        "// +kbr:rbac:urls=/metrics,verbs=get: ",
        "forbidden: User \"system:serviceaccount:system:manager\" cannot get path \"/metrics\"",
    ),
];

/// Each permission that is not proved, and what is shown about it in the progress.
const NOT_PROVED: [(&str, &str); 2] = [
    (
        "// +kbr:rbac:groups=core,resources=configmaps,verbs=delete: ",
        "the tests pass without it",
    ),
    (
        "// +kbr:rbac:groups=core,resources=nodes,verbs=list: ",
        "the tests fail without it, but no request was refused for lack of it",
    ),
];

/// What is reported at the end.
const FAULTS: [&str; 3] = [
    "ClusterRole `view`\n\
     is bound to the manager, but is not defined in `config/default`: \
     bind a role of the project that grants what the manager needs from it",
    "// +kbr:rbac:groups=core,resources=configmaps,verbs=delete\n\
     ClusterRole `manager-role` grants it, but without it the tests pass: \
     remove it from its marker and run `kbr manifests`, or test what needs it",
    "// +kbr:rbac:groups=batch,resources=*,verbs=list\n\
     ClusterRole `manager-role` grants more with it than the tests can prove to be needed: \
     write what they use instead:\n  \
       // +kbr:rbac:groups=batch,resources=jobs,verbs=list",
];

/// What is reported about a permission that no request needs, before the output of the tests.
const UNEXPLAINED: &str = "// +kbr:rbac:groups=core,resources=nodes,verbs=list\n\
     ClusterRole `manager-role` grants it, and without it the tests fail, \
     but the API server refused no request for lack of it: the run ended with exit status: 101";
