// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The `Task` resource: what a test wants a reconcile to do.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// How a reconcile goes before it writes the status.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "probe.example.com",
    version = "v1",
    kind = "Task",
    plural = "tasks",
    singular = "task",
    namespaced,
    status = "TaskStatus",
    doc = "A Task: what is wanted of it, and what was observed.",
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
pub struct TaskSpec {
    /// For how many milliseconds it works.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub work_millis: Option<u32>,
    /// Nothing depends on it. The API server takes larger numbers than this type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<i64>")]
    pub priority: Option<i32>,
    /// Whether it panics.
    #[serde(default)]
    pub panic: bool,
    /// Whether the status is another one after each reconcile.
    #[serde(default)]
    pub restless: bool,
    /// Whether it fails.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<Failure>,
    /// After how many milliseconds it is to run again.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub again_millis: Option<u32>,
}

/// An error, and when the object is tried again.
#[derive(Clone, Debug, Deserialize, JsonSchema, PartialEq, Serialize)]
pub enum Failure {
    /// With a growing delay.
    Plain,
    /// Not until it changes.
    Terminal,
    /// After five seconds.
    Late,
}

/// What was observed of a Task.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The latest observations of the resource's state, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
