// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The requests of one start for each CronJob that is due, from clients that do nothing else.

use std::time::{Duration, Instant};

use api::v1::CronJob;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::runtime::events::{Event, EventType, Recorder};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::json;
use tokio::task::JoinSet;

use crate::Result;
use crate::cluster::Cluster;

/// The name of the field manager and of the reporter of the events.
const NAME: &str = "bare";

/// Returns how long `clients` need for the requests of all `cronjobs`, each after the answer to its last one.
pub async fn measure(cronjobs: u32, clients: u16) -> Result<Duration> {
    let cluster = Cluster::with_due(cronjobs).await?;
    let started = Instant::now();
    let client = Client::try_from(cluster.env.manager_config())?;
    let listed = Api::<CronJob>::all(client)
        .list(&ListParams::default())
        .await?
        .items;
    let share = listed.len().div_ceil(clients.max(1).into()).max(1);
    let mut tasks: JoinSet<kube::Result<()>> = JoinSet::new();
    for cronjobs in listed.chunks(share).map(<[_]>::to_vec) {
        let client = Client::try_from(cluster.env.manager_config())?;
        tasks.spawn(async move {
            for cronjob in cronjobs {
                start(&client, &cronjob).await?;
            }
            Ok(())
        });
    }
    while let Some(ended) = tasks.join_next().await {
        ended??;
    }
    let took = started.elapsed();
    cluster.stop();
    Ok(took)
}

/// Reads the CronJob, creates its Job, and writes a status and an event at the same time.
async fn start(client: &Client, cronjob: &CronJob) -> kube::Result<()> {
    let namespace = cronjob.namespace().unwrap_or_default();
    let cronjobs: Api<CronJob> = Api::namespaced(client.clone(), &namespace);
    let jobs: Api<Job> = Api::namespaced(client.clone(), &namespace);
    let name = cronjob.name_any();
    let cronjob = cronjobs.get(&name).await?;
    let now = Timestamp::now();
    let job = Job {
        metadata: ObjectMeta {
            name: Some(format!("{name}-{}", now.as_second())),
            owner_references: cronjob.controller_owner_ref(&()).map(|owner| vec![owner]),
            annotations: Some([("scheduled-at".to_owned(), now.to_string())].into()),
            ..ObjectMeta::default()
        },
        spec: cronjob.spec.job_template.spec.clone(),
        status: None,
    };
    let job = jobs.create(&PostParams::default(), &job).await?;
    let time = now.strftime("%Y-%m-%dT%H:%M:%SZ").to_string();
    let generation = cronjob.metadata.generation;
    let conditions = [
        ("Available", "True"),
        ("Progressing", "True"),
        ("Degraded", "False"),
    ];
    let conditions = conditions.map(|(type_, status)| {
        json!({
            "type": type_,
            "status": status,
            "reason": "JobsActive",
            "message": "",
            "observedGeneration": generation,
            "lastTransitionTime": time,
        })
    });
    let patch = json!({
        "apiVersion": CronJob::api_version(&()),
        "kind": CronJob::kind(&()),
        "metadata": { "resourceVersion": cronjob.resource_version() },
        "status": {
            "observedGeneration": generation,
            "active": [job.object_ref(&())],
            "lastScheduleTime": time,
            "conditions": conditions,
        },
    });
    let params = PatchParams::apply(NAME).force();
    let patch = Patch::Apply(&patch);
    let written = cronjobs.patch_status(&name, &params, &patch);
    let event = Event {
        type_: EventType::Normal,
        reason: "Started".to_owned(),
        action: "Reconcile".to_owned(),
        note: Some(format!(
            "created Job {} for the run of {now}",
            job.name_any()
        )),
        secondary: Some(job.object_ref(&())),
    };
    let regarding = cronjob.object_ref(&());
    let recorder = Recorder::new(client.clone(), NAME.into());
    let (written, published) = tokio::join!(written, recorder.publish(&event, &regarding));
    written?;
    published
}
