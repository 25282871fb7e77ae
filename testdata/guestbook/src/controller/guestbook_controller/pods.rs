// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The pods of Guestbooks.
//!
//! A pod is owned by a ReplicaSet, which is owned by a Deployment, which is owned by a Guestbook. So a pod
//! is linked to its Guestbook not by an owner reference but by labels, which the Deployment sets on its
//! pods: the name of the Guestbook for people and for the queue, and the uid, since a Guestbook that is
//! deleted and created again has the name of the old one, but not its pods.
//!
//! Anybody who may write pods may set labels. They are good enough for reporting a pod, but would not be
//! for changing or deleting it.

use std::collections::BTreeMap;

use api::v1::Guestbook;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kbr_runtime::Owned;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Config, watcher};
use kube::{Api, Client, Resource, ResourceExt};

const INSTANCE: &str = "app.kubernetes.io/instance";
const UID: &str = "webapp.my.domain/guestbook-uid";

/// The labels of the pods of a Guestbook.
pub fn labels(guestbook: &Guestbook) -> BTreeMap<String, String> {
    [
        ("app.kubernetes.io/name", "guestbook".to_owned()),
        (INSTANCE, guestbook.name_any()),
        ("app.kubernetes.io/managed-by", "guestbook".to_owned()),
        (UID, guestbook.uid().unwrap_or_default()),
    ]
    .map(|(key, value)| (key.to_owned(), value))
    .into()
}

/// A cache of all pods of Guestbooks, indexed by Guestbook.
pub fn watch(client: Client) -> Owned<Guestbook, Pod> {
    let pods = watcher(Api::<Pod>::all(client), Config::default().labels(UID));
    Owned::from_stream(pods.modify(lead_to_guestbook))
}

/// Makes the Guestbook the owner of its pod, only in the cache. Drops what is never read.
fn lead_to_guestbook(pod: &mut Pod) {
    let owner = guestbook_of(pod);
    pod.metadata.owner_references = owner.map(|owner| vec![owner]);
    pod.metadata.managed_fields = None;
    pod.spec = None;
}

fn guestbook_of(pod: &Pod) -> Option<OwnerReference> {
    let labels = pod.labels();
    Some(OwnerReference {
        api_version: Guestbook::api_version(&()).into_owned(),
        kind: Guestbook::kind(&()).into_owned(),
        name: labels.get(INSTANCE)?.clone(),
        uid: labels.get(UID)?.clone(),
        controller: Some(true),
        ..OwnerReference::default()
    })
}

/// Whether the pod counts: it has not ended and is not being deleted. An evicted pod is not deleted, but
/// it never runs again.
pub fn is_alive(pod: &Pod) -> bool {
    let phase = pod
        .status
        .as_ref()
        .and_then(|status| status.phase.as_deref());
    pod.metadata.deletion_timestamp.is_none() && !matches!(phase, Some("Succeeded" | "Failed"))
}

/// Whether the kubelet reports the pod as ready.
pub fn is_ready(pod: &Pod) -> bool {
    let conditions = pod.status.iter().flat_map(|status| &status.conditions);
    let mut conditions = conditions.flatten();
    conditions.any(|condition| condition.type_ == "Ready" && condition.status == "True")
}

#[cfg(test)]
mod tests {
    use kbr_runtime::is_controlled_by;
    use serde_json::json;

    use super::*;

    fn guestbook() -> Guestbook {
        let spec = json!({ "size": 1, "configMapName": "settings" });
        let mut guestbook = Guestbook::new("sample", serde_json::from_value(spec).unwrap());
        guestbook.metadata.uid = Some("7a1f".to_owned());
        guestbook
    }

    #[test]
    fn a_pod_is_linked_to_its_guestbook_by_its_labels() {
        let guestbook = guestbook();
        let mut pod = Pod::default();
        pod.metadata.labels = Some(labels(&guestbook));

        lead_to_guestbook(&mut pod);

        assert!(is_controlled_by(&pod, &guestbook));
        assert_eq!(pod.owner_references()[0].name, "sample");
    }

    #[test]
    fn a_pod_without_the_labels_has_no_guestbook() {
        let mut pod = Pod::default();
        pod.metadata.owner_references = guestbook().controller_owner_ref(&()).map(|o| vec![o]);

        lead_to_guestbook(&mut pod);

        assert!(pod.owner_references().is_empty());
    }
}
