// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The request that a defaulter or a validator receives, in addition to the object.

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// An operation on an object.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Operation {
    /// The object is created.
    #[default]
    Create,
    /// The object is updated.
    Update,
    /// The object is deleted.
    Delete,
    /// A client connects to the object, as with `kubectl exec`.
    Connect,
}

/// An admission request for a [`Defaulter`](super::Defaulter) or a [`Validator`](super::Validator): who
/// does what to which object. The fields correspond to those of `AdmissionRequest` in the API group
/// `admission.k8s.io`.
///
/// The default is for tests that do not care: a creation by a user without a name.
///
/// ```
/// use kbr_runtime::webhook::{AdmissionRequest, Operation};
///
/// let mut request = AdmissionRequest::default();
/// assert_eq!(request.operation, Operation::Create);
/// request.user.username = Some("alice".to_owned());
/// ```
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct AdmissionRequest {
    /// The operation.
    pub operation: Operation,
    /// The name of the object. `None` if the API server will generate one from `metadata.generateName`.
    pub name: Option<String>,
    /// The namespace of the object. `None` if its kind is cluster-scoped.
    pub namespace: Option<String>,
    /// The subresource that is written, such as `status`. `None` for the object itself.
    pub subresource: Option<String>,
    /// The user who sent the request, with groups, UID and whatever else the authentication found.
    pub user: UserInfo,
    /// Whether this is a dry run, of which nothing is stored. If so, a webhook must skip its side
    /// effects.
    pub dry_run: bool,
    pub(super) old_object: Option<Box<RawValue>>,
}

impl AdmissionRequest {
    /// The old object, for an update or a deletion.
    ///
    /// # Errors
    ///
    /// When the old object does not fit the type.
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        let old = self.old_object.as_ref();
        old.map(|old| serde_json::from_str(old.get())).transpose()
    }
}
