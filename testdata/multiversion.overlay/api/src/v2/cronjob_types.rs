// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The `CronJob` resource, whose schedule is taken apart into its fields.
//!
//! Doc comments of types and fields become the text of `kubectl explain`.

use k8s_openapi::api::batch::v1::JobTemplateSpec;
use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// When Jobs start, what they run, and how many of the finished ones are kept.
#[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[kube(
    group = "batch.tutorial.kubebuilder.io",
    version = "v2",
    kind = "CronJob",
    plural = "cronjobs",
    singular = "cronjob",
    namespaced,
    status = "CronJobStatus",
    doc = "CronJob starts a Job each time its schedule comes due.",
    derive = "PartialEq",
    printcolumn(name = "Suspend", type_ = "boolean", json_path = ".spec.suspend"),
    printcolumn(
        name = "Age",
        type_ = "date",
        json_path = ".metadata.creationTimestamp"
    )
)]
#[serde(rename_all = "camelCase")]
pub struct CronJobSpec {
    /// When Jobs start, in UTC.
    pub schedule: CronSchedule,
    /// For how many seconds after its time a Job that could not start may still start.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub starting_deadline_seconds: Option<i64>,
    /// What happens when a Job is due while an earlier one still runs.
    #[serde(default)]
    pub concurrency_policy: ConcurrencyPolicy,
    /// Whether no further Job starts.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub suspend: Option<bool>,
    /// The Job that starts each time.
    pub job_template: JobTemplateSpec,
    /// How many Jobs that succeeded are kept: all without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub successful_jobs_history_limit: Option<i32>,
    /// How many Jobs that failed are kept: all without a value.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(range(min = 0))]
    pub failed_jobs_history_limit: Option<i32>,
}

/// When Jobs start: whenever the clock in UTC shows what the fields say. A field that is left out
/// says nothing, as `*` does.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CronSchedule {
    /// 0 to 59, or `*`, lists, ranges and steps of such, as in cron.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub minute: Option<String>,
    /// 0 to 23, or as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub hour: Option<String>,
    /// 1 to 31, or as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_of_month: Option<String>,
    /// 1 to 12, or as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub month: Option<String>,
    /// 0 to 6 from Sunday on, or as above.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub day_of_week: Option<String>,
}

/// What happens when a Job is due while an earlier one still runs.
#[derive(Clone, Copy, Debug, Default, Deserialize, Eq, JsonSchema, PartialEq, Serialize)]
pub enum ConcurrencyPolicy {
    /// Both run.
    #[default]
    Allow,
    /// The new one is skipped.
    Forbid,
    /// The new one takes the place of the earlier one.
    Replace,
}

/// Which Jobs run, and when the last one started.
#[derive(Clone, Debug, Default, Deserialize, JsonSchema, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CronJobStatus {
    /// The `metadata.generation` that this status was computed from.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub observed_generation: Option<i64>,
    /// The Jobs that run now.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    #[schemars(length(min = 1, max = 10), extend("x-kubernetes-list-type" = "atomic"))]
    pub active: Vec<ObjectReference>,
    /// The time of the latest run that started, as the schedule has it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_schedule_time: Option<meta::Time>,
    /// The latest observations of the resource's state, one entry per type.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub conditions: Vec<meta::Condition>,
}
