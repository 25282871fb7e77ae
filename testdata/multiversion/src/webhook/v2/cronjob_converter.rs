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
        let spec = spoke.spec;
        let spec = v1::CronJobSpec {
            schedule: schedule::to_text(&spec.schedule),
            starting_deadline_seconds: spec.starting_deadline_seconds,
            concurrency_policy: match spec.concurrency_policy {
                v2::ConcurrencyPolicy::Allow => v1::ConcurrencyPolicy::Allow,
                v2::ConcurrencyPolicy::Forbid => v1::ConcurrencyPolicy::Forbid,
                v2::ConcurrencyPolicy::Replace => v1::ConcurrencyPolicy::Replace,
            },
            suspend: spec.suspend,
            job_template: spec.job_template,
            successful_jobs_history_limit: spec.successful_jobs_history_limit,
            failed_jobs_history_limit: spec.failed_jobs_history_limit,
        };
        let mut hub = v1::CronJob::new("", spec);
        hub.status = spoke.status.map(|status| v1::CronJobStatus {
            observed_generation: status.observed_generation,
            active: status.active,
            last_schedule_time: status.last_schedule_time,
            conditions: status.conditions,
        });
        hub
    }

    fn to_spoke(&self, hub: v1::CronJob) -> v2::CronJob {
        let spec = hub.spec;
        let spec = v2::CronJobSpec {
            schedule: schedule::to_fields(&spec.schedule),
            starting_deadline_seconds: spec.starting_deadline_seconds,
            concurrency_policy: match spec.concurrency_policy {
                v1::ConcurrencyPolicy::Allow => v2::ConcurrencyPolicy::Allow,
                v1::ConcurrencyPolicy::Forbid => v2::ConcurrencyPolicy::Forbid,
                v1::ConcurrencyPolicy::Replace => v2::ConcurrencyPolicy::Replace,
            },
            suspend: spec.suspend,
            job_template: spec.job_template,
            successful_jobs_history_limit: spec.successful_jobs_history_limit,
            failed_jobs_history_limit: spec.failed_jobs_history_limit,
        };
        let mut spoke = v2::CronJob::new("", spec);
        spoke.status = hub.status.map(|status| v2::CronJobStatus {
            observed_generation: status.observed_generation,
            active: status.active,
            last_schedule_time: status.last_schedule_time,
            conditions: status.conditions,
        });
        spoke
    }
}

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    manager.webhooks().convert(CronJobConverter);
}
