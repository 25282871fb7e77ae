// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Sets defaults in `Pod` objects.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};

/// The kind that this webhook is for.
type Object = k8s_openapi::api::core::v1::Pod;

// While no manager answers, nobody can write such objects, except where the marker leaves this webhook out: in `kube-system`
// and in the operator's own namespace, and for pods with a priority class of the system, such as those of networks and volumes,
// without which no other pod starts. Whoever may use these classes (a ResourceQuota can limit that) escapes the webhook.
// Add the namespaces of whatever else the managers need to start.
// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups="",resources=pods,verbs=create;update,versions=v1,name=mpod-v1.core.tutorial.kubebuilder.io,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,scaffold-system)",matchConditions={"not-of-the-system: !(object != null ? object : oldObject).spec.?priorityClassName.orValue('').startsWith('system-')"}

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate--v1-pod";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let defaulter = PodDefaulter;
    manager.webhooks().mutate(PATH, defaulter);
}

/// The defaults of a `Pod`, in addition to those in its schema.
struct PodDefaulter;

impl Defaulter for PodDefaulter {
    type Object = Object;

    async fn set_defaults(
        &self,
        _: &AdmissionRequest,
        _object: &mut Object,
    ) -> Result<(), BoxError> {
        // Set here what is absent, such as `object.spec.suspend.get_or_insert(false);`: a value that
        // is set must be kept.
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn object() -> Object {
        Object::default()
    }

    async fn set_defaults(object: &mut Object) {
        let defaulter = PodDefaulter;
        let request = AdmissionRequest::default();
        defaulter.set_defaults(&request, object).await.unwrap();
    }

    // Add tests here: an absent value is set, and a value that is set is kept.

    #[tokio::test]
    async fn an_object_that_has_its_defaults_does_not_change() {
        let mut object = object();
        set_defaults(&mut object).await;
        let once = json!(object);

        set_defaults(&mut object).await;

        assert_eq!(json!(object), once);
    }
}
