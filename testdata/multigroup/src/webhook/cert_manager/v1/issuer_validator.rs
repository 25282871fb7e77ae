// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `Issuer` objects that are invalid in ways that a schema cannot express.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{
    AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator,
};
use kube::ResourceExt;

/// The kind that this webhook is for.
type Object = cert_manager::v1::Issuer;

// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=cert-manager.io,resources=issuers,verbs=create;update,versions=v1,name=vissuer-v1.cert-manager.io.testproject.org,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,multigroup-system)"

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-cert-manager-io-v1-issuer";

/// The longest name that fits into a label of the objects that are created for this one.
const NAME_MAX: usize = 63;

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = IssuerValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of a `Issuer`, in addition to those in its schema.
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

/// Everything that is wrong with `object`.
fn validate(object: &Object) -> Vec<FieldError> {
    let mut errors = Vec::new();
    // Add your own rules here; the user sees all errors at once.
    if object.name_any().len() > NAME_MAX {
        let field = FieldPath::new("metadata").child("name");
        errors.push(FieldError::too_long(&field, NAME_MAX));
    }
    errors
}

#[cfg(test)]
mod tests {
    use kbr_runtime::testing::read;

    use super::*;

    const SAMPLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/external/samples/cert-manager_v1_issuer.yaml"
    );

    /// What is wrong with an object of that name.
    fn errors(name: &str) -> Vec<String> {
        let mut object: Object = read(SAMPLE);
        object.metadata.name = Some(name.to_owned());
        let errors = validate(&object);
        errors.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn a_name_of_63_characters_is_allowed() {
        assert_eq!(errors(&"a".repeat(63)), [""; 0]);
    }

    #[test]
    fn a_name_of_64_characters_is_refused() {
        let errors = errors(&"a".repeat(64));

        assert_eq!(errors.len(), 1);
        assert!(errors[0].starts_with("metadata.name: "), "{errors:?}");
    }
}
