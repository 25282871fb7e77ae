// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Writing the status of an object.

use std::fmt::Debug;

use kube::api::{Patch, PatchParams};
use kube::{Api, Resource, ResourceExt};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::json;

/// Writes `status` to the status subresource of `object`, and returns the resulting object.
///
/// This is a [server-side apply] with force by the field manager `manager`, usually the name of the
/// controller:
///
/// - The manager becomes the owner of the fields in `status`, even if somebody else had applied them.
/// - A field that the manager applied before, and that is no longer in `status`, is removed.
/// - All other fields stay. So `status` must contain all of the manager's own fields, and nothing else.
///
/// This applies to each condition separately if the CRD gives the list the type `map` with the key `type`.
/// Otherwise the whole list is a single field.
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use kbr_runtime::apply_status;
/// use kube::Api;
///
/// async fn write(api: &Api<Deployment>, deployment: &Deployment) -> kube::Result<()> {
///     let status = serde_json::json!({ "observedGeneration": deployment.metadata.generation });
///     apply_status(api, deployment, "example", &status).await?;
///     Ok(())
/// }
/// ```
///
/// # Errors
///
/// The errors of the API server, such as 409 Conflict if `object` has changed since it was read. Return the
/// error from the reconcile, which is then retried with the newer object.
///
/// [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/
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
