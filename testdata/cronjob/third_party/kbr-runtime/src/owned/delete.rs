// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Deleting owned objects.

use std::fmt::Debug;
use std::sync::Arc;

use kube::api::{DeleteParams, Preconditions};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;

use super::{Owned, OwnedError};
use crate::watch::resource;

impl<O, K> Owned<O, K>
where
    O: Resource<DynamicType = ()> + 'static,
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()> + Send + Sync + 'static,
    K: Serialize,
{
    /// Deletes an object of this cache, and then the objects that it owns. Another object that has taken
    /// its name in the meantime is kept, and it is not an error if the object is already deleted.
    ///
    /// The role must allow `delete` in addition to `list` and `watch`.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Delete`] with the API server's error if it refuses.
    pub async fn delete(&self, api: &Api<K>, object: &K) -> Result<(), OwnedError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                ..Preconditions::default()
            }),
            ..DeleteParams::background()
        };
        let name = object.name_any();
        match api.delete(&name, &params).await {
            Ok(_) => {}
            Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => {}
            Err(reason) => {
                return Err(OwnedError::Delete {
                    resource: resource::<K>(&()),
                    name,
                    reason,
                });
            }
        }
        self.remove(object);
        Ok(())
    }

    /// Deletes the objects that `owner` controls and that are not in `wanted`, which are those that
    /// [`Owned::apply`] has returned. Returns the deleted objects.
    ///
    /// The owner decides, not the name: an object that was applied under another name before is deleted,
    /// and an object that `owner` does not control is kept. If the owner has objects of this kind for
    /// several purposes, give each purpose a label and a cache whose watch selects it, or pass all desired
    /// objects in one call.
    ///
    /// ```no_run
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use kbr_runtime::{Owned, OwnedError};
    /// use kube::Api;
    ///
    /// /// The name in `wanted` may be another than that of the last reconcile.
    /// async fn publish(
    ///     api: &Api<ConfigMap>,
    ///     deployment: &Deployment,
    ///     config_maps: &Owned<Deployment, ConfigMap>,
    ///     wanted: &ConfigMap,
    /// ) -> Result<(), OwnedError> {
    ///     let applied = config_maps.apply(api, deployment, "greeting", wanted).await?;
    ///     config_maps.prune(api, deployment, &[applied]).await?;
    ///     Ok(())
    /// }
    /// ```
    ///
    /// # Errors
    ///
    /// [`OwnedError::Delete`] for the first object that the API server refuses to delete, after all have
    /// been tried, and [`OwnedError::NotListed`] as in [`Owned::of`].
    pub async fn prune(
        &self,
        api: &Api<K>,
        owner: &O,
        wanted: &[Arc<K>],
    ) -> Result<Vec<Arc<K>>, OwnedError> {
        let (mut deleted, mut failed) = (Vec::new(), None);
        for object in self.of(owner).await? {
            let is_wanted = wanted.iter().any(|wanted| wanted.uid() == object.uid());
            if is_wanted || object.meta().deletion_timestamp.is_some() {
                continue;
            }
            match self.delete(api, &object).await {
                Ok(()) => deleted.push(object),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(deleted), Err)
    }
}
