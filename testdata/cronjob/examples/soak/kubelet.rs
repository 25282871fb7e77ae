// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Plays the kubelet for the pods of Jobs: each succeeds after the time in its label.

use std::collections::HashSet;
use std::pin::pin;
use std::time::Duration;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Patch, PatchParams};
use kube::runtime::watcher::{self, Event, watcher};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::sleep;

use crate::schedules::SECONDS;

/// Between two attempts while the API server is down.
pub const PAUSE: Duration = Duration::from_millis(500);

/// Runs pods forever.
pub async fn run_pods(client: Client) {
    let pods = Api::<Pod>::all(client.clone());
    let mut events = pin!(watcher(pods, watcher::Config::default()));
    let mut seen = HashSet::new();
    loop {
        match events.next().await {
            Some(Ok(Event::Apply(pod) | Event::InitApply(pod))) => {
                if seen.insert(pod.uid()) {
                    tokio::spawn(run(client.clone(), pod));
                }
            }
            Some(Ok(Event::Delete(pod))) => {
                seen.remove(&pod.uid());
            }
            Some(Ok(_)) => {}
            _ => sleep(PAUSE).await,
        }
    }
}

async fn run(client: Client, pod: Pod) {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    if phase != Some("Pending") {
        return;
    }
    let seconds = pod.labels().get(SECONDS).and_then(|text| text.parse().ok());
    sleep(Duration::from_secs(seconds.unwrap_or_default())).await;
    let pods = Api::<Pod>::namespaced(client, &pod.namespace().unwrap_or_default());
    let (name, params) = (pod.name_any(), PatchParams::default());
    let status = Patch::Merge(json!({
        "metadata": { "uid": pod.uid() },
        "status": { "phase": "Succeeded" },
    }));
    loop {
        match pods.patch_status(&name, &params, &status).await {
            Err(kube::Error::Api(error)) if error.code < 429 => return,
            Err(_) => sleep(PAUSE).await,
            Ok(_) => return,
        }
    }
}
