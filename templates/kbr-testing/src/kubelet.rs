// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Plays the kubelet of every node: writes the status of pods, and runs no container.

mod automatic;
mod status;

use k8s_openapi::api::core::v1::{Binding, ObjectReference, Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Status, Time};
use k8s_openapi::jiff::Timestamp;
use kbr_runtime::internal::chain;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions};
use kube::{Api, Client, ResourceExt};
use serde_json::json;

use super::{TestEnv, TestEnvError};
use status::Step;

/// The node that pods without one are bound to. There is no `Node` object with that name.
const NODE: &str = "testenv";

/// Plays the kubelet: a test says what happens to a pod, and this writes it to the pod's status as the
/// kubelet of a cluster would. From [`TestEnv::kubelet`].
///
/// **No container runs**, no image is pulled, and no probe is called. There is nothing to `kubectl logs`
/// or `kubectl exec`.
///
/// # Step by step
///
/// Each step takes a pod, writes the new status, and returns the updated pod. A pod that is not running
/// yet is bound to a node and started first, so a test can begin with any step.
///
/// ```no_run
/// use k8s_openapi::api::core::v1::Pod;
/// use kbr_testing::TestEnv;
/// use kube::{Api, runtime::wait::conditions};
///
/// # async fn a_failure_is_reported(env: &TestEnv, namespace: &str) {
/// let pods = Api::<Pod>::namespaced(env.admin(), namespace);
/// let pod = env.wait_for(&pods, "worker", |pod: Option<&Pod>| pod.is_some()).await;
/// let pod = pod.expect("a pod");
///
/// let kubelet = env.kubelet();
/// kubelet.run(&pod).await;
/// // Wait here until the operator's object says that it runs.
/// kubelet.fail(&pod, 1).await;
/// // Wait here until it says that it has failed.
/// # }
/// ```
///
/// # Automatically
///
/// [`Kubelet::run_all`] runs every pod. Together with Kubernetes' own controllers, a Deployment becomes
/// available; the pods of a Job run until a step ends them.
///
/// ```no_run
/// use kbr_testing::{TestEnv, TestEnvError};
///
/// fn start() -> Result<TestEnv, TestEnvError> {
///     let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
///         .kubernetes_controllers(&["deployment-controller", "replicaset-controller"])
///         .start()?;
///     env.kubelet().run_all()?;
///     Ok(env)
/// }
/// ```
///
/// # Deletion
///
/// A deleted pod that is on a node stays, with a deletion timestamp, until the kubelet has ended its
/// containers. Here [`Kubelet::terminate`] does that, or [`Kubelet::run_all`] automatically. The API
/// server itself removes pods that were never run, that have ended, or that are deleted with a grace
/// period of 0.
#[derive(Clone, Copy)]
pub struct Kubelet<'a> {
    env: &'a TestEnv,
}

impl TestEnv {
    /// Plays the kubelet: runs pods, ends them, and more. No container runs; see [`Kubelet`].
    #[must_use]
    pub fn kubelet(&self) -> Kubelet<'_> {
        Kubelet { env: self }
    }
}

/// Steps panic when the pod no longer exists or has ended, and when the API server refuses the
/// status.
impl Kubelet<'_> {
    /// Makes the containers of the pod run and become ready, whatever probes they have.
    pub async fn run(self, pod: &Pod) -> Pod {
        self.ready(pod, true).await
    }

    /// Makes the containers of the pod ready, or not ready. A pod that is not running yet is started, and
    /// with `false` it has never been ready.
    ///
    /// If the pod has readiness gates, it is ready only if their conditions are `True` as well, which is
    /// checked only during this step.
    pub async fn ready(self, pod: &Pod, is_ready: bool) -> Pod {
        self.step(pod, Step::Run { is_ready }).await
    }

    /// Makes the containers of the pod end with exit code 0.
    ///
    /// If its `restartPolicy` is `Always`, they are restarted at once: the pod runs and is ready, and has
    /// one more restart.
    pub async fn complete(self, pod: &Pod) -> Pod {
        self.step(pod, Step::Exit(0)).await
    }

    /// Makes the containers of the pod end with this exit code.
    ///
    /// If its `restartPolicy` is `Always` or `OnFailure`, they are restarted at once: the pod runs and is
    /// ready, and has one more restart.
    ///
    /// # Panics
    ///
    /// When `exit_code` is 0, which is not a failure.
    pub async fn fail(self, pod: &Pod, exit_code: i32) -> Pod {
        assert_ne!(exit_code, 0, "exit code 0 is a success: use `complete`");
        self.step(pod, Step::Exit(exit_code)).await
    }

    /// Keeps the containers of the pod from starting: they wait for this reason, such as `ImagePullBackOff` or
    /// `CreateContainerConfigError`. [`Kubelet::run`] starts them.
    ///
    /// # Panics
    ///
    /// When the containers already run, as they do with [`Kubelet::run_all`].
    pub async fn fail_to_start(self, pod: &Pod, reason: &str, message: &str) -> Pod {
        self.step(pod, Step::Wait { reason, message }).await
    }

    /// Makes the containers of the pod end with this exit code, and wait for their restart with the reason
    /// `CrashLoopBackOff`. [`Kubelet::run`] restarts them.
    ///
    /// # Panics
    ///
    /// When the `restartPolicy` of the pod does not restart them: use [`Kubelet::fail`] or [`Kubelet::complete`].
    pub async fn crash_loop(self, pod: &Pod, exit_code: i32) -> Pod {
        let spec = pod.spec.clone().unwrap_or_default();
        assert!(
            status::restarts(&spec, exit_code),
            "its `restartPolicy` does not restart containers that end with {exit_code}: use `fail` or `complete`"
        );
        let (code, reason) = (exit_code, status::reason_of(exit_code));
        self.step(pod, Step::Crash { code, reason }).await
    }

    /// Ends the containers of the pod as the kernel does when they use more memory than their limit: with exit code
    /// 137 and the reason `OOMKilled`.
    ///
    /// If its `restartPolicy` is `Always` or `OnFailure`, they wait for their restart with the reason
    /// `CrashLoopBackOff`, and [`Kubelet::run`] restarts them.
    pub async fn kill_for_memory(self, pod: &Pod) -> Pod {
        let (code, reason) = (status::KILLED, "OOMKilled");
        self.step(pod, Step::Crash { code, reason }).await
    }

    /// Plays the scheduler, which finds no node for the pod: `Unschedulable`, with this message. Any other step
    /// schedules the pod, and so does [`Kubelet::run_all`].
    ///
    /// # Panics
    ///
    /// When the pod is on a node.
    pub async fn unschedulable(self, pod: &Pod, message: &str) -> Pod {
        self.step(pod, Step::Unschedulable { message }).await
    }

    /// Evicts the pod as a node that is low on memory does: it fails with the reason `Evicted`.
    pub async fn evict(self, pod: &Pod) -> Pod {
        self.step(pod, Step::Evict).await
    }

    /// Ends the containers of a pod that is being deleted, and removes the pod. If it has finalizers, it
    /// is removed with the last of them.
    ///
    /// # Panics
    ///
    /// When the pod is not being deleted.
    pub async fn terminate(self, pod: &Pod) {
        let client = self.env.admin();
        let terminated = terminate(&client, pod).await;
        terminated.unwrap_or_else(|refusal| panic!("{}", refusal.of(pod)));
    }

    /// Runs every pod from now on, as [`Kubelet::run`] does, and terminates those that are deleted.
    /// This continues until the environment is dropped, on its own thread.
    ///
    /// What a test does to a running pod is kept: the pod is left as it is until it is deleted.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Runtime`] when the operating system provides no thread.
    pub fn run_all(self) -> Result<(), TestEnvError> {
        automatic::start(self.env, None)
    }

    /// Like [`Kubelet::run_all`], but only in one namespace.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Runtime`] when the operating system provides no thread.
    pub fn run_all_in(self, namespace: &str) -> Result<(), TestEnvError> {
        automatic::start(self.env, Some(namespace.to_owned()))
    }

    async fn step(self, pod: &Pod, step: Step<'_>) -> Pod {
        let stepped = take(&self.env.admin(), pod, step, |_| true).await;
        stepped.unwrap_or_else(|refusal| panic!("{}", refusal.of(pod)))
    }
}

/// Why a step was not taken.
#[derive(Debug)]
enum Refusal {
    /// The pod no longer exists, or another pod has its name.
    Gone,
    /// None of its containers will run again.
    Ended(String),
    /// Its containers run.
    Running,
    /// It is on this node.
    Scheduled(String),
    /// It is not being deleted.
    NotDeleted,
    /// The API server returned an error.
    Error(kube::Error),
}

impl From<kube::Error> for Refusal {
    fn from(error: kube::Error) -> Self {
        match error {
            kube::Error::Api(status) if status.is_not_found() => Self::Gone,
            error => Self::Error(error),
        }
    }
}

impl Refusal {
    fn of(&self, pod: &Pod) -> String {
        let reason = match self {
            Self::Gone => "it is gone".to_owned(),
            Self::Ended(phase) => format!("it has ended, its phase is {phase}"),
            Self::Running => "its containers run".to_owned(),
            Self::Scheduled(node) => format!("it is on the node {node}"),
            Self::NotDeleted => "it is not being deleted".to_owned(),
            Self::Error(kube::Error::Api(status)) => status.message.clone(),
            Self::Error(error) => chain(error),
        };
        let namespace = pod.namespace().unwrap_or_default();
        format!(
            "the kubelet of Pod {namespace}/{}: {reason}",
            pod.name_any()
        )
    }
}

/// Applies `step` to the pod, if `is_wanted` is true for the pod's current state in the API server.
async fn take(
    client: &Client,
    pod: &Pod,
    step: Step<'_>,
    is_wanted: impl Fn(&Pod) -> bool,
) -> Result<Pod, Refusal> {
    let pods = pods(client, pod);
    loop {
        let mut now = pods.get(&pod.name_any()).await?;
        if now.uid() != pod.uid() {
            return Err(Refusal::Gone);
        }
        if !is_wanted(&now) {
            return Ok(now);
        }
        if status::has_ended(&now) {
            let phase = now.status.and_then(|status| status.phase);
            return Err(Refusal::Ended(phase.unwrap_or_default()));
        }
        match (step, node(&now)) {
            (Step::Unschedulable { .. }, Some(node)) => {
                return Err(Refusal::Scheduled(node.clone()));
            }
            (Step::Wait { .. }, _) if status::runs(&now) => return Err(Refusal::Running),
            _ => {}
        }
        if node(&now).is_none() && !matches!(step, Step::Unschedulable { .. }) {
            bind(&pods, &now).await?;
            now = pods.get(&pod.name_any()).await?;
        }
        let status = status::after(&now, step, &Time(Timestamp::now()));
        match write(&pods, &now, &status).await {
            // The pod has changed since it was read.
            Err(kube::Error::Api(status)) if status.is_conflict() => {}
            written => return Ok(written?),
        }
    }
}

/// Ends the containers of a pod that is being deleted, and removes it.
async fn terminate(client: &Client, pod: &Pod) -> Result<(), Refusal> {
    let is_deleted = |pod: &Pod| pod.metadata.deletion_timestamp.is_some();
    let is_running = |pod: &Pod| is_deleted(pod) && !status::has_ended(pod) && node(pod).is_some();
    let ended = take(client, pod, Step::Terminate, is_running).await?;
    if !is_deleted(&ended) {
        return Err(Refusal::NotDeleted);
    }
    let params = DeleteParams {
        grace_period_seconds: Some(0),
        preconditions: Some(Preconditions {
            uid: pod.uid(),
            ..Preconditions::default()
        }),
        ..DeleteParams::default()
    };
    match pods(client, pod).delete(&pod.name_any(), &params).await {
        // It is gone already.
        Err(kube::Error::Api(status)) if status.is_not_found() || status.is_conflict() => Ok(()),
        deleted => Ok(deleted.map(|_| ())?),
    }
}

/// Binds the pod to a node, as the scheduler does.
async fn bind(pods: &Api<Pod>, pod: &Pod) -> kube::Result<()> {
    let binding = Binding {
        metadata: ObjectMeta {
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
            ..ObjectMeta::default()
        },
        target: ObjectReference {
            kind: Some("Node".to_owned()),
            name: Some(NODE.to_owned()),
            ..ObjectReference::default()
        },
    };
    let params = PostParams::default();
    let bound: kube::Result<Status> = pods
        .create_subresource("binding", &pod.name_any(), &params, &binding)
        .await;
    match bound {
        // Another step was faster.
        Err(kube::Error::Api(status)) if status.is_conflict() => {
            let now = pods.get(&pod.name_any()).await?;
            node(&now).map(|_| ()).ok_or(kube::Error::Api(status))
        }
        bound => bound.map(|_| ()),
    }
}

/// Writes the status, unless the pod has changed since it was read.
async fn write(pods: &Api<Pod>, pod: &Pod, status: &PodStatus) -> kube::Result<Pod> {
    let patch = Patch::Merge(json!({
        "metadata": { "uid": pod.uid(), "resourceVersion": pod.resource_version() },
        "status": status,
    }));
    let params = PatchParams {
        field_manager: Some("kubelet".to_owned()),
        ..PatchParams::default()
    };
    pods.patch_status(&pod.name_any(), &params, &patch).await
}

fn node(pod: &Pod) -> Option<&String> {
    pod.spec.as_ref()?.node_name.as_ref()
}

fn pods(client: &Client, pod: &Pod) -> Api<Pod> {
    Api::namespaced(client.clone(), &pod.namespace().unwrap_or_default())
}
