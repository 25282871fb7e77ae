// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The requests of the API server.

use std::borrow::Cow;
use std::collections::BTreeMap;

use k8s_openapi::api::authentication::v1::UserInfo;
use kube::Resource;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::value::RawValue;

use super::{API_VERSION, KIND, Refusal, status};
use crate::webhook::{AdmissionRequest, Operation};

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Review<'a> {
    #[serde(borrow)]
    api_version: Cow<'a, str>,
    #[serde(borrow)]
    kind: Cow<'a, str>,
    #[serde(borrow)]
    request: Option<Request<'a>>,
}

/// One admission request. Objects stay text, for code that knows their type.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
pub(in crate::webhook) struct Request<'a> {
    #[serde(borrow)]
    pub(super) uid: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Kind<'a>,
    #[serde(borrow, default)]
    pub(super) name: Cow<'a, str>,
    #[serde(borrow, default)]
    namespace: Cow<'a, str>,
    #[serde(borrow, default)]
    sub_resource: Cow<'a, str>,
    pub(super) operation: Operation,
    #[serde(default)]
    user_info: UserInfo,
    #[serde(default)]
    dry_run: Option<bool>,
    /// `None` for a deletion.
    #[serde(borrow)]
    object: Option<&'a RawValue>,
    /// `None` for a creation.
    #[serde(borrow)]
    old_object: Option<&'a RawValue>,
}

#[derive(Deserialize, Eq, PartialEq)]
pub(super) struct Kind<'a> {
    #[serde(borrow, default)]
    pub(super) group: Cow<'a, str>,
    #[serde(borrow)]
    version: Cow<'a, str>,
    #[serde(borrow)]
    pub(super) kind: Cow<'a, str>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    #[serde(borrow)]
    deletion_timestamp: Option<&'a RawValue>,
}

impl<'a> Request<'a> {
    /// The request in `review`, if it is about an object of kind `K`.
    pub(super) fn read<K: Resource<DynamicType = ()>>(review: &'a [u8]) -> Result<Self, String> {
        let review: Review<'a> = serde_json::from_slice(review)
            .map_err(|error| format!("expected {KIND} of {API_VERSION}: {error}"))?;
        if (&*review.api_version, &*review.kind) != (API_VERSION, KIND) {
            let (kind, version) = (review.kind, review.api_version);
            return Err(format!(
                "expected {KIND} of {API_VERSION}, not {kind} of {version}"
            ));
        }
        let request = review.request.ok_or("the review has no request")?;
        let expected = Kind {
            group: K::group(&()),
            version: K::version(&()),
            kind: K::kind(&()),
        };
        if request.kind != expected {
            let (asked, served) = (request.kind, expected);
            return Err(format!("this webhook is for {served}, not for {asked}"));
        }
        Ok(request)
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

    /// Whether the request changes only the metadata of an object that is being deleted.
    pub(super) fn is_about_metadata_of_a_deleted_object(&self) -> bool {
        match (split_metadata(self.old_object), split_metadata(self.object)) {
            (Some((metadata, old)), Some((_, new))) => {
                metadata.deletion_timestamp.is_some() && old == new
            }
            _ => false,
        }
    }

    /// The request as a defaulter or a validator sees it.
    pub(super) fn details(&self) -> AdmissionRequest {
        let present = |text: &str| (!text.is_empty()).then(|| text.to_owned());
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
        let (operation, kind) = (self.operation, &self.kind.kind);
        match &*self.namespace {
            "" => tracing::error_span!("review", ?operation, %kind, object = %self.name),
            namespace => {
                let object = format_args!("{namespace}/{}", self.name);
                tracing::error_span!("review", ?operation, %kind, object = %object)
            }
        }
    }
}

/// The metadata of an object, and the text of its other fields.
fn split_metadata(object: Option<&RawValue>) -> Option<(Metadata<'_>, Vec<(String, &str)>)> {
    let fields = serde_json::from_str(object?.get());
    let mut fields: BTreeMap<String, &RawValue> = fields.ok()?;
    let metadata = fields.remove("metadata")?;
    let others = fields.into_iter().map(|(name, value)| (name, value.get()));
    Some((serde_json::from_str(metadata.get()).ok()?, others.collect()))
}

impl std::fmt::Display for Kind<'_> {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self {
            group,
            version,
            kind,
        } = self;
        let slash = if group.is_empty() { "" } else { "/" };
        write!(formatter, "{kind} of {group}{slash}{version}")
    }
}
