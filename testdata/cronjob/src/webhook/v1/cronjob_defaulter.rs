// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The defaults of the fields that a `CronJob` omits.
//!
//! The policy is not here: the schema has its default, and the API server applies it before it calls
//! any webhook.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};

// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=mcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate-batch-tutorial-kubebuilder-io-v1-cronjob";

/// How many successful Jobs are kept.
const SUCCESSFUL_JOBS: i32 = 3;

/// How many failed Jobs are kept.
const FAILED_JOBS: i32 = 1;

pub struct CronJobDefaulter;

impl Defaulter for CronJobDefaulter {
    type Object = v1::CronJob;

    async fn set_defaults(
        &self,
        _: &AdmissionRequest,
        cronjob: &mut v1::CronJob,
    ) -> Result<(), BoxError> {
        let spec = &mut cronjob.spec;
        spec.suspend.get_or_insert(false);
        spec.successful_jobs_history_limit
            .get_or_insert(SUCCESSFUL_JOBS);
        spec.failed_jobs_history_limit.get_or_insert(FAILED_JOBS);
        Ok(())
    }
}

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    manager.webhooks().mutate(PATH, CronJobDefaulter);
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::v1::{ConcurrencyPolicy, CronJob, CronJobSpec};

    async fn defaulted(spec: CronJobSpec) -> CronJobSpec {
        let mut cronjob = CronJob::new("sample", spec);
        let request = AdmissionRequest::default();
        let done = CronJobDefaulter.set_defaults(&request, &mut cronjob).await;
        done.unwrap();
        cronjob.spec
    }

    #[tokio::test]
    async fn omitted_fields_are_defaulted() {
        let spec = defaulted(CronJobSpec::default()).await;

        assert_eq!(spec.concurrency_policy, ConcurrencyPolicy::Allow);
        assert_eq!(spec.suspend, Some(false));
        assert_eq!(spec.successful_jobs_history_limit, Some(3));
        assert_eq!(spec.failed_jobs_history_limit, Some(1));
    }

    #[tokio::test]
    async fn fields_that_are_set_stay() {
        let spec = CronJobSpec {
            concurrency_policy: ConcurrencyPolicy::Forbid,
            suspend: Some(true),
            successful_jobs_history_limit: Some(5),
            failed_jobs_history_limit: Some(0),
            ..CronJobSpec::default()
        };

        assert_eq!(defaulted(spec.clone()).await, spec);
    }
}
