// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Runs pods as they are created, and removes those that are deleted.

use std::future::ready;

use futures::StreamExt;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Api, Client};
use tokio::time::sleep;

use super::status::Step;
use super::{Refusal, take, terminate};
use crate::control_plane::PAUSE;
use crate::server::report;
use crate::thread;
use crate::{TestEnv, TestEnvError, client};

/// How many pods are handled at the same time.
const AT_ONCE: usize = 16;

/// Runs the pods of a namespace, or all pods, until `env` is dropped.
///
/// # Errors
///
/// [`TestEnvError::Runtime`].
pub(super) fn start(env: &TestEnv, namespace: Option<String>) -> Result<(), TestEnvError> {
    let (config, mut env) = (env.admin.clone(), env.kubelets.subscribe());
    let run = async move || {
        tokio::select! {
            // Never a change, but an error when the other end is dropped.
            _ = env.changed() => {}
            () = run_pods(client(config), namespace) => {}
        }
    };
    thread::spawn("kubelet", run).map_err(TestEnvError::Runtime)
}

async fn run_pods(client: Client, namespace: Option<String>) {
    let pods = match namespace {
        Some(namespace) => Api::<Pod>::namespaced(client.clone(), &namespace),
        None => Api::all(client.clone()),
    };
    watcher(pods, watcher::Config::default())
        .default_backoff()
        .applied_objects()
        // The watch continues after an error.
        .filter_map(|pod| ready(pod.ok()))
        .for_each_concurrent(AT_ONCE, |pod| look_after(&client, pod))
        .await;
}

/// Handles a pod in its current state, and retries while the API server is unavailable.
async fn look_after(client: &Client, pod: Pod) {
    loop {
        let done = if is_new(&pod) {
            let run = Step::Run { is_ready: true };
            take(client, &pod, run, is_new).await.map(|_| ())
        } else if is_deleted(&pod) {
            terminate(client, &pod).await
        } else {
            Ok(())
        };
        match done {
            Err(Refusal::Error(kube::Error::Api(status))) if (400..429).contains(&status.code) => {
                return report(&Refusal::Error(kube::Error::Api(status)).of(&pod));
            }
            Err(Refusal::Error(_)) => sleep(PAUSE).await,
            _ => return,
        }
    }
}

/// Whether the pod waits for a kubelet, or for a scheduler that may bind it.
fn is_new(pod: &Pod) -> bool {
    let spec = pod.spec.as_ref();
    let gates = spec.and_then(|spec| spec.scheduling_gates.as_ref());
    let status = pod.status.as_ref();
    gates.is_none_or(Vec::is_empty)
        && status.is_none_or(|status| status.container_statuses.is_none())
        && pod.metadata.deletion_timestamp.is_none()
        && !super::status::has_ended(pod)
}

/// Whether the pod waits for its kubelet before it is removed.
fn is_deleted(pod: &Pod) -> bool {
    let grace = pod.metadata.deletion_grace_period_seconds;
    pod.metadata.deletion_timestamp.is_some() && grace != Some(0)
}
