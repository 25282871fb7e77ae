// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The status of a pod after something has happened to it, as a kubelet writes it.

use std::hash::{DefaultHasher, Hash, Hasher};

use k8s_openapi::api::core::v1::{
    Container, ContainerState, ContainerStateRunning, ContainerStateTerminated,
    ContainerStateWaiting, ContainerStatus, HostIP, Pod, PodCondition, PodIP, PodSpec, PodStatus,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;

/// The address of the node, from a range reserved for documentation.
const HOST_IP: &str = "192.0.2.1";

/// The exit codes of containers that SIGTERM and SIGKILL have ended.
const TERMINATED: i32 = 128 + 15;
pub(super) const KILLED: i32 = 128 + 9;

/// What happens to a pod.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Step<'a> {
    /// The scheduler finds no node for it.
    Unschedulable { message: &'a str },
    /// Its containers cannot start.
    Wait { reason: &'a str, message: &'a str },
    /// Its containers run, and are ready or not.
    Run { is_ready: bool },
    /// Its containers end by themselves, with this exit code.
    Exit(i32),
    /// Its containers end with this exit code and for this reason, and if they are restarted, have to wait for that.
    Crash { code: i32, reason: &'a str },
    /// The node has too little memory for it.
    Evict,
    /// It is being deleted: its containers are told to stop.
    Terminate,
}

/// The status of `pod` after `step`. If it was not running yet, it is started first.
pub(super) fn after(pod: &Pod, step: Step<'_>, now: &Time) -> PodStatus {
    let spec = pod.spec.clone().unwrap_or_default();
    let mut status = pod.status.clone().unwrap_or_default();
    let is_placed = !matches!(step, Step::Unschedulable { .. });
    if status.container_statuses.is_none() && is_placed {
        start(&mut status, pod, &spec, now);
    }
    let mut next = Next {
        status,
        spec: &spec,
        pod,
        now,
    };
    match step {
        Step::Unschedulable { message } => {
            next.set_because("PodScheduled", false, "Unschedulable", message);
        }
        Step::Wait { reason, message } => next.wait(reason, message),
        Step::Run { is_ready } => {
            next.start_waiting();
            next.run(is_ready);
        }
        Step::Exit(code) if restarts(&spec, code) => {
            next.crash(code, reason_of(code));
            next.start_waiting();
            next.run(true);
        }
        Step::Exit(code) => {
            next.start_waiting();
            next.end(code, reason_of(code));
        }
        Step::Crash { code, reason } if restarts(&spec, code) => next.crash(code, reason),
        Step::Crash { code, reason } => {
            next.start_waiting();
            next.end(code, reason);
        }
        Step::Evict => {
            const MESSAGE: &str = "The node was low on resource: memory.";
            next.end(KILLED, reason_of(KILLED));
            next.status.reason = Some("Evicted".to_owned());
            next.status.message = Some(MESSAGE.to_owned());
            next.set_because("DisruptionTarget", true, "TerminationByKubelet", MESSAGE);
        }
        Step::Terminate => next.end(TERMINATED, reason_of(TERMINATED)),
    }
    next.status
}

/// Whether none of the pod's containers will run again.
pub(super) fn has_ended(pod: &Pod) -> bool {
    let phase = pod.status.as_ref().and_then(|status| status.phase.as_ref());
    phase.is_some_and(|phase| phase == "Succeeded" || phase == "Failed")
}

/// Whether a container of the pod runs.
pub(super) fn runs(pod: &Pod) -> bool {
    let containers = pod
        .status
        .iter()
        .flat_map(|status| &status.container_statuses);
    containers.flatten().any(is_running)
}

/// Whether containers that end with this code are restarted.
pub(super) fn restarts(spec: &PodSpec, code: i32) -> bool {
    match spec.restart_policy.as_deref() {
        Some("Never") => false,
        Some("OnFailure") => code != 0,
        _ => true,
    }
}

/// Starts the containers of the pod, which is on its node.
fn start(status: &mut PodStatus, pod: &Pod, spec: &PodSpec, now: &Time) {
    let uid = pod.metadata.uid.as_deref().unwrap_or_default();
    let ip = if spec.host_network == Some(true) {
        HOST_IP.to_owned()
    } else {
        ip_of(uid)
    };
    status.host_ip = Some(HOST_IP.to_owned());
    status.host_ips = Some(vec![HostIP {
        ip: HOST_IP.to_owned(),
    }]);
    status.pod_ips = Some(vec![PodIP { ip: ip.clone() }]);
    status.pod_ip = Some(ip);
    status.start_time.get_or_insert_with(|| now.clone());
    let started = |container: &Container| ContainerStatus {
        name: container.name.clone(),
        image: container.image.clone().unwrap_or_default(),
        image_id: container.image.clone().unwrap_or_default(),
        container_id: Some(id(uid, &container.name, 0)),
        state: Some(running(now)),
        started: Some(true),
        ..ContainerStatus::default()
    };
    status.container_statuses = Some(spec.containers.iter().map(started).collect());
    let init = spec.init_containers.iter().flatten().map(|container| {
        let mut init = started(container);
        init.ready = true;
        if !is_sidecar(container) {
            init.state = Some(terminated(&mut init, 0, reason_of(0), now));
            init.started = Some(false);
        }
        init
    });
    status.init_container_statuses = spec.init_containers.as_ref().map(|_| init.collect());
}

/// A status under construction.
struct Next<'a> {
    status: PodStatus,
    spec: &'a PodSpec,
    pod: &'a Pod,
    now: &'a Time,
}

impl Next<'_> {
    /// None of its containers has started.
    fn wait(&mut self, reason: &str, message: &str) {
        for container in self.containers() {
            container.state = Some(waiting(reason, message));
            container.started = Some(false);
            container.container_id = None;
            container.image_id = String::new();
        }
        self.run(false);
        self.phase("Pending");
    }

    /// Starts the containers that wait.
    fn start_waiting(&mut self) {
        let (now, uid) = (self.now.clone(), self.pod.metadata.uid.clone());
        let uid = uid.unwrap_or_default();
        for container in self.containers() {
            let state = container.state.as_ref();
            if state.is_none_or(|state| state.waiting.is_none()) {
                continue;
            }
            let before = container.last_state.as_ref();
            if before.is_some_and(|before| before.terminated.is_some()) {
                container.restart_count += 1;
            }
            let id = id(&uid, &container.name, container.restart_count);
            container.container_id = Some(id);
            container.image_id.clone_from(&container.image);
            container.state = Some(running(&now));
            container.started = Some(true);
        }
    }

    fn run(&mut self, is_ready: bool) {
        for container in self.containers() {
            container.ready = is_ready;
        }
        self.phase("Running");
        self.set("PodReadyToStartContainers", true);
        self.set("Initialized", true);
        if is_ready {
            self.set("ContainersReady", true);
            self.set_ready();
        } else {
            let message = format!("containers with unready status: [{}]", self.names());
            for type_ in ["ContainersReady", "Ready"] {
                self.set_because(type_, false, "ContainersNotReady", &message);
            }
        }
    }

    /// Sets the condition `Ready` of a pod whose containers are ready: it may have readiness gates
    /// as well.
    fn set_ready(&mut self) {
        let gates = self.spec.readiness_gates.iter().flatten();
        let closed = gates.filter(|gate| {
            let conditions = self.status.conditions.iter().flatten();
            let mut open = conditions.filter(|condition| condition.status == "True");
            !open.any(|condition| condition.type_ == gate.condition_type)
        });
        let closed: Vec<_> = closed.map(|gate| gate.condition_type.as_str()).collect();
        if closed.is_empty() {
            self.set("Ready", true);
        } else {
            let message = format!("readiness gates that are not \"True\": {closed:?}");
            self.set_because("Ready", false, "ReadinessGatesNotReady", &message);
        }
    }

    /// Its containers end, and wait until they are restarted.
    fn crash(&mut self, code: i32, reason: &str) {
        self.start_waiting();
        let now = self.now.clone();
        for container in self.containers() {
            let ended = terminated(container, code, reason, &now);
            container.last_state = Some(ended);
            let name = &container.name;
            let message = format!("back-off 10s restarting failed container={name}");
            container.state = Some(waiting("CrashLoopBackOff", &message));
            container.started = Some(false);
        }
        self.run(false);
    }

    fn end(&mut self, code: i32, reason: &str) {
        let now = self.now.clone();
        for container in self.containers() {
            container.state = Some(terminated(container, code, reason, &now));
            container.ready = false;
            container.started = Some(false);
        }
        // The sidecars.
        for sidecar in self.status.init_container_statuses.iter_mut().flatten() {
            if is_running(sidecar) {
                sidecar.state = Some(terminated(sidecar, 0, reason_of(0), &now));
                sidecar.started = Some(false);
            }
        }
        let (phase, reason) = match code {
            0 => ("Succeeded", "PodCompleted"),
            _ => ("Failed", "PodFailed"),
        };
        self.phase(phase);
        self.set("PodReadyToStartContainers", false);
        match code {
            0 => self.set_because("Initialized", true, reason, ""),
            _ => self.set("Initialized", true),
        }
        for type_ in ["ContainersReady", "Ready"] {
            self.set_because(type_, false, reason, "");
        }
    }

    fn phase(&mut self, phase: &str) {
        self.status.phase = Some(phase.to_owned());
        self.status.observed_generation = self.pod.metadata.generation;
    }

    fn containers(&mut self) -> impl Iterator<Item = &mut ContainerStatus> {
        self.status.container_statuses.iter_mut().flatten()
    }

    fn names(&self) -> String {
        let containers = self.spec.containers.iter();
        let names: Vec<_> = containers.map(|it| it.name.as_str()).collect();
        names.join(" ")
    }

    fn set(&mut self, type_: &str, is_true: bool) {
        self.set_because(type_, is_true, "", "");
    }

    fn set_because(&mut self, type_: &str, is_true: bool, reason: &str, message: &str) {
        let given = |text: &str| (!text.is_empty()).then(|| text.to_owned());
        let mut condition = PodCondition {
            type_: type_.to_owned(),
            status: if is_true { "True" } else { "False" }.to_owned(),
            reason: given(reason),
            message: given(message),
            observed_generation: self.pod.metadata.generation,
            last_transition_time: Some(self.now.clone()),
            ..PodCondition::default()
        };
        let conditions = self.status.conditions.get_or_insert_default();
        match conditions.iter_mut().find(|old| old.type_ == type_) {
            Some(old) => {
                if old.status == condition.status {
                    condition.last_transition_time = old.last_transition_time.take();
                }
                *old = condition;
            }
            None => conditions.push(condition),
        }
    }
}

/// Whether a container starts before the others and runs as long as they do.
fn is_sidecar(container: &Container) -> bool {
    container.restart_policy.as_deref() == Some("Always")
}

fn is_running(container: &ContainerStatus) -> bool {
    let state = container.state.as_ref();
    state.is_some_and(|state| state.running.is_some())
}

fn running(now: &Time) -> ContainerState {
    ContainerState {
        running: Some(ContainerStateRunning {
            started_at: Some(now.clone()),
        }),
        ..ContainerState::default()
    }
}

fn waiting(reason: &str, message: &str) -> ContainerState {
    ContainerState {
        waiting: Some(ContainerStateWaiting {
            reason: Some(reason.to_owned()),
            message: Some(message.to_owned()),
        }),
        ..ContainerState::default()
    }
}

/// Why a container has ended that ended by itself or by a signal.
pub(super) fn reason_of(code: i32) -> &'static str {
    match code {
        0 => "Completed",
        _ => "Error",
    }
}

/// The state of a container that ran until now.
fn terminated(
    container: &mut ContainerStatus,
    code: i32,
    reason: &str,
    now: &Time,
) -> ContainerState {
    let state = container.state.take().unwrap_or_default();
    let started_at = state.running.and_then(|running| running.started_at);
    ContainerState {
        terminated: Some(ContainerStateTerminated {
            container_id: container.container_id.clone(),
            exit_code: code,
            finished_at: Some(now.clone()),
            reason: Some(reason.to_owned()),
            started_at,
            ..ContainerStateTerminated::default()
        }),
        ..ContainerState::default()
    }
}

/// The ID of a container that has been restarted this many times.
fn id(uid: &str, name: &str, restarts: i32) -> String {
    format!("testenv://{uid}/{name}/{restarts}")
}

/// An address for a pod: always the same one, and rarely that of another pod.
fn ip_of(uid: &str) -> String {
    let mut hasher = DefaultHasher::new();
    uid.hash(&mut hasher);
    let [low, high, ..] = hasher.finish().to_le_bytes();
    format!("10.244.{high}.{}", low.clamp(1, 254))
}

#[cfg(test)]
mod tests;
