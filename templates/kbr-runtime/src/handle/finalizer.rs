// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The finalizers of the object in hand.

use kube::ResourceExt;
use serde_json::json;

use super::Handle;
use super::delete::is_gone;
use crate::Action;
use crate::cache::{Cached, Received};
use crate::key::Key;

impl<K: Cached> Handle<K> {
    /// Runs `apply`; if the object is being deleted, runs `clean_up` instead, and then lets the object go.
    ///
    /// Before the first `apply`, the finalizer `name`, such as `example.com/finalizer`, is added to the object. It keeps
    /// the object until `clean_up` has succeeded, which may run more than once: what is already cleaned up is no
    /// error. The one of the two that does not run is dropped. Neither runs for an object that is being deleted and has
    /// not, or no longer, this finalizer.
    ///
    /// The role must allow `patch` on the objects.
    ///
    /// # Errors
    ///
    /// The error of `apply` or `clean_up`, or that of the API server if it does not change the finalizers.
    pub async fn finalizer<E: From<kube::Error>>(
        &self,
        name: &str,
        apply: impl Future<Output = Result<Action, E>>,
        clean_up: impl Future<Output = Result<(), E>>,
    ) -> Result<Action, E> {
        let mut finalizers = self.object.finalizers().to_vec();
        let position = finalizers.iter().position(|other| other == name);
        if self.object.meta().deletion_timestamp.is_none() {
            if position.is_none() {
                finalizers.push(name.to_owned());
                let changed = self.set_finalizers(&finalizers).await?;
                self.context.cache.wrote(changed);
                tracing::info!(finalizer = name, "finalizer added");
            }
            return apply.await;
        }
        if let Some(position) = position {
            clean_up.await?;
            finalizers.remove(position);
            let key = Key::of(&*self.object);
            let left = match self.set_finalizers(&finalizers).await {
                Ok(changed) => Some(changed),
                Err(kube::Error::Api(status))
                    if is_gone::<K>(&status, &key, self.context.cache.kind()) =>
                {
                    None
                }
                Err(error) => return Err(error.into()),
            };
            self.context.cache.deleted(self.object.meta(), left);
            tracing::info!(finalizer = name, "cleaned up, finalizer removed");
        }
        Ok(Action::await_change())
    }

    async fn set_finalizers(&self, finalizers: &[String]) -> kube::Result<Received<K>> {
        self.patch_own(json!({ "metadata": { "finalizers": finalizers } }))
            .await
    }
}
