// Copyright The namespaced authors
// SPDX-License-Identifier: Apache-2.0

//! The `Cashbox` controller on a real API server.
//!
//! No Deployment controller runs there: the tests write the status of the Deployments and create pods
//! instead.

use std::time::Duration;

use api::v1;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{Namespace, Pod, ResourceQuota};
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::apis::meta::v1 as meta;
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::runtime::wait::conditions;
use kube::{Api, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::env;

type Object = v1::Cashbox;

/// The name of the controller.
const NAME: &str = "cashbox";

const SAMPLE: &str = "config/samples/shop_v1_cashbox.yaml";

/// A namespace for one test, and the objects in it.
struct World {
    namespace: String,
    objects: Api<Object>,
    deployments: Api<Deployment>,
    pods: Api<Pod>,
}

impl World {
    async fn new() -> Self {
        let namespace = env().namespace().await;
        Self {
            objects: Api::namespaced(env().admin(), &namespace),
            deployments: Api::namespaced(env().admin(), &namespace),
            pods: Api::namespaced(env().admin(), &namespace),
            namespace,
        }
    }

    /// Creates the sample under the given name.
    async fn create(&self, name: &str) -> Object {
        let mut object: Object = env().sample(&self.objects, SAMPLE).await;
        object.metadata.name = Some(name.to_owned());
        let created = self.objects.create(&PostParams::default(), &object).await;
        created.unwrap()
    }

    /// Creates the sample and waits until it is reconciled.
    async fn create_and_wait(&self, name: &str) -> Object {
        self.create(name).await;
        self.wait_until(name, "Degraded", "AsWanted").await
    }

    /// Changes an object with a merge patch.
    async fn change(&self, name: &str, change: Value) {
        let params = PatchParams::default();
        let changed = self
            .objects
            .patch(name, &params, &Patch::Merge(change))
            .await;
        changed.unwrap();
    }

    /// Waits until the condition has that reason for the current spec.
    async fn wait_until(&self, name: &str, type_: &str, reason: &str) -> Object {
        let is_so = |object: Option<&Object>| {
            object.is_some_and(|object| {
                let generation = object.metadata.generation;
                condition(object, type_)
                    .is_some_and(|it| it.reason == reason && it.observed_generation == generation)
            })
        };
        let object = env().wait_for(&self.objects, name, is_so).await;
        object.unwrap()
    }

    /// Waits until the operator has handled everything that happened to an object so far: it
    /// observes a change of the spec after everything that came before.
    async fn settle(&self, name: &str, reason: &str) -> Object {
        let object = self.wait_until(name, "Degraded", reason).await;
        let size = object.spec.size + 1;
        self.change(name, json!({ "spec": { "size": size } })).await;
        self.wait_until(name, "Degraded", reason).await
    }

    /// Creates a Deployment that no object of the operator owns.
    async fn create_deployment_of_another(&self, name: &str) -> Deployment {
        let labels = json!({ "app": "other" });
        let other = json!({
            "metadata": { "name": name },
            "spec": {
                "selector": { "matchLabels": labels },
                "template": {
                    "metadata": { "labels": labels },
                    "spec": { "containers": [{ "name": "other", "image": "other" }] },
                },
            },
        });
        let other = serde_json::from_value(other).unwrap();
        let params = PostParams::default();
        self.deployments.create(&params, &other).await.unwrap()
    }

    /// A pod of the Deployment, which does not exist yet.
    async fn pod_of(&self, deployment: &str) -> Pod {
        let deployment = self.deployments.get(deployment).await.unwrap();
        let template = deployment.spec.template;
        let mut pod = Pod {
            metadata: template.metadata.unwrap_or_default(),
            spec: template.spec,
            status: None,
        };
        pod.metadata.name = Some("one".to_owned());
        pod
    }

    /// Waits until the Deployment satisfies the condition.
    async fn wait(&self, name: &str, is_so: impl Fn(&Deployment) -> bool) -> Deployment {
        let is_so = |deployment: Option<&Deployment>| deployment.is_some_and(&is_so);
        let deployment = env().wait_for(&self.deployments, name, is_so).await;
        deployment.unwrap()
    }

    /// Writes the status of a Deployment, as the Deployment controller does.
    async fn report(&self, name: &str, status: Value) {
        let patch = Patch::Merge(json!({ "status": status }));
        let params = PatchParams::default();
        let reported = self.deployments.patch_status(name, &params, &patch).await;
        reported.unwrap();
    }

    /// How many events with that reason an object has, repetitions included.
    async fn events(&self, name: &str, reason: &str) -> i32 {
        let events = Api::<Event>::namespaced(env().admin(), &self.namespace);
        let events = events.list(&ListParams::default()).await.unwrap();
        let about = events.into_iter().filter(|event| {
            let regarding = event.regarding.as_ref();
            let is_about = regarding.is_some_and(|it| it.name.as_deref() == Some(name));
            is_about && event.reason.as_deref() == Some(reason)
        });
        let counts = about.map(|event| event.series.map_or(1, |series| series.count));
        counts.sum()
    }

    /// Waits until an object has so many events with that reason, and checks that it has no more.
    /// Events are published in the background, perhaps a moment after the status.
    async fn wait_for_events(&self, name: &str, reason: &str, count: i32) {
        for _ in 0..600 {
            if self.events(name, reason).await >= count {
                break;
            }
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
        assert_eq!(self.events(name, reason).await, count, "{reason}");
    }

    /// How often this controller has written the status of objects in this namespace.
    fn writes(&self) -> usize {
        let by = Some(format!("{}/{NAME}", env!("CARGO_PKG_NAME")));
        let statuses = "cashboxes/status";
        let requests = env().requests().into_iter();
        let writes = requests.filter(|request| {
            request.resource == statuses
                && request.namespace.as_ref() == Some(&self.namespace)
                && request.field_manager() == by
        });
        writes.count()
    }
}

fn condition<'a>(object: &'a Object, type_: &str) -> Option<&'a meta::Condition> {
    let mut conditions = object.status.iter().flat_map(|status| &status.conditions);
    conditions.find(|condition| condition.type_ == type_)
}

fn replicas(deployment: &Deployment) -> Option<i32> {
    deployment.spec.replicas
}

fn image(deployment: &Deployment) -> Option<&str> {
    let pods = deployment.spec.template.spec.as_ref()?;
    pods.containers.first()?.image.as_deref()
}

/// Whether `object` controls `child`.
fn is_of(child: &impl Resource, object: &Object) -> bool {
    let owners = child.meta().owner_references.iter().flatten();
    let mut owners = owners.filter(|owner| owner.controller == Some(true));
    owners.any(|owner| Some(&owner.uid) == object.metadata.uid.as_ref())
}

#[tokio::test]
async fn owned_objects_follow_the_spec() {
    let world = World::new().await;

    let object = world.create_and_wait("sample").await;

    let deployment = world.deployments.get("sample").await.unwrap();
    assert!(is_of(&deployment, &object));
    assert_eq!(replicas(&deployment), Some(object.spec.size));
    assert_eq!(image(&deployment), Some(object.spec.image.as_str()));
}

#[tokio::test]
async fn pods_meet_the_restricted_pod_security_standard() {
    let world = World::new().await;
    let namespaces = Api::<Namespace>::all(env().admin());
    let label = json!({ "pod-security.kubernetes.io/enforce": "restricted" });
    let label = Patch::Merge(json!({ "metadata": { "labels": label } }));
    let params = PatchParams::default();
    let labelled = namespaces.patch(&world.namespace, &params, &label).await;
    labelled.unwrap();
    world.create_and_wait("sample").await;
    let mut pod = world.pod_of("sample").await;

    let params = PostParams::default();
    world.pods.create(&params, &pod).await.unwrap();

    // Without that, the API server rejects the pod in this namespace.
    pod.metadata.name = Some("other".to_owned());
    pod.spec.as_mut().unwrap().security_context = None;
    let answer = world.pods.create(&params, &pod).await;
    assert!(matches!(answer, Err(kube::Error::Api(status)) if status.code == 403));
}

#[tokio::test]
async fn size_and_image_follow_the_spec() {
    let world = World::new().await;
    world.create_and_wait("sample").await;

    for size in [5, 0, 1] {
        world
            .change("sample", json!({ "spec": { "size": size } }))
            .await;
        world.wait("sample", |it| replicas(it) == Some(size)).await;
    }
    let other = "example.com/other:2";
    world
        .change("sample", json!({ "spec": { "image": other } }))
        .await;
    world.wait("sample", |it| image(it) == Some(other)).await;
}

#[tokio::test]
async fn changes_and_deletions_by_others_are_reverted() {
    let world = World::new().await;
    let object = world.create_and_wait("sample").await;

    let change = json!({ "metadata": { "annotations": { "a": "b" } }, "spec": { "replicas": 9 } });
    let params = PatchParams::default();
    let changed = world
        .deployments
        .patch("sample", &params, &Patch::Merge(change))
        .await;
    let uid = changed.unwrap().uid();
    let is_back = |it: &Deployment| replicas(it) == Some(object.spec.size);
    let deployment = world.wait("sample", is_back).await;
    assert_eq!(deployment.uid(), uid);
    // Fields that the operator does not set are left alone.
    assert_eq!(deployment.annotations()["a"], "b");

    let params = DeleteParams::background();
    world.deployments.delete("sample", &params).await.unwrap();
    world.wait("sample", |it| it.uid() != uid).await;
}

#[tokio::test]
async fn the_conditions_follow_the_deployment() {
    let world = World::new().await;
    let object = world.create_and_wait("sample").await;
    world.wait_until("sample", "Available", "TooFewPods").await;

    let size = object.spec.size;
    let serving = json!({ "replicas": size, "readyReplicas": size, "availableReplicas": size });
    world.report("sample", serving).await;
    let object = world.wait_until("sample", "Available", "EnoughPods").await;
    assert_eq!(condition(&object, "Available").unwrap().status, "True");

    let failure = json!({
        "type": "ReplicaFailure",
        "status": "True",
        "reason": "FailedCreate",
        "message": "exceeded quota",
    });
    world
        .report("sample", json!({ "conditions": [failure] }))
        .await;
    let object = world.wait_until("sample", "Degraded", "FailedCreate").await;
    let degraded = condition(&object, "Degraded").unwrap();
    assert_eq!(degraded.status, "True");
    assert_eq!(degraded.message, "exceeded quota");
}

#[tokio::test]
async fn the_conditions_say_why_pods_do_not_run() {
    let world = World::new().await;
    world.create_and_wait("sample").await;
    let pod = world.pod_of("sample").await;
    let pod = world.pods.create(&PostParams::default(), &pod).await;
    let (pod, kubelet) = (pod.unwrap(), env().kubelet());
    let is_degraded = async |reason: &str, message: &str| {
        let is_so = |object: Option<&Object>| {
            let degraded = object.and_then(|object| condition(object, "Degraded"));
            degraded.is_some_and(|it| {
                it.status == "True" && it.reason == reason && it.message.ends_with(message)
            })
        };
        env().wait_for(&world.objects, "sample", is_so).await;
    };

    let message = "0/3 nodes are available: 3 Insufficient memory.";
    kubelet.unschedulable(&pod, message).await;
    is_degraded("Unschedulable", message).await;

    for reason in ["ErrImagePull", "ImagePullBackOff"] {
        let message = format!("{reason}: not found");
        kubelet.fail_to_start(&pod, reason, &message).await;
        is_degraded("ImagePullBackOff", &message).await;
    }

    kubelet.run(&pod).await;
    world.wait_until("sample", "Degraded", "AsWanted").await;

    kubelet.crash_loop(&pod, 64).await;
    is_degraded("CrashLoopBackOff", "exit code 64").await;
    // It is restarted, but it is not known yet for how long it runs.
    kubelet.ready(&pod, false).await;
    kubelet.crash_loop(&pod, 65).await;
    is_degraded("CrashLoopBackOff", "exit code 65").await;

    kubelet.kill_for_memory(&pod).await;
    is_degraded("OOMKilled", "exit code 137").await;

    let params = DeleteParams::default().grace_period(0);
    world.pods.delete("one", &params).await.unwrap();
    world.settle("sample", "AsWanted").await;
    for reason in [
        "Unschedulable",
        "ImagePullBackOff",
        "CrashLoopBackOff",
        "OOMKilled",
    ] {
        world.wait_for_events("sample", reason, 1).await;
    }
}

#[tokio::test]
async fn a_deployment_of_another_is_left_alone_until_it_is_deleted() {
    let world = World::new().await;
    let created = world.create_deployment_of_another("sample").await;
    world.create("sample").await;
    let object = world.settle("sample", "NameTaken").await;
    let found = world.deployments.get("sample").await.unwrap();
    assert_eq!(found.resource_version(), created.resource_version());
    world.wait_for_events("sample", "NameTaken", 1).await;

    let params = DeleteParams::background();
    world.deployments.delete("sample", &params).await.unwrap();
    world.wait_until("sample", "Degraded", "AsWanted").await;
    world.wait("sample", |it| is_of(it, &object)).await;

    // Without an owner, it blocks the name again: the same event is published once more.
    let free = Patch::Merge(json!({ "metadata": { "ownerReferences": null } }));
    let params = PatchParams::default();
    let freed = world.deployments.patch("sample", &params, &free).await;
    freed.unwrap();
    world.wait_until("sample", "Degraded", "NameTaken").await;
    world.settle("sample", "NameTaken").await;
    world.wait_for_events("sample", "NameTaken", 2).await;
}

#[tokio::test]
async fn a_refusal_of_the_api_server_is_reported_and_retried() {
    let world = World::new().await;
    let quotas = Api::<ResourceQuota>::namespaced(env().admin(), &world.namespace);
    let none = json!({
        "metadata": { "name": "none" },
        "spec": { "hard": { "count/deployments.apps": "0" } },
    });
    let none = serde_json::from_value(none).unwrap();
    quotas.create(&PostParams::default(), &none).await.unwrap();
    // kube-controller-manager would do this, but does not run here.
    let hard = json!({ "count/deployments.apps": "0" });
    let status = Patch::Merge(json!({ "status": { "hard": hard, "used": hard } }));
    let params = PatchParams::default();
    quotas.patch_status("none", &params, &status).await.unwrap();
    world.create("sample").await;

    let object = world.wait_until("sample", "Degraded", "Refused").await;
    let message = &condition(&object, "Degraded").unwrap().message;
    assert!(message.contains("exceeded quota: none"), "{message}");

    let params = DeleteParams::default();
    quotas.delete("none", &params).await.unwrap();
    world.wait_until("sample", "Degraded", "AsWanted").await;
}

#[tokio::test]
async fn a_status_that_is_up_to_date_is_not_written_again() {
    let world = World::new().await;
    world.create_and_wait("sample").await;

    // A change that needs no work: the object is reconciled, and the status stays the same. Made
    // twice, because the watch may still report an earlier write.
    let mut before = 0;
    for touched in ["once", "twice"] {
        before = world.writes();
        let label = json!({ "metadata": { "labels": { "touched": touched } } });
        world.change("sample", label).await;
        // Objects are reconciled in order: once the other is ready, this one has been reconciled.
        let other = World::new().await;
        other.create_and_wait("sample").await;
    }

    assert_eq!(world.writes(), before);
}

#[tokio::test]
async fn a_condition_of_another_client_is_kept() {
    let world = World::new().await;
    let object = world.create_and_wait("sample").await;

    // Another client applies a condition of its own, and the opposite of this controller's.
    let mut other = condition(&object, "Degraded").unwrap().clone();
    other.status = "True".to_owned();
    let contrary = other.clone();
    other.type_ = "Other".to_owned();
    let status = Patch::Apply(json!({
        "apiVersion": Object::api_version(&()),
        "kind": Object::kind(&()),
        "status": { "conditions": [other, contrary] },
    }));
    let params = PatchParams::apply("another").force();
    let applied = world.objects.patch_status("sample", &params, &status).await;
    applied.unwrap();

    let is_mended = |object: Option<&Object>| {
        let degraded = object.and_then(|object| condition(object, "Degraded"));
        degraded.is_some_and(|degraded| degraded.status == "False")
    };
    let object = env().wait_for(&world.objects, "sample", is_mended).await;
    let object = object.unwrap();
    assert!(condition(&object, "Other").is_some());
    for writer in object.managed_fields() {
        let owned = json!(writer.fields_v1).to_string();
        let is_other = writer.manager.as_deref() == Some("another");
        assert_eq!(owned.contains("Other"), is_other, "{writer:?}");
    }
}

#[tokio::test]
async fn an_object_is_deleted_after_its_cleanup() {
    let world = World::new().await;
    let object = world.create_and_wait("sample").await;
    assert_eq!(object.finalizers().len(), 1);

    let params = DeleteParams::default();
    world.objects.delete("sample", &params).await.unwrap();

    let is_gone = conditions::is_deleted(object.metadata.uid.as_ref().unwrap());
    env().wait_for(&world.objects, "sample", is_gone).await;
    world.wait_for_events("sample", "Deleting", 1).await;
    // Kubernetes' garbage collector would delete what it owned, but does not run here.
    assert!(world.deployments.get_opt("sample").await.unwrap().is_some());
    world.create_and_wait("another").await;
}

#[tokio::test]
async fn an_invalid_object_is_rejected_with_the_path_of_its_field() {
    let world = World::new().await;
    // As JSON, because the Rust types do not allow all of these.
    let resource = ApiResource::erase::<Object>(&());
    let objects = Api::<DynamicObject>::namespaced_with(env().admin(), &world.namespace, &resource);
    let too_long = "a".repeat(64);
    for (name, spec, field) in [
        ("sample", json!({ "size": -1 }), "spec.size"),
        ("sample", json!({ "size": "1" }), "spec.size"),
        ("sample", json!({ "image": "" }), "spec.image"),
        (&too_long, json!({}), "metadata.name"),
    ] {
        let mut object = DynamicObject::new(name, &resource);
        object.data = json!({ "spec": spec });

        let answer = objects.create(&PostParams::default(), &object).await;

        let Err(kube::Error::Api(status)) = answer else {
            panic!("{name}, {spec}: not refused");
        };
        assert_eq!(status.code, 422, "{status:?}");
        let causes = status.details.as_ref().unwrap().causes.iter();
        let fields: Vec<_> = causes.map(|cause| cause.field.as_str()).collect();
        assert!(fields.contains(&field), "{status:?}");
    }
}

#[tokio::test]
async fn the_longest_name_is_valid_for_all_owned_objects() {
    let world = World::new().await;
    let longest = "a".repeat(63);

    world.create_and_wait(&longest).await;
}

#[tokio::test]
async fn no_request_is_made_for_a_namespace_that_is_not_watched() {
    let namespace = json!({ "metadata": { "generateName": "not-watched-" } });
    let namespace: Namespace = serde_json::from_value(namespace).unwrap();
    let namespaces = Api::<Namespace>::all(env().admin());
    let namespace = namespaces.create(&PostParams::default(), &namespace).await;
    let namespace = namespace.unwrap().name_any();
    let elsewhere = Api::<Object>::namespaced(env().admin(), &namespace);
    let object: Object = env().sample(&elsewhere, SAMPLE).await;
    let object = elsewhere.create(&PostParams::default(), &object).await;
    let object = object.unwrap();

    // An object that is created later in a watched namespace is reconciled.
    World::new().await.create_and_wait("sample").await;

    let now = elsewhere.get(&object.name_any()).await.unwrap();
    assert_eq!(now.status, None);
    for request in env().requests() {
        let is_in_it = request.namespace.as_ref() == Some(&namespace);
        let is_cluster_wide =
            request.namespace.is_none() && ["list", "watch"].contains(&request.verb.as_str());
        assert!(!is_in_it && !is_cluster_wide, "{request:?}");
    }
}
