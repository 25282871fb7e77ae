// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `Admiral` objects that are invalid in ways that a schema cannot express.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, FieldError, ValidationOutcome, Validator};

/// The kind that this webhook is for.
type Object = v1::Admiral;

// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=admirales,verbs=create;update,versions=v1,name=vadmiral-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-batch-tutorial-kubebuilder-io-v1-admiral";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = AdmiralValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of an `Admiral`, in addition to those in its schema.
struct AdmiralValidator;

impl Validator for AdmiralValidator {
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
fn validate(_object: &Object) -> Vec<FieldError> {
    // Return an error for each field that breaks a rule, such as
    // `FieldError::too_long(&FieldPath::new("spec").child("foo"), 80)`.
    Vec::new()
}

#[cfg(test)]
const SAMPLE: &str = "config/samples/batch_v1_admiral.yaml";

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

    // Add a test for each rule here: an object that breaks it, and the path in the error.

    #[test]
    fn the_sample_is_valid() {
        let sample = read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE));
        assert_eq!(errors(&sample), [""; 0]);
    }
}
