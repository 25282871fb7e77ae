// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Rejects `Pod` objects that are invalid in ways that a schema cannot express.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, FieldError, ValidationOutcome, Validator};

/// The kind that this webhook is for.
type Object = k8s_openapi::api::core::v1::Pod;

// While no manager answers, nobody can write such objects, except where the marker leaves this webhook out: in `kube-system`
// and in the operator's own namespace, and for pods with a priority class of the system, such as those of networks and volumes,
// without which no other pod starts. Whoever may use these classes (a ResourceQuota can limit that) escapes the webhook.
// Add the namespaces of whatever else the managers need to start.
// +kbr:webhook:mutating=false,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create;update,versions=v1,name=vpod-v1.core.testproject.org,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,multigroup-system)",matchConditions={"not-of-the-system: !(object != null ? object : oldObject).spec.?priorityClassName.orValue('').startsWith('system-')"}

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/validate--v1-pod";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let validator = PodValidator;
    manager.webhooks().validate(PATH, validator);
}

/// The validation rules of a `Pod`, in addition to those in its schema.
struct PodValidator;

impl Validator for PodValidator {
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
mod tests {
    use super::*;

    /// What is wrong with `object`.
    fn errors(object: &Object) -> Vec<String> {
        let errors = validate(object);
        errors.iter().map(ToString::to_string).collect()
    }

    // Add a test for each rule here: an object that breaks it, and the path in the error.

    #[test]
    fn an_object_without_any_field_is_valid() {
        assert_eq!(errors(&Object::default()), [""; 0]);
    }
}
