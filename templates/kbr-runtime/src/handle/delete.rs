// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Deleting owned objects.

use std::sync::Arc;

use kube::api::{DeleteParams, Preconditions};
use kube::core::{Request, Status};
use kube::{Resource, ResourceExt};

use super::declared::Use;
use super::{Applied, Handle, OwnedError, is_controlled_by};
use crate::cache::{Cached, Received};
use crate::client::send;
use crate::key::Key;

impl<K: Cached> Handle<K> {
    /// Deletes an object that this object controls, and then the objects that it owns. It is not an error if the object is
    /// already deleted.
    ///
    /// An object with finalizers or a grace period stays in the cache, with a deletion timestamp, until it is gone.
    ///
    /// The role must allow `delete` in addition to `list` and `watch`.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Delete`] with the API server's error if it refuses. It answers with a conflict if another object has
    /// taken the name in the meantime, which is kept: the cache will show that, so let the reconcile be retried.
    /// [`OwnedError::NameTaken`] if this object does not control it, and [`OwnedError::Undeclared`] if the controller was
    /// not given a cache of `T` with [`Controller::owns`](crate::Controller::owns); nothing is sent then.
    pub async fn delete_owned<T: Cached>(&self, object: &T) -> Result<(), OwnedError> {
        let params = DeleteParams {
            preconditions: Some(Preconditions {
                uid: object.uid(),
                ..Preconditions::default()
            }),
            ..DeleteParams::background()
        };
        let (cache, key) = (self.cache::<T>(Use::Write)?, Key::of(object));
        if !is_controlled_by(object, &*self.object) {
            return Err(self.name_taken(cache, &key));
        }
        let is_deleted = object.meta().deletion_timestamp.is_some();
        let request = Request::new(T::url_path(cache.kind(), key.namespace()));
        let request = request.delete(key.name(), &params);
        let left = match send(&self.context.client, "delete", request).await {
            Ok(answer) => {
                if !is_deleted {
                    tracing::info!(resource = cache.resource(), name = key.name(), "deleted");
                }
                // What the API server says of an object that is gone is not terminating.
                Received::read(&answer).ok()
            }
            Err(kube::Error::Api(status)) if is_gone::<T>(&status, &key, cache.kind()) => None,
            Err(reason) => {
                return Err(OwnedError::Delete {
                    resource: cache.resource(),
                    name: key.name().to_owned(),
                    reason,
                });
            }
        };
        cache.deleted(object.meta(), left);
        Ok(())
    }

    /// Deletes the objects of kind `T` that this object controls and that are not in `wanted`, which are those that
    /// [`Handle::apply`] has returned. Returns the deleted objects.
    ///
    /// The owner decides, not the name: an object that was applied under another name before is deleted, and an
    /// object that this object does not control is kept. If it has objects of this kind for several purposes, pass all
    /// desired objects in one call.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Delete`] for the first object that the API server refuses to delete, after all have been tried,
    /// and [`OwnedError::Unreadable`] and [`OwnedError::Undeclared`] as in [`Handle::owned`].
    pub async fn prune<T: Cached>(&self, wanted: &[Applied<T>]) -> Result<Vec<Arc<T>>, OwnedError> {
        let (mut deleted, mut failed) = (Vec::new(), None);
        for object in self.owned::<T>()? {
            let is_wanted = wanted.iter().any(|wanted| wanted.uid() == object.uid());
            if is_wanted || object.meta().deletion_timestamp.is_some() {
                continue;
            }
            match self.delete_owned(&*object).await {
                Ok(()) => deleted.push(object),
                Err(error) => failed = failed.or(Some(error)),
            }
        }
        failed.map_or(Ok(deleted), Err)
    }
}

/// Whether the API server says that the object does not exist, and not, with the same code, that it serves no such kind,
/// or what a webhook says of another object.
pub(super) fn is_gone<T: Resource>(status: &Status, key: &Key, kind: &T::DynamicType) -> bool {
    let named = status.details.as_ref();
    status.is_not_found()
        && named.is_some_and(|named| named.name == key.name() && named.kind == T::plural(kind))
}
