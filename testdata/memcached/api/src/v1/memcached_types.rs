// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The `Memcached` resource: pods of one image, and a Service in front of them.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The image that the pods run by default.
const IMAGE: &str = "memcached:1.6.26-alpine";

/// What is wanted of a Memcached.
#[derive(Clone, CustomResource, Debug, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "memcached.cache.example.com",
    version = "v1",
    kind = "Memcached",
    plural = "memcacheds",
    singular = "memcached",
    namespaced,
    status = "MemcachedStatus",
    doc = "A Memcached: what is wanted of it, and what was observed.",
    derive = "PartialEq",
    // The Service has the same name, which must be a DNS-1035 label.
    validation = Rule::new("self.metadata.name.matches('^[a-z]([-a-z0-9]{0,61}[a-z0-9])?$')")
        .message("must be at most 63 lower-case letters, digits and '-', beginning with a letter")
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
pub struct MemcachedSpec {
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

/// What was observed of a Memcached.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MemcachedStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The names of its pods, sorted, without those that are being deleted.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub nodes: Vec<String>,
    /// Available: as many pods serve as the spec wants. Degraded: something keeps the Memcached from being
    /// as the spec wants it, and will not go away by itself.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
