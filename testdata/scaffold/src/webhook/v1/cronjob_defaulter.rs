// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Sets defaults in `CronJob` objects.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};
use kube::ResourceExt;

/// The kind that this webhook is for.
type Object = v1::CronJob;

// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=mcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate-batch-tutorial-kubebuilder-io-v1-cronjob";

/// An annotation that every object gets, as an example of a default.
const ANNOTATION: &str = "tutorial.kubebuilder.io/defaulted";

/// Adds this webhook to `manager`.
pub fn register(manager: &mut Manager) {
    let defaulter = CronJobDefaulter;
    manager.webhooks().mutate(PATH, defaulter);
}

/// The defaults of a `CronJob`, in addition to those in its schema.
struct CronJobDefaulter;

impl Defaulter for CronJobDefaulter {
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
    use super::*;

    fn object() -> Object {
        Object::new("sample", Default::default())
    }

    async fn set_defaults(object: &mut Object) {
        let defaulter = CronJobDefaulter;
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
