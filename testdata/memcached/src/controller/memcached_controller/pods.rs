// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The pods of all Memcacheds, found by the labels that their Deployments set.
//!
//! Only their metadata is watched and cached: a reconcile sends no request for them.

use k8s_openapi::api::core::v1::Pod;
use kube::ResourceExt;
use kube::core::PartialObjectMeta;
use kube::runtime::reflector::store::WriterDropped;
use kube::runtime::reflector::{ObjectRef, Store};

use super::Object;
use super::children::INSTANCE;

/// The name and labels of a pod.
pub type PodMeta = PartialObjectMeta<Pod>;

/// All pods. Clones share them.
#[derive(Clone)]
pub struct Pods(Store<PodMeta>);

impl Pods {
    /// The pods in `store`, which a watch fills.
    pub fn of(store: Store<PodMeta>) -> Self {
        Self(store)
    }

    /// The names of the pods of `object`, sorted, without those that are being deleted. Waits for the
    /// first list of pods.
    pub async fn names(&self, object: &Object) -> Result<Vec<String>, WriterDropped> {
        self.0.wait_until_ready().await?;
        let this = ObjectRef::from_obj(object);
        let pods = self.0.state().into_iter();
        let pods = pods.filter(|pod| is_alive(pod) && owner(pod).as_ref() == Some(&this));
        let mut names: Vec<String> = pods.map(|pod| pod.name_any()).collect();
        names.sort();
        Ok(names)
    }

    /// The number of pods, without those that are being deleted.
    pub fn count(&self) -> usize {
        let pods = self.0.state().into_iter();
        pods.filter(|pod| is_alive(pod)).count()
    }
}

fn is_alive(pod: &PodMeta) -> bool {
    pod.metadata.deletion_timestamp.is_none()
}

/// The Memcached that a pod belongs to, according to its labels.
pub fn owner(pod: &PodMeta) -> Option<ObjectRef<Object>> {
    let name = pod.labels().get(INSTANCE)?;
    Some(ObjectRef::new(name).within(&pod.namespace()?))
}
