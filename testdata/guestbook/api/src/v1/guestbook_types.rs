// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The `Guestbook` resource: some pods that take their settings from a ConfigMap.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How many pods there are to be, and from where they have their settings.
#[derive(Clone, CustomResource, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "webapp.my.domain",
    version = "v1",
    kind = "Guestbook",
    plural = "guestbooks",
    singular = "guestbook",
    namespaced,
    status = "GuestbookStatus",
    doc = "Guestbook has a Deployment of its own name, whose pods have their settings from a ConfigMap.",
    derive = "PartialEq",
    // It becomes the value of a label, which is no longer.
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("must be no more than 63 characters")
        .field_path(".metadata.name"),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(name = "Active", type_ = "string", json_path = ".status.active"),
    printcolumn(
        name = "Ready",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Ready\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct GuestbookSpec {
    /// How many pods there are.
    #[schemars(range(min = 1, max = 10))]
    pub size: i32,
    /// The name of a ConfigMap in the same namespace. Its keys become variables in the environment of
    /// the pods. When its data changes, the pods are replaced one after another.
    #[schemars(
        length(min = 1, max = 15),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$")
    )]
    pub config_map_name: String,
    /// What guests leave. The pods have it in the variable GUESTBOOK_TYPE.
    #[serde(rename = "alias", default, skip_serializing_if = "Option::is_none")]
    pub type_: Option<EntryType>,
}

/// What guests leave.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum EntryType {
    /// A phone number.
    Phone,
    /// An address.
    Address,
    /// A name.
    Name,
}

/// Which pods there are.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct GuestbookStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The name of the active pod: the oldest one that is ready. Empty if none is.
    pub active: String,
    /// The names of the other pods, ready or not.
    #[schemars(extend("x-kubernetes-list-type" = "atomic"))]
    pub standby: Vec<String>,
    /// Ready: there are as many pods as the spec wants, all of them are ready, and they have the
    /// settings of today.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
