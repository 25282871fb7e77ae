// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Leader election: of several managers, only the holder of a Lease runs its controllers.
//!
//! It runs on a thread and with connections of its own, so that neither busy reconciles nor an API
//! server that refuses their requests can cost the Lease. The Lease is part of the manifests, so that the
//! role can name it; one that is missing is created, if the role allows that.
//!
//! A Lease alone is not a lock: a process that is suspended and later resumed does not know that its Lease
//! has expired. So the controllers' client checks a [`Gate`] before each request, which closes some time
//! (five seconds by default) before another process may take the Lease. A request that was handed to the kernel before that can still
//! arrive, which is why writes name the version that they change, or create an object with a fixed name.
//!
//! A Lease that somebody deletes protects nobody: a process that starts after that knows of no holder, creates the Lease
//! and leads at once, while the last leader notices at its next renewal, or after the renew deadline if it is cut off
//! from the API server. In client-go it is the same. To wait would cost each first start a lease duration. Processes that
//! have seen the deleted Lease wait until it has expired.

mod candidate;
mod record;

use std::time::Duration;

use kube::{Client, Config};
use tokio::sync::watch;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use crate::clock::BootTime;
use crate::events::instance;
use crate::gate::Gate;
use crate::key::is_name;
use crate::metrics::Metrics;
use crate::random::random;
use crate::thread::Thread;
use crate::{Flags, ManagerError};
use candidate::Candidate;
use record::Record;

/// How long the process may continue after its Lease was lost, unless another may take the Lease earlier.
const LAST_MOMENTS: Duration = Duration::from_secs(2);

/// client-go makes the time between two attempts up to this much longer, so that candidates do not all try
/// at the same time.
const JITTER: f64 = 1.2;

/// The holder of the Lease while `kbr dev` develops an operator that is also deployed; only `kbr dev` sets it. A process
/// with it takes the Lease over from its holder, and does not release it: the next one has the same.
const DEVELOPER: &str = "KBR_DEV_LEASE_HOLDER";

/// The file with the pod's namespace.
const NAMESPACE: &str = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";

#[derive(Clone, Debug)]
enum State {
    Waiting,
    Leading,
    Lost(String),
    /// This process cannot take part.
    Refused(String),
}

/// The election that this process takes part in.
pub(crate) struct Election {
    thread: Thread,
    /// When it is dropped, this process no longer takes part.
    state: watch::Receiver<State>,
    stop: CancellationToken,
    lease: String,
}

/// The Lease that the candidates compete for, and the timing. The names of the times are client-go's.
#[derive(Debug)]
pub(crate) struct Settings {
    namespace: String,
    name: String,
    /// How long the Lease stays valid after its holder's last renewal.
    lease_duration: Duration,
    /// How long the leader tries to renew the Lease before it gives up. Its last requests have the rest of
    /// the lease duration to arrive.
    renew_deadline: Duration,
    /// The time between two attempts.
    retry_period: Duration,
}

impl Settings {
    /// `None` without `--leader-elect`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Flag`] if the name is not a valid Lease name, if there is no valid namespace, or under the
    /// conditions for which client-go refuses the times.
    pub(crate) fn of(flags: &Flags) -> Result<Option<Self>, ManagerError> {
        if !flags.leader_elect {
            return Ok(None);
        }
        let wrong = |flag, problem: &str| ManagerError::Flag {
            flag,
            problem: problem.to_owned(),
        };
        let name = flags.leader_election_id.clone().ok_or_else(|| {
            let problem = "is needed with `--leader-elect`: give the name of a Lease";
            wrong("--leader-election-id", problem)
        })?;
        if !is_name(&name) {
            let problem = format!(
                "`{name}` cannot be the name of a Lease: give lower-case letters, digits, `-` and `.`"
            );
            return Err(wrong("--leader-election-id", &problem));
        }
        let namespace = flags.leader_election_namespace.clone();
        let of_pod = || std::fs::read_to_string(NAMESPACE).ok();
        let namespace = namespace.or_else(of_pod).ok_or_else(|| {
            let problem = "is needed outside a pod: give the namespace of the Lease";
            wrong("--leader-election-namespace", problem)
        })?;
        let namespace = namespace.trim().to_owned();
        if !is_name(&namespace) || namespace.contains('.') {
            let problem = format!("`{namespace}` cannot be the name of a namespace");
            return Err(wrong("--leader-election-namespace", &problem));
        }
        let this = Self {
            namespace,
            name,
            lease_duration: flags.leader_elect_lease_duration,
            renew_deadline: flags.leader_elect_renew_deadline,
            retry_period: flags.leader_elect_retry_period,
        };
        if this.retry_period.is_zero() {
            let problem = "must be longer than 0";
            return Err(wrong("--leader-elect-retry-period", problem));
        }
        if this.renew_deadline <= this.retry_period.mul_f64(JITTER) {
            let problem = format!(
                "is {:?}, and must be longer than 1.2 times `--leader-elect-retry-period`, which is {:?}",
                this.renew_deadline, this.retry_period
            );
            return Err(wrong("--leader-elect-renew-deadline", &problem));
        }
        if this.lease_duration <= this.renew_deadline {
            let problem = format!(
                "is {:?}, and must be longer than `--leader-elect-renew-deadline`, which is {:?}",
                this.lease_duration, this.renew_deadline
            );
            return Err(wrong("--leader-elect-lease-duration", &problem));
        }
        Ok(Some(this))
    }

    /// The name of the Lease with its namespace.
    fn lease(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }

    /// How long one attempt may take: so short that one lost response leaves time for two more attempts.
    fn attempt(&self) -> Duration {
        self.renew_deadline.mul_f64(0.3)
    }

    /// How long the process may continue after its Lease was lost.
    fn last_moments(&self) -> Duration {
        LAST_MOMENTS.min(self.lease_duration.saturating_sub(self.renew_deadline))
    }
}

impl Election {
    /// Takes part from now on. `gate` closes when the Lease is lost. One of `metrics` is 1 while the Lease is held.
    /// `end` is called if the process still runs two seconds after the loss.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Client`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        settings: Settings,
        mut config: Config,
        gate: Gate,
        metrics: &Metrics,
        end: Option<fn()>,
    ) -> Result<Self, ManagerError> {
        // Attempts are repeated here, each with its own timeout.
        config.default_retry = false;
        let client = Client::try_from(config.clone()).map_err(ManagerError::Client)?;
        // It has the name of the Lease, without its namespace.
        let leads = metrics.leads(settings.name.clone());
        let (lease, last_moments) = (settings.lease(), settings.last_moments());
        let (state, receiver) = watch::channel(State::Waiting);
        let stop = CancellationToken::new();
        let developer = std::env::var(DEVELOPER).ok();
        let candidate = Candidate {
            config,
            client,
            settings,
            is_developed: developer.is_some(),
            identity: developer.unwrap_or_else(|| identity(|name| std::env::var(name).ok())),
            not_before: BootTime::default(),
            gate,
            leads,
            state: state.clone(),
            stop: stop.clone(),
            record: Record::default(),
            is_stale: true,
        };
        let is_left = stop.clone();
        let run = async move {
            let outcome = tokio::select! {
                outcome = candidate.run() => outcome,
                // The Lease then expires.
                () = state.closed() => return "it was abandoned".to_owned(),
            };
            if let Err(last) = outcome {
                let is_lost = matches!(last, State::Lost(_));
                state.send_replace(last);
                if is_lost {
                    fence(&is_left, last_moments, end).await;
                }
            }
            "it was stopped".to_owned()
        };
        Ok(Self {
            thread: Thread::spawn("leader election", run)?,
            state: receiver,
            stop,
            lease,
        })
    }

    /// Waits until this process leads.
    pub(crate) async fn won(&mut self) -> Result<(), ManagerError> {
        let is_over = |state: &State| !matches!(state, State::Waiting);
        let state = self.state.wait_for(is_over).await;
        match state.map(|state| state.clone()) {
            Ok(State::Leading) => Ok(()),
            _ => Err(self.lost().await),
        }
    }

    /// Waits until this process no longer leads or cannot lead, and returns why.
    pub(crate) async fn lost(&mut self) -> ManagerError {
        let is_end = |state: &State| !matches!(state, State::Waiting | State::Leading);
        let end = self.state.wait_for(is_end).await.map(|state| state.clone());
        let lease = self.lease.clone();
        match end {
            Ok(State::Lost(reason)) => ManagerError::LeadershipLost { lease, reason },
            Ok(State::Refused(reason)) => ManagerError::Election { lease, reason },
            _ => self.thread.ended().await,
        }
    }

    /// Releases the Lease if this process leads, and leaves the election.
    pub(crate) async fn release(mut self) {
        self.stop.cancel();
        self.thread.ended().await;
    }
}

/// Calls `end` after the time `after` a loss, unless the election is left before: then nothing runs any more.
///
/// What runs is dropped at its next `await`, which code that blocks its thread never reaches. This thread is
/// not blocked by it.
async fn fence(left: &CancellationToken, after: Duration, end: Option<fn()>) {
    if let Some(end) = end
        && left.run_until_cancelled(sleep(after)).await.is_some()
    {
        tracing::error!("the process has not ended after it lost the Lease: ending at once");
        end();
    }
}

/// The identity of this process, with the environment `variable`. It is new for each process, as in client-go:
/// a pod may run two at once, such as two containers, or one that the kubelet has given up on and its successor.
fn identity(variable: impl Fn(&'static str) -> Option<String>) -> String {
    format!("{}_{:016x}", instance(variable), random())
}

#[cfg(test)]
pub(crate) mod tests;
