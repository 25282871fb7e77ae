// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Leader election: of several managers, only the holder of a Lease runs its controllers.
//!
//! It runs on a thread and with connections of its own, so that neither busy reconciles nor an API
//! server that refuses their requests can cost the Lease. The Lease is not created here: it is part of the
//! manifests, so that the role can name it.
//!
//! A Lease alone is not a lock: a process that is suspended and later resumed does not know that its Lease
//! has expired. So the controllers' client checks a [`Gate`] before each request, which closes five seconds
//! before another process may take the Lease. A request that was handed to the kernel before that can still
//! arrive, which is why writes name the version that they change, or create an object with a fixed name.

mod boot_time;
mod candidate;
mod gate;
mod record;

use std::time::Duration;

use kube::{Client, Config};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;
use tokio_util::sync::{CancellationToken, DropGuard};

use crate::random::random;
use crate::thread::Thread;
use crate::{Flags, ManagerError};
use candidate::Candidate;
pub(crate) use gate::Gate;
use record::Record;

/// How long a Lease stays valid after its holder's last renewal.
const DURATION: Duration = Duration::from_secs(15);

/// How long the leader tries to renew the Lease before it gives up. Its last requests have the rest of
/// [`DURATION`] to arrive.
const DEADLINE: Duration = Duration::from_secs(10);

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
    state: watch::Receiver<State>,
    stop: CancellationToken,
    /// When it is dropped, this process no longer takes part.
    _takes_part: DropGuard,
    lease: String,
}

/// The Lease that the candidates compete for.
#[derive(Debug)]
pub(crate) struct Settings {
    namespace: String,
    name: String,
}

impl Settings {
    /// The name of the Lease, without its namespace.
    pub(crate) fn name(&self) -> String {
        self.name.clone()
    }

    /// `None` without `--leader-elect`.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Flag`] if the name is not a valid Lease name, or if there is no valid namespace.
    pub(crate) fn of(flags: &Flags) -> Result<Option<Self>, ManagerError> {
        if !flags.leader_elect {
            return Ok(None);
        }
        let wrong = |flag, problem: String| ManagerError::Flag { flag, problem };
        let name = flags.leader_election_id.clone().ok_or_else(|| {
            let problem = "is needed with `--leader-elect`: give the name of a Lease";
            wrong("--leader-election-id", problem.to_owned())
        })?;
        if !is_name(&name) {
            let problem = format!(
                "`{name}` cannot be the name of a Lease: give lower-case letters, digits, `-` and `.`"
            );
            return Err(wrong("--leader-election-id", problem));
        }
        let namespace = flags.leader_election_namespace.clone();
        let of_pod = || std::fs::read_to_string(NAMESPACE).ok();
        let namespace = namespace.or_else(of_pod).ok_or_else(|| {
            let problem = "is needed outside a pod: give the namespace of the Lease";
            wrong("--leader-election-namespace", problem.to_owned())
        })?;
        let namespace = namespace.trim().to_owned();
        if !is_name(&namespace) || namespace.contains('.') {
            let problem = format!("`{namespace}` cannot be the name of a namespace");
            return Err(wrong("--leader-election-namespace", problem));
        }
        Ok(Some(Self { namespace, name }))
    }
}

/// Whether it is a DNS subdomain (RFC 1123), as names of Leases are.
pub(crate) fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        label.bytes().all(allowed)
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}

impl Election {
    /// Takes part from now on. `gate` closes when the Lease is lost. `leads` is 1 while the Lease is held.
    ///
    /// # Errors
    ///
    /// [`ManagerError::Client`] or [`ManagerError::Thread`].
    pub(crate) fn start(
        settings: Settings,
        mut config: Config,
        gate: Gate,
        leads: Gauge,
    ) -> Result<Self, ManagerError> {
        let Settings { namespace, name } = settings;
        // Attempts are repeated here, each with its own timeout.
        config.default_retry = false;
        let client = Client::try_from(config.clone()).map_err(ManagerError::Client)?;
        let lease = format!("{namespace}/{name}");
        let (state, receiver) = watch::channel(State::Waiting);
        let stop = CancellationToken::new();
        let abandoned = CancellationToken::new();
        let candidate = Candidate {
            config,
            client,
            namespace,
            name,
            identity: identity(),
            gate,
            leads,
            state,
            stop: stop.clone(),
            record: Record::default(),
            is_stale: true,
        };
        let is_abandoned = abandoned.clone();
        let run = async move {
            tokio::select! {
                reason = candidate.run() => reason,
                // The Lease then expires.
                () = is_abandoned.cancelled() => "it was abandoned".to_owned(),
            }
        };
        Ok(Self {
            thread: Thread::spawn("leader election", run)?,
            state: receiver,
            stop,
            _takes_part: abandoned.drop_guard(),
            lease,
        })
    }

    /// Waits until this process leads.
    pub(crate) async fn won(&mut self) -> Result<(), ManagerError> {
        let won = self
            .state
            .wait_for(|state| !matches!(state, State::Waiting));
        match won.await.map(|state| state.clone()) {
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

/// The identity of this process: a pod keeps its name and uid when its container restarts.
fn identity() -> String {
    let variable = |name| std::env::var(name).ok().filter(|value| !value.is_empty());
    let name = variable("POD_NAME").or_else(|| variable("HOSTNAME"));
    let name = name.unwrap_or_else(|| "manager".to_owned());
    let uid = variable("POD_UID").unwrap_or_else(|| format!("{:016x}", random()));
    format!("{name}_{uid}")
}
