// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Writing an owned object, without ever changing an object of somebody else.
//!
//! Each request is conditional on what is known of the object. A server-side apply creates an object that
//! does not exist, so a request that must create it has a resource version that no object has: it is
//! refused if the name has been taken in the meantime. After a refusal, the object is read and checked
//! again.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use kube::api::{ObjectMeta, Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::{Owned, OwnedError, is_controlled_by};
use crate::watch::resource;

/// How many times to try to write an object that others change at the same time.
const ATTEMPTS: usize = 3;

/// A version that no object has: the first one that etcd assigns is 2.
const NO_VERSION: &str = "1";

/// The last apply of each object, by its uid.
#[derive(Default)]
pub(super) struct Applied(HashMap<String, Hashes>);

#[derive(Clone, Copy, PartialEq)]
struct Hashes {
    /// What was applied.
    wanted: u64,
    /// The object as the API server returned it, without the fields that others write all the time.
    object: u64,
}

impl Applied {
    fn is(&self, uid: &str, hashes: Hashes) -> bool {
        self.0.get(uid) == Some(&hashes)
    }

    pub(super) fn forget(&mut self, uid: &str) {
        self.0.remove(uid);
    }

    pub(super) fn retain(&mut self, exists: impl Fn(&str) -> bool) {
        self.0.retain(|uid, _| exists(uid));
    }
}

impl<O, K> Owned<O, K>
where
    O: Resource<DynamicType = ()> + 'static,
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
    K: Serialize,
{
    /// Makes the object match `wanted`, which has its name, under the control of `owner`. Returns the
    /// resulting object.
    ///
    /// This is a [server-side apply] with force by the field manager `manager`, usually the name of the
    /// controller: it creates the object, changes the fields that are in `wanted`, and removes those that
    /// the manager applied before and that are no longer in `wanted`. All other fields stay. So leave out
    /// what others may decide, such as `replicas` if there is an autoscaler. The status and `null` values
    /// are not written; a field that the Rust type requires is written even if it is empty.
    ///
    /// An object of that name that `owner` does not control is left alone: no object of somebody else is
    /// taken over, even if it appears at the same moment. No request is sent for an object that is still as
    /// it was after the last apply of the same `wanted`, except once after the operator starts. With
    /// [`Owned::watch_with`], a request is sent each time, which changes nothing.
    ///
    /// The role must allow `create`, `get` and `patch` in addition to `list` and `watch`.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kbr_runtime::{Owned, OwnedError};
    /// use kube::{Api, ResourceExt};
    ///
    /// async fn publish(
    ///     api: &Api<ConfigMap>,
    ///     deployment: &Deployment,
    ///     config_maps: &Owned<Deployment, ConfigMap>,
    /// ) -> Result<(), OwnedError> {
    ///     let mut wanted = ConfigMap::default();
    ///     wanted.metadata.name = Some(format!("greeting-{}", deployment.name_any()));
    ///     wanted.data = Some([("text".to_owned(), "Hello".to_owned())].into());
    ///     config_maps.apply(api, deployment, "greeting", &wanted).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`OwnedError::NameTaken`] if an object of that name exists that `owner` does not control,
    /// [`OwnedError::Apply`] with the API server's error if it refuses, and [`OwnedError::NotListed`] as in
    /// [`Owned::of`].
    ///
    /// [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/
    #[doc(alias = "CreateOrUpdate")]
    #[doc(alias = "CreateOrPatch")]
    pub async fn apply(
        &self,
        api: &Api<K>,
        owner: &O,
        manager: &str,
        wanted: &K,
    ) -> Result<Arc<K>, OwnedError> {
        let name = wanted.name_any();
        let namespace = wanted.namespace().or_else(|| owner.namespace());
        let known = self.of(owner).await?.into_iter().find(|object| {
            object.meta().name.as_ref() == Some(&name) && object.namespace() == namespace
        });
        let failed = |reason| OwnedError::Apply {
            resource: resource::<K>(&()),
            name: name.clone(),
            reason,
        };
        let mut patch = patch(owner, wanted).map_err(failed)?;
        let hash = hash_of(&patch);
        if let Some(known) = &known
            && self.is_applied(known, hash)
        {
            return Ok(known.clone());
        }
        let params = PatchParams::apply(manager).force();
        let mut known = known.map(|known| known.meta().clone());
        let mut attempt = 0;
        loop {
            attempt += 1;
            restrict(&mut patch, known.as_ref());
            match api.patch(&name, &params, &Patch::Apply(&patch)).await {
                Ok(written) => return Ok(self.take_written(written, hash)),
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
                Err(reason) => return Err(failed(reason)),
            }
            let stored = api.get_opt(&name).await.map_err(failed)?;
            if stored.as_ref().is_some_and(|o| !is_controlled_by(o, owner)) {
                return Err(OwnedError::NameTaken {
                    resource: resource::<K>(&()),
                    name,
                    owner: O::kind(&()).into_owned(),
                });
            }
            known = stored.map(|stored| stored.meta().clone());
        }
    }

    /// Whether the last apply was the same, and the object has not changed since.
    fn is_applied(&self, object: &K, wanted: u64) -> bool {
        let Some(object_hash) = fingerprint(object) else {
            return false;
        };
        let hashes = Hashes {
            wanted,
            object: object_hash,
        };
        let uid = object.meta().uid.as_deref().unwrap_or_default();
        self.lock().applied.is(uid, hashes)
    }

    fn take_written(&self, written: K, wanted: u64) -> Arc<K> {
        if let (Some(uid), Some(object)) = (written.uid(), fingerprint(&written)) {
            let hashes = Hashes { wanted, object };
            self.lock().applied.0.insert(uid, hashes);
        }
        self.insert(written.clone());
        Arc::new(written)
    }
}

/// The patch to send, without its preconditions.
fn patch<O, K>(owner: &O, wanted: &K) -> kube::Result<Value>
where
    O: Resource<DynamicType = ()>,
    K: Resource<DynamicType = ()> + Serialize,
{
    let mut patch = serde_json::to_value(wanted).map_err(kube::Error::SerdeError)?;
    drop_nulls(&mut patch);
    let controller = owner.controller_owner_ref(&()).unwrap_or_default();
    let mut owners = wanted.owner_references().to_vec();
    owners.retain(|other| other.uid != controller.uid);
    owners.push(controller);
    if let Some(fields) = patch.as_object_mut() {
        fields.remove("status");
        fields.insert("apiVersion".to_owned(), json!(K::api_version(&())));
        fields.insert("kind".to_owned(), json!(K::kind(&())));
    }
    patch["metadata"]["ownerReferences"] = json!(owners);
    Ok(patch)
}

/// Makes the API server refuse the patch unless the object is as `known`, or does not exist if none is.
fn restrict(patch: &mut Value, known: Option<&ObjectMeta>) {
    let version = known.map(|known| known.resource_version.as_deref());
    let version = version.map_or(Some(NO_VERSION), |version| version);
    let uid = known.and_then(|known| known.uid.as_deref());
    for (field, value) in [("resourceVersion", version), ("uid", uid)] {
        if let Some(metadata) = patch["metadata"].as_object_mut() {
            metadata.remove(field);
            metadata.extend(value.map(|value| (field.to_owned(), json!(value))));
        }
    }
}

/// Removes the fields that are null: `None` in a Rust type means that the field is not set.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

/// The hash of an object without its status and the metadata that changes with the status.
fn fingerprint<K: Serialize>(object: &K) -> Option<u64> {
    let mut object = serde_json::to_value(object).ok()?;
    object.as_object_mut()?.remove("status");
    let metadata = object["metadata"].as_object_mut()?;
    metadata.remove("resourceVersion");
    metadata.remove("managedFields");
    Some(hash_of(&object))
}

fn hash_of(value: &Value) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.to_string().hash(&mut hasher);
    hasher.finish()
}
