// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Sets defaults in `Deployment` objects.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};

/// The kind that this webhook is for.
type Object = k8s_openapi::api::apps::v1::Deployment;

// While no manager answers, nobody can write such objects, except where the marker leaves this webhook out: in `kube-system`
// and in the operator's own namespace.
// Add the namespaces of whatever else the managers need to start.
// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=apps,resources=deployments,verbs=create;update,versions=v1,name=mdeployment-v1.apps.testproject.org,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,multigroup-system)"

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate-apps-v1-deployment";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let defaulter = DeploymentDefaulter;
    manager.webhooks().mutate(PATH, defaulter);
}

/// The defaults of a `Deployment`, in addition to those in its schema.
struct DeploymentDefaulter;

impl Defaulter for DeploymentDefaulter {
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
        let defaulter = DeploymentDefaulter;
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
