// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What is deleted and does not go yet, because it has a finalizer or a grace period.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::time::Duration;

use k8s_openapi::api::core::v1::{
    ConfigMap, Container, PersistentVolumeClaim, PersistentVolumeClaimSpec, Pod, PodSpec, Secret,
    VolumeResourceRequirements,
};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::serde::de::DeserializeOwned;
use kbr_runtime::{Action, Controller, Handle, OwnedError};
use kube::api::{DeleteParams, Patch, PatchParams};
use kube::core::NamespaceResourceScope;
use kube::{Api, Resource};
use serde_json::json;

use crate::support::{Running, create_empty, manager, servers};

fn secret() -> Secret {
    let mut secret = Secret::default();
    secret.metadata.name = Some("child".to_owned());
    secret.metadata.finalizers = Some(vec!["example.com/kept".to_owned()]);
    secret
}

/// In a cluster, the API server gives it that finalizer.
fn claim() -> PersistentVolumeClaim {
    let mut claim = PersistentVolumeClaim::default();
    claim.metadata.name = Some("child".to_owned());
    claim.metadata.finalizers = Some(vec!["kubernetes.io/pvc-protection".to_owned()]);
    claim.spec = Some(PersistentVolumeClaimSpec {
        access_modes: Some(vec!["ReadWriteOnce".to_owned()]),
        resources: Some(VolumeResourceRequirements {
            requests: Some(BTreeMap::from([(
                "storage".to_owned(),
                Quantity("1Mi".to_owned()),
            )])),
            ..VolumeResourceRequirements::default()
        }),
        ..PersistentVolumeClaimSpec::default()
    });
    claim
}

/// A pod on a node has the grace period that the kubelet needs.
fn pod() -> Pod {
    let mut pod = Pod::default();
    pod.metadata.name = Some("child".to_owned());
    pod.spec = Some(PodSpec {
        containers: vec![Container {
            name: "a".to_owned(),
            image: Some("a".to_owned()),
            ..Container::default()
        }],
        node_name: Some("node".to_owned()),
        ..PodSpec::default()
    });
    pod
}

/// Deletes everything once it has data, and returns how many objects of each kind are owned after that.
async fn reconcile(map: &Handle<ConfigMap>) -> Result<Option<[usize; 3]>, OwnedError> {
    if map.data.is_none() {
        map.create(&secret()).await?;
        map.create(&claim()).await?;
        map.create(&pod()).await?;
        return Ok(None);
    }
    map.prune::<Secret>(&[]).await?;
    map.prune::<PersistentVolumeClaim>(&[]).await?;
    map.prune::<Pod>(&[]).await?;
    Ok(Some([
        map.owned::<Secret>()?.len(),
        map.owned::<PersistentVolumeClaim>()?.len(),
        map.owned::<Pod>()?.len(),
    ]))
}

async fn release<K>(namespace: &str)
where
    K: Clone + Debug + DeserializeOwned,
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
{
    let api = Api::<K>::namespaced(servers().admin(), namespace);
    let patch = Patch::Merge(json!({ "metadata": { "finalizers": null } }));
    let params = PatchParams::default();
    api.patch("child", &params, &patch).await.unwrap();
}

#[tokio::test]
async fn what_is_being_deleted_is_owned_until_it_is_gone() {
    let namespace = servers().namespace().await;
    create_empty::<ConfigMap>(&namespace, "owner").await;
    let mut manager = manager(servers()).await;
    let controller = Controller::new(manager.namespaced::<ConfigMap>(&namespace))
        .owns(manager.namespaced::<Secret>(&namespace))
        .owns(manager.namespaced::<PersistentVolumeClaim>(&namespace))
        .owns(manager.namespaced::<Pod>(&namespace));
    let (noted, mut notes) = tokio::sync::mpsc::unbounded_channel();
    manager.add("deleting", controller, move |map| {
        let noted = noted.clone();
        async move {
            let owned = reconcile(&map).await?;
            noted.send(owned).unwrap();
            Ok::<_, OwnedError>(Action::requeue(Duration::from_millis(200)))
        }
    });
    let running = Running::start(manager);
    assert_eq!(notes.recv().await.unwrap(), None);
    let maps = Api::<ConfigMap>::namespaced(servers().admin(), &namespace);
    let patch = Patch::Merge(json!({ "data": { "delete": "all" } }));
    let params = PatchParams::default();
    maps.patch("owner", &params, &patch).await.unwrap();

    let mut seen = 0;
    while seen < 10 {
        match notes.recv().await.unwrap() {
            Some(owned) => assert_eq!(owned, [1, 1, 1], "after {seen} more reconciles"),
            None => continue,
        }
        seen += 1;
    }

    release::<Secret>(&namespace).await;
    release::<PersistentVolumeClaim>(&namespace).await;
    let pods = Api::<Pod>::namespaced(servers().admin(), &namespace);
    let now = DeleteParams::default().grace_period(0);
    pods.delete("child", &now).await.unwrap();
    let gone = async { while notes.recv().await.unwrap() != Some([0, 0, 0]) {} };
    tokio::time::timeout(Duration::from_secs(60), gone)
        .await
        .unwrap();
    running.stop().await;
}
