// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The rules for a `CronJob` that a schema cannot express.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{
    AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator,
};

use crate::schedule::Schedule;

// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-batch-tutorial-kubebuilder-io-v1-cronjob";

/// The longest name. The name of a Job has at most 63 characters, since it is a label value of its
/// pods, and ends in `-` and the ten digits of a time.
const LONGEST_NAME: usize = 63 - 11;

pub struct CronJobValidator;

impl Validator for CronJobValidator {
    type Object = v1::CronJob;

    async fn validate_create(
        &self,
        _: &AdmissionRequest,
        cronjob: &v1::CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(validate(cronjob).into())
    }

    async fn validate_update(
        &self,
        _: &AdmissionRequest,
        _old: &v1::CronJob,
        new: &v1::CronJob,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(validate(new).into())
    }
}

/// Returns all errors of a CronJob.
fn validate(cronjob: &v1::CronJob) -> Vec<FieldError> {
    let mut errors = Vec::new();
    let name = cronjob.metadata.name.as_deref().unwrap_or_default();
    if name.len() > LONGEST_NAME {
        let detail = format!("must be no more than {LONGEST_NAME} characters");
        let field = FieldPath::new("metadata").child("name");
        errors.push(FieldError::invalid(&field, name, detail));
    }
    let schedule = &cronjob.spec.schedule;
    if let Err(error) = schedule.parse::<Schedule>() {
        let field = FieldPath::new("spec").child("schedule");
        errors.push(FieldError::invalid(&field, schedule, error));
    }
    errors
}

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    manager.webhooks().validate(PATH, CronJobValidator);
}

#[cfg(test)]
mod tests {
    use super::*;
    use api::v1::{CronJob, CronJobSpec};

    const HOURLY: &str = "0 * * * *";

    fn cronjob(name: &str, schedule: &str) -> CronJob {
        let spec = CronJobSpec {
            schedule: schedule.to_owned(),
            ..CronJobSpec::default()
        };
        CronJob::new(name, spec)
    }

    /// The errors for a new CronJob, which are the same as for an update to it.
    async fn errors(name: &str, schedule: &str) -> Vec<String> {
        let new = cronjob(name, schedule);
        let request = AdmissionRequest::default();
        let outcome = CronJobValidator.validate_create(&request, &new).await;
        let outcome = outcome.unwrap();
        let old = cronjob("sample", HOURLY);
        let update = CronJobValidator.validate_update(&request, &old, &new).await;
        assert_eq!(update.unwrap(), outcome);
        let errors = outcome.errors.iter();
        errors.map(ToString::to_string).collect()
    }

    #[tokio::test]
    async fn a_name_has_at_most_52_characters() {
        assert!(errors(&"a".repeat(52), HOURLY).await.is_empty());

        let name = "a".repeat(53);
        let expected =
            format!("metadata.name: Invalid value: \"{name}\": must be no more than 52 characters");
        assert_eq!(errors(&name, HOURLY).await, [expected]);
    }

    #[tokio::test]
    async fn a_schedule_has_the_syntax_of_cron() {
        for schedule in [HOURLY, "*/5 * * * 1-5", "@hourly", "@every 90m"] {
            assert!(errors("sample", schedule).await.is_empty(), "{schedule}");
        }

        let expected = "spec.schedule: Invalid value: \"invalid-cron-schedule\": \
                        expected exactly 5 fields, found 1: [invalid-cron-schedule]";
        assert_eq!(errors("sample", "invalid-cron-schedule").await, [expected]);
    }

    #[tokio::test]
    async fn all_errors_are_reported_at_once() {
        let errors = errors(&"a".repeat(53), "61 * * * *").await;

        assert_eq!(errors.len(), 2);
        assert!(errors[0].starts_with("metadata.name: "));
        assert!(errors[1].starts_with("spec.schedule: "));
    }
}
