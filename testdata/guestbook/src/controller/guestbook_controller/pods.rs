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
use std::sync::Arc;

use api::v1::Guestbook;
use k8s_openapi::api::core::v1::Pod;
use kbr_runtime::{Cache, Manager, OwnedError};
use kube::ResourceExt;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Config;

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

/// A cache of all pods of Guestbooks, without what is never read.
pub fn cache(manager: &mut Manager) -> Cache<Pod> {
    let pods = manager.cache::<Pod>(None, Config::default().labels(UID));
    pods.index(UID, |pod| {
        link(pod).into_iter().map(|link| link.1).collect()
    });
    pods.slim(|pod| pod.spec = None);
    pods
}

/// The pods of `guestbook`.
pub fn of(guestbook: &Guestbook, pods: &Cache<Pod>) -> Result<Vec<Arc<Pod>>, OwnedError> {
    pods.by(UID, &guestbook.uid().unwrap_or_default())
}

/// The Guestbook that a change to the pod concerns.
pub fn guestbook_of(pod: &Pod) -> Option<ObjectRef<Guestbook>> {
    let (name, _) = link(pod)?;
    Some(ObjectRef::new(&name).within(&pod.namespace()?))
}

/// The name and the uid of the Guestbook of the pod.
fn link(pod: &Pod) -> Option<(String, String)> {
    let labels = pod.labels();
    Some((labels.get(INSTANCE)?.clone(), labels.get(UID)?.clone()))
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
    use kube::Resource;
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
        pod.metadata.namespace = Some("default".to_owned());
        pod.metadata.labels = Some(labels(&guestbook));

        let link = link(&pod).unwrap();

        assert_eq!(Some(link.1), guestbook.uid());
        assert_eq!(link.0, "sample");
        let expected = ObjectRef::new("sample").within("default");
        assert_eq!(guestbook_of(&pod), Some(expected));
    }

    #[test]
    fn a_pod_without_the_labels_has_no_guestbook() {
        let mut pod = Pod::default();
        pod.metadata.namespace = Some("default".to_owned());
        pod.metadata.owner_references = guestbook().controller_owner_ref(&()).map(|o| vec![o]);

        assert_eq!(link(&pod), None);
        assert_eq!(guestbook_of(&pod), None);
    }
}
