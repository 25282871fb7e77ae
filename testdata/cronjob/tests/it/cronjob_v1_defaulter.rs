// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server stores for the fields that a CronJob omits.

use serde_json::json;

use crate::env;
use crate::support::{HOURLY, World, spec};

#[tokio::test]
async fn omitted_fields_are_stored_with_their_defaults() {
    let world = World::new(env()).await;

    world.add("sample", HOURLY, json!({})).await.unwrap();

    let mut expected = spec(HOURLY);
    expected["concurrencyPolicy"] = json!("Allow");
    expected["suspend"] = json!(false);
    expected["successfulJobsHistoryLimit"] = json!(3);
    expected["failedJobsHistoryLimit"] = json!(1);
    assert_eq!(world.stored("sample").await["spec"], expected);
}

#[tokio::test]
async fn fields_that_are_set_are_stored_unchanged() {
    let world = World::new(env()).await;
    let given = json!({
        "concurrencyPolicy": "Forbid",
        "suspend": true,
        "successfulJobsHistoryLimit": 5,
        "failedJobsHistoryLimit": 0,
    });

    world.add("sample", HOURLY, given.clone()).await.unwrap();

    let stored = world.stored("sample").await;
    for (field, value) in given.as_object().unwrap() {
        assert_eq!(stored["spec"][field], *value, "{field}");
    }
}

#[tokio::test]
async fn a_field_that_is_removed_later_is_defaulted_again() {
    let world = World::new(env()).await;
    world.add("sample", HOURLY, json!({})).await.unwrap();

    let changed = world
        .change("sample", json!({ "successfulJobsHistoryLimit": null }))
        .await;

    assert_eq!(changed.spec.successful_jobs_history_limit, Some(3));
}
