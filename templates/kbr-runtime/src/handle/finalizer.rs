// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Changing the object in hand itself: its finalizers, and anything else but its status.

use kube::ResourceExt;
use kube::api::Patch;
use serde_json::{Value, json};

use super::delete::is_gone;
use super::{Handle, paths};
use crate::Action;
use crate::cache::{Cached, Received};
use crate::diff;
use crate::key::Key;
use crate::lock::lock;

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
                self.hand.cache.wrote(changed);
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
                    if is_gone::<K>(&status, &key, self.hand.cache.kind()) =>
                {
                    None
                }
                Err(error) => return Err(error.into()),
            };
            self.hand.cache.deleted(self.object.meta(), left);
            tracing::info!(finalizer = name, "cleaned up, finalizer removed");
        }
        Ok(Action::await_change())
    }

    async fn set_finalizers(&self, finalizers: &[String]) -> kube::Result<Received<K>> {
        self.patch_own(json!({ "metadata": { "finalizers": finalizers } }))
            .await
    }

    /// Changes this object itself by a [merge patch] with the controller as the field manager, unless it has changed
    /// since it was read. What follows in this reconcile, such as [`Handle::apply_status`], builds on the result, which the
    /// object in hand does not show.
    ///
    /// A null removes a field. The status is written by [`Handle::apply_status`], and finalizers by [`Handle::finalizer`].
    /// The role must allow `patch` on the objects.
    ///
    /// # Errors
    ///
    /// The errors of the API server, such as 409 Conflict if the object has changed since it was read. Return the
    /// error from the reconcile, which is then retried with the newer object.
    ///
    /// ```no_run
    /// # use {k8s_openapi::api::core::v1::ConfigMap, kbr_runtime::Handle, serde_json::json};
    /// async fn mark(map: &Handle<ConfigMap>) -> kube::Result<()> {
    ///     map.patch(json!({ "metadata": { "annotations": { "example.com/seen": "true" } } })).await
    /// }
    /// ```
    ///
    /// [merge patch]: https://www.rfc-editor.org/rfc/rfc7386
    pub async fn patch(&self, fields: Value) -> kube::Result<()> {
        let told = paths(&diff::fields(&Value::Null, &fields, false));
        let changed = self.patch_own(fields).await?;
        self.hand.cache.wrote(changed);
        tracing::info!(fields = told, "patched");
        Ok(())
    }

    async fn patch_own(&self, mut fields: Value) -> kube::Result<Received<K>> {
        fields["metadata"]["resourceVersion"] = json!(self.version());
        let key = Key::of(&*self.object);
        let api = self.received(&self.hand.cache, &key);
        let patch = Patch::Merge(fields);
        let params = self.hand.params();
        let changed: Received<K> = api.patch(key.name(), &params, &patch).await?;
        *lock(&self.written) = changed.resource_version();
        Ok(changed)
    }
}
