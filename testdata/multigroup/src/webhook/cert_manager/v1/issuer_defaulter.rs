// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Sets defaults in `Issuer` objects.

use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};
use kube::ResourceExt;

/// The kind that this webhook is for.
type Object = cert_manager::v1::Issuer;

// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=cert-manager.io,resources=issuers,verbs=create;update,versions=v1,name=missuer-v1.cert-manager.io.testproject.org,admissionReviewVersions=v1,namespaceSelector="kubernetes.io/metadata.name notin (kube-system,multigroup-system)"

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate-cert-manager-io-v1-issuer";

/// An annotation that every object gets, as an example of a default.
const ANNOTATION: &str = "testproject.org/defaulted";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let defaulter = IssuerDefaulter;
    manager.webhooks().mutate(PATH, defaulter);
}

/// The defaults of a `Issuer`, in addition to those in its schema.
struct IssuerDefaulter;

impl Defaulter for IssuerDefaulter {
    type Object = Object;

    async fn set_defaults(
        &self,
        _: &AdmissionRequest,
        object: &mut Object,
    ) -> Result<(), BoxError> {
        // Add your own defaults here, such as
        // `object.spec.suspend.get_or_insert(false);`: a value that is set must be kept.
        let annotations = object.annotations_mut();
        let annotation = annotations.entry(ANNOTATION.to_owned());
        annotation.or_insert_with(|| "true".to_owned());
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use kbr_runtime::testing::read;

    use super::*;

    const SAMPLE: &str = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/tests/external/samples/cert-manager_v1_issuer.yaml"
    );

    fn object() -> Object {
        read(SAMPLE)
    }

    async fn set_defaults(object: &mut Object) {
        let defaulter = IssuerDefaulter;
        let request = AdmissionRequest::default();
        defaulter.set_defaults(&request, object).await.unwrap();
    }

    #[tokio::test]
    async fn an_absent_value_is_set() {
        let mut object = object();

        set_defaults(&mut object).await;

        assert_eq!(object.annotations()[ANNOTATION], "true");
    }

    #[tokio::test]
    async fn a_value_that_is_set_is_kept() {
        let mut object = object();
        let annotations = object.annotations_mut();
        annotations.insert(ANNOTATION.to_owned(), "by hand".to_owned());

        set_defaults(&mut object).await;

        assert_eq!(object.annotations()[ANNOTATION], "by hand");
    }

    #[tokio::test]
    async fn an_object_that_has_its_defaults_does_not_change() {
        let mut object = object();
        set_defaults(&mut object).await;
        let once = object.clone();

        set_defaults(&mut object).await;

        assert_eq!(object.metadata, once.metadata);
    }
}
