// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The requests of the API server.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::fmt;

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::Resource;
use kube::core::GroupVersionKind;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use serde_json::value::RawValue;

use super::{API_VERSION, KIND, Refusal, status};
use crate::key::Key;
use crate::webhook::review::Review;
use crate::webhook::{AdmissionRequest, Operation};

/// One admission request. Objects stay text, for code that knows their type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhook) struct Request<'a> {
    #[serde(borrow)]
    pub(super) uid: Cow<'a, str>,
    pub(super) kind: GroupVersionKind,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    sub_resource: Cow<'a, str>,
    pub(super) operation: Operation,
    #[serde(default)]
    user_info: UserInfo,
    dry_run: Option<bool>,
    /// `None` for a deletion.
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    /// `None` for a creation.
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    /// The request in `review`.
    pub(super) fn read(review: &'a [u8]) -> Result<Self, String> {
        let review: Review<'a, Option<Self>> = serde_json::from_slice(review)
            .map_err(|error| format!("expected {KIND} of {API_VERSION}: {error}"))?;
        if (&*review.api_version, &*review.kind) != (API_VERSION, KIND) {
            let (kind, version) = (review.kind, review.api_version);
            return Err(format!(
                "expected {KIND} of {API_VERSION}, not {kind} of {version}"
            ));
        }
        let request = review.request.ok_or("the review has no request")?;
        Ok(request)
    }

    /// Checks that the request is about a `K`.
    pub(super) fn is_about<K: Resource<DynamicType = ()>>(&self) -> Result<(), Refusal> {
        let expected = GroupVersionKind::gvk(&K::group(&()), &K::version(&()), &K::kind(&()));
        if self.kind == expected {
            return Ok(());
        }
        let [served, asked] =
            [&expected, &self.kind].map(|kind| format!("{} of {}", kind.kind, kind.api_version()));
        let reason = format!("this webhook is for {served}, not for {asked}");
        Err(Refusal::Malformed(reason))
    }

    /// The new object.
    pub(super) fn object(&self) -> Result<&'a RawValue, Refusal> {
        self.object.ok_or_else(|| self.lacks("object"))
    }

    /// The old object.
    pub(super) fn old_object(&self) -> Result<&'a RawValue, Refusal> {
        self.old_object.ok_or_else(|| self.lacks("oldObject"))
    }

    pub(super) fn is_about_no_object(&self) -> bool {
        self.object.is_none() && self.old_object.is_none()
    }

    /// The old and the new object as values, if there are both.
    pub(super) fn values(&self) -> Option<[Value; 2]> {
        let read = |object: Option<&RawValue>| serde_json::from_str(object?.get()).ok();
        Some([read(self.old_object)?, read(self.object)?])
    }

    /// Whether the request changes only the metadata of an object that is being deleted.
    pub(super) fn is_about_metadata_of_a_deleted_object(&self) -> bool {
        let read = |object: &'a RawValue| -> Option<BTreeMap<String, &'a RawValue>> {
            serde_json::from_str(object.get()).ok()
        };
        let split = |object: Option<&'a RawValue>| {
            let mut fields = read(object?)?;
            let metadata = read(fields.remove("metadata")?)?;
            let others = fields.into_iter().map(|(name, value)| (name, value.get()));
            Some((metadata, Vec::from_iter(others)))
        };
        match (split(self.old_object), split(self.object)) {
            (Some((metadata, old)), Some((_, new))) => {
                let deleted = metadata.get("deletionTimestamp");
                deleted.is_some_and(|time| time.get() != "null") && old == new
            }
            _ => false,
        }
    }

    /// The request as a defaulter or a validator sees it.
    pub(super) fn details(&self) -> AdmissionRequest {
        AdmissionRequest {
            operation: self.operation,
            name: present(&self.name),
            namespace: present(&self.namespace),
            subresource: present(&self.sub_resource),
            user: self.user_info.clone(),
            dry_run: self.dry_run.unwrap_or_default(),
            old_object: self.old_object.map(ToOwned::to_owned),
        }
    }

    fn lacks(&self, field: &str) -> Refusal {
        Refusal::Malformed(format!("the {:?} request has no `{field}`", self.operation))
    }

    /// Reads an object; if its type cannot hold it, the request is denied with the reason.
    pub(super) fn decode<T: DeserializeOwned>(&self, object: &RawValue) -> Result<T, Refusal> {
        serde_json::from_str(object.get())
            .map_err(|error| status::undecodable(self, object.get(), &error).into())
    }

    /// The span that names the object in every log line of a webhook.
    pub(super) fn span(&self) -> tracing::Span {
        let (operation, kind, object) = (self.operation, &self.kind.kind, self.key());
        tracing::error_span!("review", ?operation, %kind, %object)
    }

    fn key(&self) -> Key {
        Key::new(present(&self.namespace), self.name.to_string())
    }
}

impl fmt::Display for Request<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (operation, kind, object) = (self.operation, &self.kind.kind, self.key());
        write!(formatter, "{operation:?} {kind} `{object}`")
    }
}

fn present(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}
