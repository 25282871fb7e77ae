// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `Cruiser` objects that are invalid in ways that a schema cannot express.

use api::ship::v2alpha1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{
    AdmissionRequest, BoxError, FieldError, FieldPath, ValidationOutcome, Validator,
};
use kube::ResourceExt;

/// The kind that this webhook is for.
type Object = v2alpha1::Cruiser;

// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups=ship.testproject.org,resources=cruisers,verbs=create;update,versions=v2alpha1,name=vcruiser-v2alpha1.ship.testproject.org,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate-ship-testproject-org-v2alpha1-cruiser";

/// The longest name that fits into a label of the objects that are created for this one.
const NAME_MAX: usize = 63;

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = CruiserValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of a `Cruiser`, in addition to those in its schema.
struct CruiserValidator;

impl Validator for CruiserValidator {
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
    use super::*;

    /// What is wrong with an object of that name.
    fn errors(name: &str) -> Vec<String> {
        let object = Object::new(name, Default::default());
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
