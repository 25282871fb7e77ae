// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! Shared by the tests: MyJobs in a namespace of their own, their Pods, and the events about them.

use api::v1beta1::{MyJob, Phase};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kbr_testing::TestEnv;
use kube::api::{ListParams, Patch, PatchParams, PostParams};
use kube::{Api, ResourceExt};
use serde_json::{Value, json};

/// The name of most MyJobs here, and of their Pods.
pub const NAME: &str = "sample";

/// A namespace, and the objects in it.
pub struct World {
    pub env: &'static TestEnv,
    pub namespace: String,
    pub myjobs: Api<MyJob>,
    pub pods: Api<Pod>,
    events: Api<Event>,
}

impl World {
    pub async fn new(env: &'static TestEnv) -> Self {
        let namespace = env.namespace().await;
        Self {
            env,
            myjobs: Api::namespaced(env.admin(), &namespace),
            pods: Api::namespaced(env.admin(), &namespace),
            events: Api::namespaced(env.admin(), &namespace),
            namespace,
        }
    }

    /// Creates a MyJob, without waiting.
    pub async fn add(&self, pod_spec: Value) -> MyJob {
        let myjob = myjob(pod_spec);
        self.myjobs
            .create(&PostParams::default(), &myjob)
            .await
            .unwrap()
    }

    /// Creates a MyJob and waits for its Pod.
    pub async fn start(&self, pod_spec: Value) -> Pod {
        self.add(pod_spec).await;
        self.wait_for_reason("PodCreated").await;
        self.pods.get(NAME).await.unwrap()
    }

    /// Creates a Pod with the name of the MyJob that the MyJob does not own.
    pub async fn add_pod(&self) -> Pod {
        let pod = json!({ "metadata": { "name": NAME }, "spec": pod_spec() });
        let pod = serde_json::from_value(pod).unwrap();
        self.pods
            .create(&PostParams::default(), &pod)
            .await
            .unwrap()
    }

    /// Waits until a condition of the MyJob has the given reason, and returns the MyJob.
    pub async fn wait_for_reason(&self, reason: &str) -> MyJob {
        let has_reason = |myjob: Option<&MyJob>| {
            let status = myjob.and_then(|myjob| myjob.status.as_ref());
            let mut conditions = status.into_iter().flat_map(|status| &status.conditions);
            conditions.any(|condition| condition.reason == reason)
        };
        self.env
            .wait_for(&self.myjobs, NAME, has_reason)
            .await
            .unwrap()
    }

    /// Makes the operator reconcile the MyJob once more, and waits until it has: objects are reconciled in
    /// order, so it waits until a MyJob that was created later has its Pod.
    pub async fn settle(&self) {
        let touch = Patch::Merge(json!({ "metadata": { "labels": { "touched": "true" } } }));
        let params = PatchParams::default();
        self.myjobs.patch(NAME, &params, &touch).await.unwrap();
        let mut other = myjob(pod_spec());
        other.metadata.name = None;
        other.metadata.generate_name = Some("other-".to_owned());
        let other = self.myjobs.create(&PostParams::default(), &other).await;
        let exists = |pod: Option<&Pod>| pod.is_some();
        self.env
            .wait_for(&self.pods, &other.unwrap().name_any(), exists)
            .await;
    }

    /// The type and note of the single event about the MyJob with the given reason.
    pub async fn event(&self, reason: &str) -> (String, String) {
        let events = self.events(reason).await;
        assert_eq!(events.len(), 1, "{events:?}");
        assert_eq!(events[0].series, None);
        let text = |text: &Option<String>| text.clone().unwrap_or_default();
        (text(&events[0].type_), text(&events[0].note))
    }

    /// An event is published after the status, so this waits for another MyJob.
    pub async fn events(&self, reason: &str) -> Vec<Event> {
        self.settle().await;
        let mut events = self
            .events
            .list(&ListParams::default())
            .await
            .unwrap()
            .items;
        events.retain(|event| {
            let regarding = event.regarding.as_ref();
            event.reason.as_deref() == Some(reason)
                && regarding.and_then(|object| object.name.as_deref()) == Some(NAME)
        });
        events
    }
}

/// A MyJob with the given spec of its Pod.
pub fn myjob(pod_spec: Value) -> MyJob {
    let myjob = json!({
        "apiVersion": "myjob.github.com/v1beta1",
        "kind": "MyJob",
        "metadata": { "name": NAME },
        "spec": { "template": {
            "metadata": { "labels": { "team": "blue" }, "annotations": { "note": "kept" } },
            "spec": pod_spec,
        } },
    });
    serde_json::from_value(myjob).unwrap()
}

/// One container, which is not restarted.
pub fn pod_spec() -> Value {
    let container = json!({ "name": "main", "image": "busybox" });
    json!({ "restartPolicy": "Never", "containers": [container] })
}

pub fn phase(myjob: &MyJob) -> Option<Phase> {
    myjob.status.as_ref()?.phase
}

/// Each condition as `Type=Status Reason: message`.
pub fn conditions(myjob: &MyJob) -> Vec<String> {
    let conditions = myjob.status.iter().flat_map(|status| &status.conditions);
    let texts = conditions.map(|condition| {
        let (type_, status) = (&condition.type_, &condition.status);
        format!(
            "{type_}={status} {}: {}",
            condition.reason, condition.message
        )
    });
    texts.collect()
}
