// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The pods of Memcacheds.

use std::sync::Arc;

use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::Cache;
use kube::ResourceExt;

/// The names of `pods`, without those that are being deleted.
pub fn names(pods: &[Arc<Pod>]) -> Vec<String> {
    let alive = pods.iter().filter(|pod| is_alive(pod));
    alive.map(|pod| pod.name_any()).collect()
}

/// The number of all pods, without those that are being deleted.
pub fn count(pods: &Cache<Pod>) -> usize {
    pods.list().iter().filter(|pod| is_alive(pod)).count()
}

fn is_alive(pod: &Pod) -> bool {
    pod.metadata.deletion_timestamp.is_none()
}
