// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `CronJob` objects that are invalid in ways that a schema cannot express.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{
    AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator,
};
use kube::ResourceExt;

/// The kind that this webhook is for.
type Object = v1::CronJob;

// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=vcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-batch-tutorial-kubebuilder-io-v1-cronjob";

/// A CronJob appends 11 bytes to its name for the names of its Jobs, which have at most 63.
const MAX_NAME: usize = 52;

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = CronJobValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of a `CronJob`, in addition to those in its schema.
struct CronJobValidator;

impl Validator for CronJobValidator {
    type Object = Object;

    async fn validate_create(
        &self,
        _: &AdmissionRequest,
        object: &Object,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(validate(object).into())
    }

    async fn validate_update(
        &self,
        _: &AdmissionRequest,
        _old: &Object,
        new: &Object,
    ) -> Result<ValidationOutcome, BoxError> {
        Ok(validate(new).into())
    }
}

/// Everything that is wrong with `object`: its user sees all errors at once.
fn validate(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    if object.name_any().len() > MAX_NAME {
        let name = FieldPath::new("metadata").child("name");
        errors.push(FieldError::too_long(&name, MAX_NAME));
    }
    errors
}

#[cfg(test)]
const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kbr_testing::read;

    use super::*;

    /// What is wrong with `object`.
    fn errors(object: &Object) -> Vec<String> {
        let errors = validate(object);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_has_at_most_52_bytes() {
        let mut object: Object = read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE));
        object.metadata.name = Some("a".repeat(52));
        assert_eq!(errors(&object), [""; 0]);
        object.metadata.name = Some("a".repeat(53));
        assert_eq!(
            errors(&object),
            ["metadata.name: Too long: may not be more than 52 bytes"]
        );
    }

    #[test]
    fn the_sample_is_valid() {
        let sample = read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE));
        assert_eq!(errors(&sample), [""; 0]);
    }
}
