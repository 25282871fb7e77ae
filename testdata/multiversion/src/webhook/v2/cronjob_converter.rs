// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! `CronJob` in `v2`, and how it is converted to and from `v1`, the hub.
//!
//! Only the schedule differs. What one version cannot express, such as `@every 90m` in `v2`, or a
//! `hour: "*"` that could be omitted in `v1`, is not handled here: it is kept in an annotation and
//! restored, unless the schedule was changed meanwhile.

mod schedule;

use api::{v1, v2};
use kbr_runtime::Manager;
use kbr_runtime::webhook::Converter;

pub struct CronJobConverter;

impl Converter for CronJobConverter {
    type Hub = v1::CronJob;
    type Spoke = v2::CronJob;

    fn to_hub(&self, spoke: v2::CronJob) -> v1::CronJob {
        v1::CronJob {
            metadata: spoke.metadata,
            spec: spec_to_hub(spoke.spec),
            status: spoke.status.map(status_to_hub),
        }
    }

    fn to_spoke(&self, hub: v1::CronJob) -> v2::CronJob {
        v2::CronJob {
            metadata: hub.metadata,
            spec: spec_to_spoke(hub.spec),
            status: hub.status.map(status_to_spoke),
        }
    }
}

// Every field is named, so that one that is added or renamed does not compile until it is converted.

fn spec_to_hub(spec: v2::CronJobSpec) -> v1::CronJobSpec {
    let v2::CronJobSpec {
        schedule,
        starting_deadline_seconds,
        concurrency_policy,
        suspend,
        job_template,
        successful_jobs_history_limit,
        failed_jobs_history_limit,
    } = spec;
    v1::CronJobSpec {
        schedule: schedule::to_text(&schedule),
        starting_deadline_seconds,
        concurrency_policy: match concurrency_policy {
            v2::ConcurrencyPolicy::Allow => v1::ConcurrencyPolicy::Allow,
            v2::ConcurrencyPolicy::Forbid => v1::ConcurrencyPolicy::Forbid,
            v2::ConcurrencyPolicy::Replace => v1::ConcurrencyPolicy::Replace,
        },
        suspend,
        job_template,
        successful_jobs_history_limit,
        failed_jobs_history_limit,
    }
}

fn spec_to_spoke(spec: v1::CronJobSpec) -> v2::CronJobSpec {
    let v1::CronJobSpec {
        schedule,
        starting_deadline_seconds,
        concurrency_policy,
        suspend,
        job_template,
        successful_jobs_history_limit,
        failed_jobs_history_limit,
    } = spec;
    v2::CronJobSpec {
        schedule: schedule::to_fields(&schedule),
        starting_deadline_seconds,
        concurrency_policy: match concurrency_policy {
            v1::ConcurrencyPolicy::Allow => v2::ConcurrencyPolicy::Allow,
            v1::ConcurrencyPolicy::Forbid => v2::ConcurrencyPolicy::Forbid,
            v1::ConcurrencyPolicy::Replace => v2::ConcurrencyPolicy::Replace,
        },
        suspend,
        job_template,
        successful_jobs_history_limit,
        failed_jobs_history_limit,
    }
}

fn status_to_hub(status: v2::CronJobStatus) -> v1::CronJobStatus {
    let v2::CronJobStatus {
        observed_generation,
        active,
        last_schedule_time,
        conditions,
    } = status;
    v1::CronJobStatus {
        observed_generation,
        active,
        last_schedule_time,
        conditions,
    }
}

fn status_to_spoke(status: v1::CronJobStatus) -> v2::CronJobStatus {
    let v1::CronJobStatus {
        observed_generation,
        active,
        last_schedule_time,
        conditions,
    } = status;
    v2::CronJobStatus {
        observed_generation,
        active,
        last_schedule_time,
        conditions,
    }
}

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    manager.webhooks().convert(CronJobConverter);
}
