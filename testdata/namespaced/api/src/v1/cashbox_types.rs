// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The `Cashbox` resource: pods of one image.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The image that the pods run by default.
const IMAGE: &str = "registry.example.com/cashbox:1.2";

/// The desired state of a Cashbox.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "shop.example.com",
    version = "v1",
    kind = "Cashbox",
    plural = "cashboxes",
    singular = "cashbox",
    namespaced,
    status = "CashboxStatus",
    doc = "A Cashbox: its desired state, and what was observed.",
    derive = "PartialEq",
    // The name is also the value of a label. `Rule` needs no import.
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("must be no more than 63 characters")
        .field_path(".metadata.name"),
    printcolumn(name = "Size", type_ = "integer", json_path = ".spec.size"),
    printcolumn(
        name = "Available",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Available\")].status"
    ),
    printcolumn(
        name = "Degraded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Degraded\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct CashboxSpec {
    /// How many pods there are.
    #[serde(default = "default_size")]
    #[schemars(range(min = 0))]
    pub size: i32,
    /// The container image that they run.
    #[serde(default = "default_image")]
    #[schemars(length(min = 1, max = 1024))]
    pub image: String,
}

fn default_size() -> i32 {
    1
}

fn default_image() -> String {
    IMAGE.to_owned()
}

/// The observed state of a Cashbox.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CashboxStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Available: as many pods serve as the spec asks for. Degraded: something keeps the Cashbox from
    /// matching its spec, and will not go away by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
