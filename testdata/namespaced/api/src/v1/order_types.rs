// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The `Order` resource.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The desired state of an Order.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "shop.example.com",
    version = "v1",
    kind = "Order",
    plural = "orders",
    singular = "order",
    namespaced,
    status = "OrderStatus",
    doc = "An Order: its desired state, and what was observed.",
    derive = "PartialEq",
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
pub struct OrderSpec {
    /// An example field: replace it with what your resource needs.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub foo: Option<String>,
}

/// The observed state of an Order.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct OrderStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The latest observations of the resource's state, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
