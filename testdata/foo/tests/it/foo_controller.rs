// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Normal operation: a Deployment that follows its Foo, and a status that follows the Deployment.

use k8s_openapi::api::apps::v1::Deployment;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::{Value, json};

use crate::support::{World, replicas};
use crate::{env, kubernetes};

/// Changes a Deployment manually, as anybody could.
async fn patch(world: &World, name: &str, change: Value) -> Deployment {
    let params = PatchParams::default();
    let patch = Patch::Merge(change);
    world
        .deployments
        .patch(name, &params, &patch)
        .await
        .unwrap()
}

fn image(deployment: &Deployment) -> Option<&str> {
    let pod = deployment.spec.template.spec.as_ref()?;
    pod.containers.first()?.image.as_deref()
}

#[tokio::test]
async fn a_foo_has_the_deployment_that_its_spec_names() {
    let world = World::new(env()).await;

    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    let (foo, deployment) = world.create_and_wait("sample", spec).await;

    assert_eq!(replicas(&deployment), Some(2));
    assert_eq!(image(&deployment), Some("nginx:1.29"));
    let owner = &deployment.owner_references()[0];
    assert_eq!(
        (owner.kind.as_str(), owner.name.as_str()),
        ("Foo", "sample")
    );
    assert_eq!(owner.api_version, "samplecontroller.example.com/v1alpha1");
    assert_eq!(owner.controller, Some(true));
    assert_eq!(Some(&owner.uid), foo.metadata.uid.as_ref());
    assert_eq!(world.deployment_names().await, ["web"]);
}

#[tokio::test]
async fn the_size_follows_the_spec_in_both_directions() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 1 });
    world.create_and_wait("sample", spec).await;

    for size in [3, 0, 1] {
        world.change("sample", json!({ "replicas": size })).await;
        world.wait("web", |web| replicas(web) == Some(size)).await;
    }
}

#[tokio::test]
async fn an_omitted_size_is_left_to_others() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web" });
    let (_, deployment) = world.create_and_wait("sample", spec).await;
    // The default in Kubernetes.
    assert_eq!(replicas(&deployment), Some(1));

    // One change that stays, and one that is reverted, which shows that there was a reconcile.
    let template = json!({ "metadata": { "labels": { "app": "mine" } } });
    let change = json!({ "spec": { "replicas": 5 }, "metadata": template["metadata"] });
    patch(&world, "web", change).await;

    let is_reverted = |web: &Deployment| web.labels()["app"] == "nginx";
    let reverted = world.wait("web", is_reverted).await;
    assert_eq!(replicas(&reverted), Some(5));
}

#[tokio::test]
async fn drift_is_corrected_and_what_others_add_stays() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    let (_, deployment) = world.create_and_wait("sample", spec).await;

    let change = json!({
        "metadata": { "annotations": { "example.com/team": "a" } },
        "spec": {
            "replicas": 9,
            "minReadySeconds": 30,
            "template": { "spec": { "containers": [{ "name": "nginx", "image": "nginx:0.1" }] } },
        },
    });
    patch(&world, "web", change).await;

    let is_fixed = |web: &Deployment| replicas(web) == Some(2) && image(web) == Some("nginx:1.29");
    let fixed = world.wait("web", is_fixed).await;
    assert_eq!(fixed.uid(), deployment.uid());
    assert_eq!(fixed.annotations()["example.com/team"], "a");
    assert_eq!(fixed.spec.min_ready_seconds, Some(30));
}

#[tokio::test]
async fn the_operator_owns_only_the_fields_that_it_sets() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web" });
    let (_, deployment) = world.create_and_wait("sample", spec).await;

    let managers = deployment.managed_fields();
    assert_eq!(managers.len(), 1);
    assert_eq!(managers[0].manager.as_deref(), Some("foo/foo"));
    assert_eq!(managers[0].operation.as_deref(), Some("Apply"));
    let fields = json!(managers[0].fields_v1);
    let keys =
        |value: &Value| -> Vec<String> { value.as_object().unwrap().keys().cloned().collect() };
    assert_eq!(
        keys(&fields["f:metadata"]),
        ["f:labels", "f:ownerReferences"]
    );
    assert_eq!(keys(&fields["f:spec"]), ["f:selector", "f:template"]);
}

#[tokio::test]
async fn a_deleted_deployment_is_created_again() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 2 });
    let (_, deployment) = world.create_and_wait("sample", spec).await;

    let params = DeleteParams::background();
    world.deployments.delete("web", &params).await.unwrap();

    let is_new = |web: &Deployment| web.uid() != deployment.uid();
    let web = world.wait("web", is_new).await;
    assert_eq!(replicas(&web), Some(2));
}

#[tokio::test]
async fn the_status_counts_available_pods() {
    let world = World::new(env()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 3 });
    let (foo, _) = world.create_and_wait("sample", spec).await;
    assert_eq!(foo.status.unwrap().available_replicas, 0);

    for available in [2, 3, 1] {
        // As the Deployment controller would do, which does not run here.
        let status =
            json!({ "replicas": 3, "readyReplicas": available, "availableReplicas": available });
        let patch = Patch::Merge(json!({ "status": status }));
        let params = PatchParams::default();
        world
            .deployments
            .patch_status("web", &params, &patch)
            .await
            .unwrap();

        let counts = |foo: Option<&api::v1alpha1::Foo>| {
            let status = foo.and_then(|foo| foo.status.as_ref());
            status.is_some_and(|status| status.available_replicas == available)
        };
        env().wait_for(&world.foos, "sample", counts).await;
    }
}

#[tokio::test]
async fn all_replicas_become_available_with_the_controllers_of_kubernetes() {
    let world = World::new(kubernetes()).await;
    let spec = json!({ "deploymentName": "web", "replicas": 3 });
    world.create_and_wait("sample", spec).await;

    for size in [3, 1] {
        world.change("sample", json!({ "replicas": size })).await;
        let counts = |foo: Option<&api::v1alpha1::Foo>| {
            let status = foo.and_then(|foo| foo.status.as_ref());
            status.is_some_and(|status| status.available_replicas == size)
        };
        kubernetes().wait_for(&world.foos, "sample", counts).await;
    }
}

#[tokio::test]
async fn an_irrelevant_change_sends_no_request() {
    let world = World::new(env()).await;
    let spec = |name: &str| json!({ "deploymentName": name, "replicas": 2 });
    let (foo, _) = world.create_and_wait("sample", spec("web")).await;
    // The writes of the operator for this Foo. The API server logs a request a moment after it has
    // responded, so there is always another Foo in between.
    let writes = || {
        let requests = env().requests().into_iter();
        let writes = requests.filter(|request| {
            let is_of = |name| request.name.as_deref() == Some(name);
            request.namespace.as_ref() == Some(&world.namespace)
                && (is_of("sample") || is_of("web"))
                && request.url.contains("fieldManager=foo")
        });
        writes.count()
    };

    // Foos are begun in order: once another is synced, this one has had its turn. The first times there
    // may still be something to write.
    let mut before = 0;
    for name in ["once", "twice", "three-times"] {
        before = writes();
        let label = json!({ "metadata": { "labels": { "touched": name } } });
        let (params, label) = (PatchParams::default(), Patch::Merge(label));
        world.foos.patch("sample", &params, &label).await.unwrap();
        world.create_and_wait(name, spec(name)).await;
    }

    assert!(before >= 2, "the Deployment and the status: {before}");
    assert_eq!(writes(), before);
    let now = world.foos.get("sample").await.unwrap();
    assert_eq!(now.status, foo.status);
}
