// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why the manager could not start or keep running, and what the process does about it.
//!
//! Errors of a reconcile are not included: they belong to the project, and are retried.

use std::io;
use std::path::PathBuf;
use std::time::Duration;

use kube::config::{InferConfigError, KubeconfigError};

use crate::BindAddress;

/// Why the manager could not start or keep running. Errors of reconciles are not included: they are
/// retried.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ManagerError {
    /// The file given with `--kubeconfig` is missing or not usable.
    #[error("could not use the kubeconfig `{}`: {source}", .path.display())]
    Kubeconfig {
        /// The file.
        path: PathBuf,
        /// What is wrong with it.
        source: KubeconfigError,
    },
    /// Neither a kubeconfig nor a pod's service account was found.
    #[error("found no way to reach a cluster: {0}")]
    NoCluster(#[source] InferConfigError),
    /// The Kubernetes client could not be created, usually because of a certificate.
    #[error("could not create the Kubernetes client: {0}")]
    Client(#[source] kube::Error),
    /// What was added to the manager cannot work together. Nothing was started.
    #[error("what was added to the manager cannot work: {}", .0.join("; "))]
    Registration(Vec<String>),
    /// A server could not listen on its address.
    #[error("could not listen on `{address}` for {server}: {source}")]
    Listen {
        /// What it serves, such as `the webhooks`.
        server: &'static str,
        /// The address.
        address: BindAddress,
        /// The error of the operating system, usually that the port is in use.
        source: io::Error,
    },
    /// A flag or `$WATCH_NAMESPACE` is missing or has a value that cannot be used.
    #[error("`{flag}` {problem}")]
    Flag {
        /// The flag, such as `--leader-election-id`.
        flag: &'static str,
        /// What is wrong with it, and what to give.
        problem: String,
    },
    /// A namespace of `$WATCH_NAMESPACE` does not exist, or the operator has no permissions in it.
    #[error("could not watch the namespace `{name}`: {reason}")]
    Namespace {
        /// The namespace.
        name: String,
        /// Why not, and what to do.
        reason: String,
    },
    /// This process cannot take part in leader election.
    #[error("could not take part in leader election with the Lease `{lease}`: {reason}")]
    Election {
        /// Namespace and name of the Lease.
        lease: String,
        /// Why not.
        reason: String,
    },
    /// This process led and no longer does. Its controllers were aborted.
    #[error("lost the Lease `{lease}`: {reason}")]
    LeadershipLost {
        /// Namespace and name of the Lease.
        lease: String,
        /// How it was lost.
        reason: String,
    },
    /// A thread could not be started.
    #[error("could not start the {name} thread: {source}")]
    Thread {
        /// What the thread is for.
        name: &'static str,
        /// The error of the operating system.
        source: io::Error,
    },
    /// A thread for signals, probes, metrics or webhooks ended by itself.
    #[error("the {name} thread ended: {reason}")]
    ThreadEnded {
        /// What the thread was for.
        name: &'static str,
        /// Why it ended.
        reason: String,
    },
    /// A webhook has blocked the thread that all webhooks share for a minute.
    #[error("the webhook {call} blocks all others: it has not returned for {limit:?}")]
    WebhookBlocked {
        /// The path of the webhook, and the object that it was called with.
        call: String,
        /// How long it may run without an `await`.
        limit: Duration,
    },
    /// A controller ended by itself.
    #[error("controller `{name}` ended: {reason}")]
    ControllerEnded {
        /// The controller.
        name: &'static str,
        /// Why it ended.
        reason: String,
    },
    /// A cache that no controller uses could not be listed, or is not filled any more.
    #[error("a cache cannot be filled: {reason}")]
    CachesEnded {
        /// Which, and why.
        reason: String,
    },
    /// A task of [`Manager::add_task`](crate::Manager::add_task) returned an error or panicked.
    #[error("task `{name}` failed: {reason}")]
    TaskFailed {
        /// The task.
        name: &'static str,
        /// The error with its causes, or the panic.
        reason: String,
    },
    /// With `--plan`: something would change. The plan is on standard output.
    #[error("{summary}")]
    WouldChange {
        /// How many objects.
        summary: String,
    },
    /// With `--plan`: the plan could not be made, or not for all objects. What is known of it is on standard output.
    #[error("could not make the plan: {reason}")]
    Plan {
        /// Why not.
        reason: String,
    },
    /// Reconciles of these controllers, or these tasks, were still running at the end of
    /// `--graceful-shutdown-timeout`, and were aborted.
    #[error("still running after the grace period: {}", .0.join(", "))]
    GracePeriodElapsed(Vec<&'static str>),
}

#[cfg(test)]
mod tests;
