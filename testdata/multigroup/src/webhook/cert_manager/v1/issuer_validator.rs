// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `Issuer` objects that are invalid in ways that a schema cannot express.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, FieldError, ValidationOutcome, Validator};

/// The kind that this webhook is for.
type Object = cert_manager::v1::Issuer;

// While no manager answers, nobody can write such objects, except where the marker leaves this webhook out: in `kube-system`
// and in the operator's own namespace.
// Add the namespaces of whatever else the managers need to start.
// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=cert-manager.io,resources=issuers,verbs=create;update,versions=v1,name=vissuer-v1.cert-manager.io.testproject.org,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,multigroup-system)"

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-cert-manager-io-v1-issuer";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = IssuerValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of an `Issuer`, in addition to those in its schema.
struct IssuerValidator;

impl Validator for IssuerValidator {
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
const SAMPLE: &str = "tests/external/samples/cert-manager_v1_issuer.yaml";

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
