// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The `MyJob` resource: one Pod that runs to its end.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::api::core::v1::PodTemplateSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::{CustomResource, KubeSchema};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The Pod that runs.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, KubeSchema, PartialEq, Serialize)]
#[kube(
    group = "myjob.github.com",
    version = "v1beta1",
    kind = "MyJob",
    plural = "myjobs",
    singular = "myjob",
    namespaced,
    status = "MyJobStatus",
    doc = "MyJob runs one Pod of its own name, once.",
    derive = "PartialEq",
    printcolumn(name = "Phase", type_ = "string", json_path = ".status.phase"),
    printcolumn(
        name = "Succeeded",
        type_ = "string",
        json_path = ".status.conditions[?(@.type==\"Succeeded\")].status"
    ),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct MyJobSpec {
    /// The Pod that is created, with its labels and annotations. It cannot be changed later. With the
    /// `restartPolicy` Never or OnFailure the Pod comes to an end.
    #[x_kube(
        validation = Rule::new("has(self.spec) && size(self.spec.containers) > 0")
            .message("a Pod has at least one container")
            .field_path(".spec.containers")
            .reason(Reason::FieldValueRequired),
        validation = ("self == oldSelf", "cannot be changed: the Pod is created once"),
    )]
    pub template: PodTemplateSpec,
}

/// How far the Pod is.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct MyJobStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// Where the MyJob is in its life. It never goes back.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<Phase>,
    /// Completed: the Pod has come to an end, whatever that was. Succeeded: so did its containers;
    /// Unknown as long as it is not completed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}

/// Where a MyJob is in its life.
#[derive(Clone, Copy, Debug, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Phase {
    /// There is no Pod yet.
    Pending,
    /// The Pod is there.
    Running,
    /// The Pod has succeeded or failed, or was deleted.
    Completed,
}
