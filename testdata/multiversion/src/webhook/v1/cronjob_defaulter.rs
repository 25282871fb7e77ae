// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! Sets defaults in `CronJob` objects.

use api::v1;
use kbr_runtime::Manager;
use kbr_runtime::webhook::{AdmissionRequest, BoxError, Defaulter};

/// The kind that this webhook is for.
type Object = v1::CronJob;

// +kbr:webhook:mutating=true,failurePolicy=fail,sideEffects=None,groups=batch.tutorial.kubebuilder.io,resources=cronjobs,verbs=create;update,versions=v1,name=mcronjob-v1.batch.tutorial.kubebuilder.io,admissionReviewVersions=v1

/// The path that the API server calls; the marker takes it from here.
const PATH: &str = "/mutate-batch-tutorial-kubebuilder-io-v1-cronjob";

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
        _object: &mut Object,
    ) -> Result<(), BoxError> {
        // Set here what is absent, such as `object.spec.suspend.get_or_insert(false);`: a value that
        // is set must be kept.
        Ok(())
    }
}

#[cfg(test)]
const SAMPLE: &str = "config/samples/batch_v1_cronjob.yaml";

#[cfg(test)]
mod tests {
    use std::path::Path;

    use kbr_testing::read;
    use serde_json::json;

    use super::*;

    fn object() -> Object {
        read(Path::new(env!("CARGO_MANIFEST_DIR")).join(SAMPLE))
    }

    async fn set_defaults(object: &mut Object) {
        let defaulter = CronJobDefaulter;
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
