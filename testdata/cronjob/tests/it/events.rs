// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The events that `kubectl describe` shows of a CronJob: each only once.

use k8s_openapi::api::events::v1::Event;
use serde_json::json;

use crate::support::{HOURLY, World, now};
use crate::{env, unguarded};

/// Waits for the event with the given reason, and returns it.
async fn event(world: &World<'_>, reason: &str) -> Event {
    world.settle("sample").await;
    world.wait_for_event(reason, |_| true).await;
    let mut events = world.events(reason).await;
    assert_eq!(events.len(), 1, "{events:?}");
    events.remove(0)
}

fn type_and_note(event: &Event) -> (&str, &str) {
    (
        event.type_.as_deref().unwrap(),
        event.note.as_deref().unwrap(),
    )
}

#[tokio::test]
async fn a_start_and_the_job_that_it_replaces() {
    let world = World::new(env()).await;
    let sample = world
        .create("sample", HOURLY, json!({ "concurrencyPolicy": "Replace" }))
        .await;
    world.add_job(&sample, "old", now()).await;
    world.wait_for_active("sample", &["old"]).await;

    let name = world.make_due("sample").await;

    world.wait_for_active("sample", &[&name]).await;
    let started = event(&world, "Started").await;
    assert_eq!(
        type_and_note(&started),
        (
            "Normal",
            format!("created Job {name} for the run of 2026-03-02T09:30:30Z").as_str()
        )
    );
    assert_eq!(started.regarding.unwrap().uid, sample.metadata.uid);
    assert_eq!(started.related.unwrap().name, Some(name));
    assert_eq!(started.reporting_controller.as_deref(), Some("cronjob"));
    let replaced = event(&world, "Replaced").await;
    assert_eq!(
        type_and_note(&replaced),
        (
            "Normal",
            "deleted Job old for the run of 2026-03-02T09:30:30Z"
        )
    );
}

#[tokio::test]
async fn runs_skipped_because_of_the_same_job_are_one_event() {
    let world = World::new(env()).await;
    let sample = world
        .create("sample", HOURLY, json!({ "concurrencyPolicy": "Forbid" }))
        .await;
    world.add_job(&sample, "long", now()).await;
    world.wait_for_active("sample", &["long"]).await;

    world.make_due("sample").await;
    event(&world, "Skipped").await;
    world
        .change("sample", json!({ "schedule": "@every 10m" }))
        .await;

    let skipped = event(&world, "Skipped").await;
    let note = "runs are skipped while Job long runs";
    assert_eq!(type_and_note(&skipped), ("Normal", note));
    assert_eq!(skipped.series, None);
}

#[tokio::test]
async fn a_missed_run() {
    let world = World::new(env()).await;
    world
        .create("sample", HOURLY, json!({ "startingDeadlineSeconds": 60 }))
        .await;

    world.make_due("sample").await;

    let missed = event(&world, "MissedSchedule").await;
    let note = "the run of 2026-03-02T09:30:30Z could not start before its deadline";
    assert_eq!(type_and_note(&missed), ("Warning", note));
}

#[tokio::test]
async fn a_lasting_problem_is_reported_once() {
    let world = World::new(unguarded()).await;
    world.create("sample", "often", json!({})).await;

    for _ in 0..3 {
        let event = event(&world, "InvalidSchedule").await;
        let note = "expected exactly 5 fields, found 1: [often]";
        assert_eq!(type_and_note(&event), ("Warning", note));
        assert_eq!(event.series, None);
    }
}

#[tokio::test]
async fn a_problem_that_returns_is_counted_in_its_first_event() {
    let world = World::new(unguarded()).await;
    world.create("sample", "often", json!({})).await;
    world.settle("sample").await;
    world.change("sample", json!({ "schedule": HOURLY })).await;
    world.settle("sample").await;

    world.change("sample", json!({ "schedule": "often" })).await;

    let is_counted = |event: &Event| event.series.as_ref().is_some_and(|it| it.count == 2);
    world.wait_for_event("InvalidSchedule", is_counted).await;
    assert_eq!(world.events("InvalidSchedule").await.len(), 1);
}

#[tokio::test]
async fn a_different_mistake_is_a_different_event() {
    let world = World::new(unguarded()).await;
    world.create("sample", "often", json!({})).await;
    world
        .change("sample", json!({ "schedule": "very often" }))
        .await;
    world.settle("sample").await;

    let second = |event: &Event| type_and_note(event).1.ends_with("[very often]");
    world.wait_for_event("InvalidSchedule", second).await;
    let events = world.events("InvalidSchedule").await;
    let mut notes: Vec<_> = events.iter().map(|event| type_and_note(event).1).collect();
    notes.sort_unstable();
    let expected = [
        "expected exactly 5 fields, found 1: [often]",
        "expected exactly 5 fields, found 2: [very often]",
    ];
    assert_eq!(notes, expected);
}

#[tokio::test]
async fn too_many_missed_runs() {
    let world = World::new(env()).await;
    world.create("sample", "@every 10s", json!({})).await;

    world.make_due("sample").await;

    let event = event(&world, "TooManyMissed").await;
    assert_eq!(event.type_.as_deref(), Some("Warning"));
}
