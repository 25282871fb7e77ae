// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why the manager could not start or go on, and what the process does about it.
//!
//! Errors of a reconcile are not here: they belong to the project, and are retried.

use std::io;
use std::path::PathBuf;

use kube::config::{InferConfigError, KubeconfigError};

use crate::BindAddress;
use crate::chain::chain;

/// Ends the process. The message says what to look at.
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
    /// The client could not be made, usually because a certificate is not usable.
    #[error("could not create the Kubernetes client: {0}")]
    Client(#[source] kube::Error),
    /// The address of a server could not be listened on.
    #[error("could not listen on `{address}` for {server}: {source}")]
    Listen {
        /// What was to be served, such as `the webhooks`.
        server: &'static str,
        /// Where.
        address: BindAddress,
        /// What the operating system says: usually that the port is in use.
        source: io::Error,
    },
    /// The operating system gave no thread.
    #[error("could not start the {name} thread: {source}")]
    Thread {
        /// What the thread is for.
        name: &'static str,
        /// What the operating system says.
        source: io::Error,
    },
    /// A thread beside the controllers ended, which none does by itself.
    #[error("the {name} thread ended: {reason}")]
    ThreadEnded {
        /// What the thread was for.
        name: &'static str,
        /// Why it ended.
        reason: String,
    },
    /// A controller ended, though nothing told it to.
    #[error("controller `{name}` ended: {reason}")]
    ControllerEnded {
        /// The controller.
        name: &'static str,
        /// Why it ended.
        reason: String,
    },
    /// Reconciles of these controllers were still running when the grace period ended. They were
    /// abandoned.
    #[error("still running after the grace period: {}", .0.join(", "))]
    GracePeriodElapsed(Vec<&'static str>),
}

/// Ends the process: with 0 if `outcome` is `Ok`, else logs the error and ends with 1.
///
/// Unlike a return from `main`, this does not wait for a reconcile that blocks its thread.
pub fn exit(outcome: Result<(), ManagerError>) -> ! {
    match outcome {
        Ok(()) => std::process::exit(0),
        Err(error) => {
            tracing::error!(error = chain(&error), "the manager failed");
            std::process::exit(1)
        }
    }
}

#[cfg(test)]
mod tests;
