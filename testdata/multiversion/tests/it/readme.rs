// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The example in README.md, and its steps to another stored version, run as they are shown.

use api::{v1, v2};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use serde_json::json;

use crate::support::{block, shell};
use crate::{env, start};

const CRD: &str = "cronjobs.batch.tutorial.kubebuilder.io";

#[test]
fn the_example_works_as_it_is_shown() {
    for step in block("console\n$ kubectl apply").split("$ ").skip(1) {
        let (command, expected) = step.split_once('\n').unwrap();
        // The objects of other tests are in namespaces of their own.
        let (output, _) = shell(env(), command);
        assert_eq!(output, expected, "{command}");
    }
}

#[tokio::test]
async fn every_object_is_rewritten_and_the_old_version_can_be_removed() {
    let env = start().unwrap_or_else(|error| panic!("{error}"));
    let namespace = env.namespace().await;
    let resource = ApiResource::erase::<v1::CronJob>(&());
    let old = Api::<DynamicObject>::namespaced_with(env.admin(), &namespace, &resource);
    for (number, schedule) in ["*/5 * * * *", "@every 90m"].into_iter().enumerate() {
        let mut object: DynamicObject = env.read("config/samples/batch_v1_cronjob.yaml");
        object.metadata.name = Some(format!("sample-{number}"));
        object.data["spec"]["schedule"] = json!(schedule);
        old.create(&PostParams::default(), &object).await.unwrap();
    }
    let crds = Api::<CustomResourceDefinition>::all(env.admin());
    let change = async |change: fn(&mut CustomResourceDefinition)| {
        let mut crd = crds.get(CRD).await.unwrap();
        change(&mut crd);
        crds.replace(CRD, &PostParams::default(), &crd).await
    };

    // The effect of step 1 in the cluster.
    let changed = change(|crd| {
        for version in &mut crd.spec.versions {
            version.storage = version.name == "v2";
        }
    });
    changed.await.unwrap();
    let without_v1 = |crd: &mut CustomResourceDefinition| {
        crd.spec.versions.retain(|version| version.name == "v2");
        crd.spec.conversion = None;
    };
    let too_early = change(without_v1).await.unwrap_err().to_string();
    assert!(too_early.contains("status.storedVersions"), "{too_early}");

    let (output, succeeded) = shell(&env, &block("sh\n   kubectl get cronjobs"));
    assert!(succeeded, "{output}");
    std::fs::remove_file(concat!(env!("CARGO_MANIFEST_DIR"), "/objects.json")).unwrap();

    // If an object were still stored in v1, it could not be listed without that version.
    change(without_v1).await.unwrap();
    let left = Api::<v2::CronJob>::namespaced(env.admin(), &namespace);
    let left = left.list(&ListParams::default()).await.unwrap();
    assert_eq!(left.items.len(), 2);
}
