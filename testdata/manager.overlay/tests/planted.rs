// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! `Crash` finds each of the bugs of `src/bin/planted.rs`, and none where there is none.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

use std::path::Path;

use kbr_testing::Crash;

const SAMPLE: &str = "../../config/samples/probe_v1_task.yaml";

/// The runs with an operator with that bug, to which a sample is applied, and deleted again.
fn crash(bug: &str) -> Crash {
    let project = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/planted");
    let crash = Crash::new(project, env!("CARGO_BIN_EXE_planted")).variable("BUG", bug);
    crash.scenario("task", async |stage| {
        stage.apply(SAMPLE).await?;
        stage.settle().await?;
        stage.delete(SAMPLE).await?;
        stage.settle_empty().await
    })
}

/// Checks that a story about the bug has all these parts.
fn is_told(bug: &str, fault: &str, parts: &[&str]) {
    is_told_by(&crash(bug).only(fault), parts);
}

fn is_told_by(crash: &Crash, parts: &[&str]) {
    let stories = crash.failures().unwrap();

    let has_all = |story: &String| parts.iter().all(|part| story.contains(part));
    let all = stories.join("\n");
    assert!(
        stories.iter().any(has_all),
        "no story has {parts:#?}:\n{all}"
    );
}

#[test]
fn nothing_is_found_where_nothing_is_wrong() {
    assert_eq!(crash("").failures().unwrap(), [""; 0]);
}

/// The API server raises the version of a claim when it is applied for the second time, although nothing in it changes.
#[test]
fn nothing_is_found_where_a_claim_is_applied_again() {
    let crash = crash("claim").only("persistentvolumeclaims");
    let stories = crash.failures().unwrap();
    assert_eq!(stories, [""; 0]);
}

#[test]
fn an_adoption_by_name() {
    let parts = [
        "request:  create configmaps shared\n",
        "ConfigMap shared:\n",
        "-     name: first\n",
        "+     name: second\n",
    ];
    let crash = crash("adoption").scenario("two", async |stage| {
        stage.apply("two.yaml").await?;
        stage.settle().await
    });
    is_told_by(&crash.only("two: create configmaps shared: 429"), &parts);
}

#[test]
fn a_cleanup_that_is_not_idempotent() {
    let parts = [
        "request:  delete configmaps task-sample\n",
        "Task task-sample: there should be none, but there is one\n",
        "  delete configmaps task-sample (2): 404\n",
    ];
    is_told("cleanup", "dies after", &parts);
}

#[test]
fn a_counter_in_the_status() {
    let parts = [
        "request:  patch tasks.probe.example.com/status task-sample\n",
        "-   observedGeneration: 1\n+   observedGeneration: 2\n",
    ];
    is_told("counter", "answer lost", &parts);
}

#[test]
fn an_event_as_state() {
    let parts = [
        "request:  create events *\n",
        "ConfigMap task-sample: there should be one, but there is none\n",
    ];
    is_told("event", "dies after", &parts);
}

#[test]
fn a_finalizer_that_is_removed_too_early() {
    let parts = [
        "request:  patch tasks.probe.example.com task-sample (2)\n",
        "ConfigMap task-sample: there should be none, but there is one\n",
    ];
    is_told("finalizer", "dies after", &parts);
}

#[test]
fn a_child_with_a_generated_name() {
    let parts = [
        "request:  create configmaps task-sample-*\n",
        "fault:    answer lost: the API server carried it out, but",
        "ConfigMap task-sample-*: there should be one, but there are 2\n",
        "created according to the audit log: 2 configmaps, in the undisturbed run 1\n",
        "connection closed before message completed",
        "make test-crash CRASH_FLAGS=\"--only 'task: create configmaps task-sample-*: answer lost'\"\n",
    ];
    is_told("generated-name", "answer lost", &parts);
}

#[test]
fn what_only_the_process_knows() {
    let parts = [
        "fault:    none, this is the undisturbed run\n",
        "after everything was deleted, this is left:\n\
         ConfigMap task-sample: there should be none, but there is one\n",
    ];
    is_told("memory", "", &parts);
}

#[test]
fn a_create_without_a_second_look() {
    let parts = [
        "request:  create configmaps task-sample\n",
        "Task task-sample:\n",
        "  create configmaps task-sample (2): 409\n",
    ];
    is_told("no-second-look", "answer lost", &parts);
}

#[test]
fn a_stale_read_that_deletes() {
    let parts = [
        "request:  patch tasks.probe.example.com/status task-sample\n",
        "  delete configmaps task-sample: 200\n",
        " configmaps, in the undisturbed run 1\n",
    ];
    is_told("stale-read", "caches lag", &parts);
}

#[test]
fn a_status_that_is_written_first() {
    let parts = [
        "request:  patch tasks.probe.example.com/status task-sample\n",
        "ConfigMap task-sample: there should be one, but there is none\n",
        "the log of process 2",
    ];
    is_told("status-first", "dies after", &parts);
}
