// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Changing the object in hand itself, except for its status.

use kube::ResourceExt;
use kube::api::Patch;
use serde::de::Error as _;
use serde_json::{Value, json};

use super::{Handle, paths};
use crate::cache::{Cached, Received};
use crate::diff;
use crate::key::Key;
use crate::lock::lock;

impl<K: Cached> Handle<K> {
    /// Changes this object itself by a [merge patch] with the controller as the field manager, unless it has changed
    /// since it was read. What follows in this reconcile, such as [`Handle::apply_status`], builds on the result, which the
    /// object in hand does not show.
    ///
    /// A null removes a field. The status is written by [`Handle::apply_status`], and finalizers by [`Handle::finalizer`].
    /// The role must allow `patch` on the objects.
    ///
    /// # Errors
    ///
    /// [`kube::Error::SerdeError`] if `fields` is not a JSON object. The errors of the API server, such as 409 Conflict if the object has changed since it was read. Return the
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
        self.context.cache.wrote(changed);
        tracing::info!(fields = told, "patched");
        Ok(())
    }

    pub(super) async fn patch_own(&self, mut fields: Value) -> kube::Result<Received<K>> {
        restrict(&mut fields, self.version())?;
        let (context, key) = (&self.context, Key::of(&*self.object));
        let (params, patch) = (context.params(), Patch::Merge(&fields));
        let changed = context
            .patch(&context.cache, &key, None, &params, patch)
            .await?;
        *lock(&self.written) = changed.object.resource_version();
        Ok(changed.object)
    }
}

/// Makes the API server refuse the patch unless the object has that version.
fn restrict(fields: &mut Value, version: Option<String>) -> kube::Result<()> {
    let metadata = fields.as_object_mut().and_then(|fields| {
        let metadata = fields.entry("metadata").or_insert_with(|| json!({}));
        metadata.as_object_mut()
    });
    let metadata = metadata.ok_or_else(|| {
        kube::Error::SerdeError(serde_json::Error::custom(
            "a patch must be a JSON object, and `metadata` in it, too: `json!({ \"metadata\": { … } })`",
        ))
    })?;
    metadata.insert("resourceVersion".to_owned(), json!(version));
    Ok(())
}
