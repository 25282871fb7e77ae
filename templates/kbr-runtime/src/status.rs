// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Writing the status of an object.

use std::fmt::Debug;

use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Applies `status` to the status subresource of `object`, in the name of the field manager `manager`.
///
/// This is a server-side apply: the fields in `status` become the manager's, even if another had
/// applied them, and those that it applied before and are not there any more are removed. What others
/// wrote stays, so `status` should hold nothing of it.
///
/// # Errors
///
/// What the API server says: 409 Conflict if `object` has changed since it was read, so that what was
/// seen of it may be wrong. A retry sees the newer object.
pub async fn apply_status<K, S>(
    api: &Api<K>,
    object: &K,
    manager: &str,
    status: &S,
) -> kube::Result<K>
where
    K: Clone + Debug + DeserializeOwned + Resource<DynamicType = ()>,
    S: Serialize,
{
    let patch = json!({
        "apiVersion": K::api_version(&()),
        "kind": K::kind(&()),
        "metadata": { "resourceVersion": object.resource_version() },
        "status": status,
    });
    let params = PatchParams::apply(manager).force();
    api.patch_status(&object.name_any(), &params, &Patch::Apply(&patch))
        .await
}
