// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The `Foo` resource: a Deployment, by its name.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Which Deployment there is to be, and of what size.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "samplecontroller.example.com",
    version = "v1alpha1",
    kind = "Foo",
    plural = "foos",
    singular = "foo",
    namespaced,
    status = "FooStatus",
    doc = "Foo has a Deployment of nginx.",
    derive = "PartialEq",
    // It becomes the value of a label, which is no longer.
    validation = Rule::new("self.metadata.name.size() <= 63")
        .message("must be no more than 63 characters")
        .field_path(".metadata.name"),
    printcolumn(
        name = "Deployment",
        type_ = "string",
        json_path = ".spec.deploymentName"
    ),
    printcolumn(
        name = "Available",
        type_ = "integer",
        json_path = ".status.availableReplicas"
    ),
    printcolumn(
        name = "Synced",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Synced\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct FooSpec {
    /// The name of the Deployment. One of that name that belongs to somebody else is left alone. After
    /// a change there is a new Deployment, and the old one is deleted.
    #[schemars(
        length(min = 1, max = 63),
        regex(pattern = r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$")
    )]
    pub deployment_name: String,
    /// How many pods the Deployment has. Without a value that is left to others, such as an
    /// autoscaler or `kubectl scale`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub replicas: Option<i32>,
}

/// What there is of the Deployment.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct FooStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// How many pods of the Deployment serve.
    #[serde(default)]
    pub available_replicas: i32,
    /// Synced: the Deployment is as the spec wants it. Degraded: something keeps its pods from running.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
