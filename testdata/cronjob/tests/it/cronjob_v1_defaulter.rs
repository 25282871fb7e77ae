// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server stores where a CronJob leaves something out.

use serde_json::json;

use crate::env;
use crate::support::{HOURLY, World, spec};

#[tokio::test]
async fn what_is_left_out_is_stored_with_its_default() {
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
async fn what_is_there_is_stored_as_it_is() {
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
async fn what_is_taken_out_later_comes_back() {
    let world = World::new(env()).await;
    world.add("sample", HOURLY, json!({})).await.unwrap();

    let changed = world
        .change("sample", json!({ "successfulJobsHistoryLimit": null }))
        .await;

    assert_eq!(changed.spec.successful_jobs_history_limit, Some(3));
}
