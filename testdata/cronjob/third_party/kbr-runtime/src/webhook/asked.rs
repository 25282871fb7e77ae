// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a defaulter or a validator is asked, beside the object.

use k8s_openapi::api::authentication::v1::UserInfo;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

/// What is done to an object.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, PartialEq)]
#[serde(rename_all = "UPPERCASE")]
#[non_exhaustive]
pub enum Operation {
    /// It is created.
    #[default]
    Create,
    /// It is changed.
    Update,
    /// It is deleted.
    Delete,
    /// A connection is made to it, as for `kubectl exec`.
    Connect,
}

/// A request that a [`Defaulter`](super::Defaulter) or a [`Validator`](super::Validator) decides on: who
/// does what to which object. The fields are those of the same names in `AdmissionRequest` of the API
/// group `admission.k8s.io`.
///
/// The default is what a test needs that does not care: a creation by a user without a name.
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
    /// What is done.
    pub operation: Operation,
    /// The name of the object. `None` if the API server is to make one, of `metadata.generateName`.
    pub name: Option<String>,
    /// The namespace of the object. `None` if its kind has none.
    pub namespace: Option<String>,
    /// What of the object is written, such as `status`. `None` for the object itself.
    pub subresource: Option<String>,
    /// Who does it, with the groups, the uid and what else the authentication found.
    pub user: UserInfo,
    /// Whether nothing of it is stored. Whoever changes anything but the object must leave that, then.
    pub dry_run: bool,
    pub(super) old_object: Option<Box<RawValue>>,
}

impl AdmissionRequest {
    /// The object as it was, for an update or a deletion.
    ///
    /// # Errors
    ///
    /// When it does not fit the type.
    pub fn old_object<T: DeserializeOwned>(&self) -> Result<Option<T>, serde_json::Error> {
        let old = self.old_object.as_ref();
        old.map(|old| serde_json::from_str(old.get())).transpose()
    }
}
