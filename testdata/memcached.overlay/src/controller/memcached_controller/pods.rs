// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The pods of all Memcacheds, found by the labels that their Deployments set.
//!
//! Only their metadata is watched and cached: a reconcile sends no request for them.

use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::{Cache, Manager};
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;
use kube::{Api, ResourceExt};

use super::Object;
use super::children::{INSTANCE, SELECTOR};

/// The name and labels of a pod.
pub type PodMeta = PartialObjectMeta<Pod>;

/// The index of the pods that are not being deleted, by their Memcached.
const OWNER: &str = "owner";

/// The cache of the pods of all Memcacheds.
pub fn cache(manager: &mut Manager) -> Cache<PodMeta> {
    let labelled = Config::default().labels(SELECTOR);
    let pods = manager.cache(Api::all(manager.client()), labelled);
    pods.index(OWNER, |pod| {
        let owner = owner(pod).filter(|_| is_alive(pod));
        owner.iter().map(ObjectRef::to_string).collect()
    });
    pods
}

/// The names of the pods of `object`, sorted, without those that are being deleted.
pub fn names(pods: &Cache<PodMeta>, object: &Object) -> Vec<String> {
    let pods = pods.by(OWNER, &ObjectRef::from_obj(object).to_string());
    pods.iter().map(|pod| pod.name_any()).collect()
}

/// The number of pods, without those that are being deleted.
pub fn count(pods: &Cache<PodMeta>) -> usize {
    pods.list().iter().filter(|pod| is_alive(pod)).count()
}

fn is_alive(pod: &PodMeta) -> bool {
    pod.metadata.deletion_timestamp.is_none()
}

/// The Memcached that a pod belongs to, according to its labels.
pub fn owner(pod: &PodMeta) -> Option<ObjectRef<Object>> {
    let name = pod.labels().get(INSTANCE)?;
    Some(ObjectRef::new(name).within(&pod.namespace()?))
}
