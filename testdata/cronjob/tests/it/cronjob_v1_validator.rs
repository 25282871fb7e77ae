// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server rejects on behalf of the operator, and the messages.

use api::v1::CronJob;
use kube::api::{Patch, PatchParams};
use kube::core::Status;
use serde_json::{Value, json};

use crate::env;
use crate::support::{HOURLY, World};

const BAD: &str = "invalid-cron-schedule";
const BAD_SCHEDULE: &str = "spec.schedule: Invalid value: \"invalid-cron-schedule\": \
                            expected exactly 5 fields, found 1: [invalid-cron-schedule]";

/// The response to a write that the operator rejects.
fn refusal(response: kube::Result<CronJob>) -> Status {
    match response {
        Err(kube::Error::Api(status)) => *status,
        other => panic!("not rejected: {other:?}"),
    }
}

/// The field and the reason of each cause.
fn causes(status: &Status) -> Vec<(&str, &str)> {
    let causes = status.details.iter().flat_map(|details| &details.causes);
    let causes = causes.map(|cause| (cause.field.as_str(), cause.reason.as_str()));
    causes.collect()
}

#[tokio::test]
async fn a_name_has_at_most_52_characters() {
    let world = World::new(env()).await;
    let name = "a".repeat(52);
    world.add(&name, HOURLY, json!({})).await.unwrap();

    let name = "a".repeat(53);
    let status = refusal(world.add(&name, HOURLY, json!({})).await);

    assert_eq!((status.code, status.reason.as_str()), (422, "Invalid"));
    assert_eq!(causes(&status), [("metadata.name", "FieldValueInvalid")]);
    let detail = "must be no more than 52 characters";
    assert!(status.message.contains(detail), "{}", status.message);
}

#[tokio::test]
async fn a_schedule_has_the_syntax_of_cron() {
    let world = World::new(env()).await;
    world.add("good", "*/5 * * * *", json!({})).await.unwrap();

    let status = refusal(world.add("bad", BAD, json!({})).await);

    assert_eq!(causes(&status), [("spec.schedule", "FieldValueInvalid")]);
    assert_eq!(
        status.message,
        format!(
            "admission webhook \"vcronjob-v1.batch.tutorial.kubebuilder.io\" denied the request: \
             CronJob.batch.tutorial.kubebuilder.io \"bad\" is invalid: {BAD_SCHEDULE}"
        )
    );
}

#[tokio::test]
async fn an_update_is_validated_as_well() {
    let world = World::new(env()).await;
    world.add("sample", HOURLY, json!({})).await.unwrap();
    let change = async |schedule: &str| {
        let patch = Patch::Merge(json!({ "spec": { "schedule": schedule } }));
        world
            .cronjobs
            .patch("sample", &PatchParams::default(), &patch)
            .await
    };

    change("@daily").await.unwrap();
    let status = refusal(change(BAD).await);

    assert_eq!(causes(&status), [("spec.schedule", "FieldValueInvalid")]);
    let stored = world.cronjobs.get("sample").await.unwrap();
    assert_eq!(stored.spec.schedule, "@daily");
}

#[tokio::test]
async fn kubectl_reports_both_mistakes_at_once() {
    let name = "a".repeat(53);
    let mut object: Value = env().read("config/samples/batch_v1_cronjob.yaml");
    object["metadata"]["name"] = json!(name);
    object["spec"]["schedule"] = json!(BAD);
    let file = env().logs().join("both.json");
    std::fs::write(&file, object.to_string()).unwrap();

    let output = env().kubectl().args(["apply", "-f"]).arg(file).output();

    let message = String::from_utf8(output.unwrap().stderr).unwrap();
    let expected = format!(
        "The CronJob \"{name}\" is invalid: \n\
         * metadata.name: Invalid value: \"{name}\": must be no more than 52 characters\n\
         * {BAD_SCHEDULE}\n"
    );
    assert_eq!(message, expected);
}
