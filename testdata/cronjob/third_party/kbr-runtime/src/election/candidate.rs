// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A process that wants to lead: how it acquires the Lease, renews it and releases it.
//!
//! The protocol and its timings are client-go's. The Lease is only written with the version that was
//! read, so if two processes take it, one is refused. The time for which this process holds it counts from
//! before the request to acquire or renew it was sent.

use std::fmt;
use std::time::Duration;

use futures::stream::{BoxStream, StreamExt, TryStreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Client, Config};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::boot_time::BootTime;
use super::gate::Gate;
use super::record::Record;
use super::{JITTER, State, Timing};
use crate::chain::chain;
use crate::random::random;

/// How long a watch of the Lease lasts.
const WATCH_SECONDS: u32 = 180;

/// The result of an attempt.
enum Standing {
    /// This process holds the Lease. The request to acquire or renew it was sent at this time.
    Held(BootTime),
    /// As far as is known, another process holds it until this time.
    HeldByOther(BootTime),
}

type Events = BoxStream<'static, kube::Result<WatchEvent<Lease>>>;

pub(super) struct Candidate {
    pub(super) config: Config,
    pub(super) client: Client,
    pub(super) namespace: String,
    pub(super) name: String,
    pub(super) identity: String,
    pub(super) timing: Timing,
    pub(super) gate: Gate,
    pub(super) leads: Gauge,
    pub(super) state: watch::Sender<State>,
    pub(super) stop: CancellationToken,
    /// The Lease as it was last seen.
    pub(super) record: Record,
    /// Whether it must be read before it is written: another may have changed it.
    pub(super) is_stale: bool,
}

/// Why the Lease is no longer kept.
enum Kept {
    /// The manager stops. This process holds the Lease until this time.
    UntilStop(BootTime),
    UntilLost(String),
}

/// How an attempt failed.
enum Failure {
    /// The Lease does not exist.
    Missing,
    Other(String),
}

impl fmt::Display for Failure {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Missing => {
                formatter.write_str("it does not exist: install it with `config/rbac`")
            }
            Self::Other(reason) => formatter.write_str(reason),
        }
    }
}

impl Candidate {
    /// Takes part until the stop, or until the Lease is lost. Returns why it ended.
    pub(super) async fn run(mut self) -> String {
        let stop = self.stop.clone();
        let obstacle = tokio::select! {
            obstacle = self.obstacle() => obstacle,
            () = stop.cancelled() => return "it was stopped".to_owned(),
        };
        if let Some(reason) = obstacle {
            self.state.send_replace(State::Refused(reason.clone()));
            return reason;
        }
        let since = tokio::select! {
            since = self.acquire() => since,
            () = stop.cancelled() => {
                // An attempt in progress may have acquired it.
                self.release(BootTime::now() + self.timing.attempt()).await;
                return "it was stopped".to_owned();
            }
        };
        self.gate.open_until(since + self.timing.renew_deadline);
        tracing::info!(lease = self.lease(), identity = self.identity, "leading");
        self.leads.set(1);
        self.state.send_replace(State::Leading);
        let kept = self.keep(since).await;
        self.leads.set(0);
        match kept {
            Kept::UntilStop(until) => {
                self.gate.close();
                self.release(until).await;
                "it was stopped".to_owned()
            }
            Kept::UntilLost(reason) => {
                self.gate.close();
                self.state.send_replace(State::Lost(reason.clone()));
                reason
            }
        }
    }

    /// Waits until this process holds the Lease. Returns since when.
    async fn acquire(&mut self) -> BootTime {
        let mut events: Option<Events> = None;
        let mut logged = String::new();
        loop {
            let (expires, why) = match self.attempt().await {
                Ok(Standing::Held(sent)) => return sent,
                Ok(Standing::HeldByOther(expires)) => {
                    let holder = self.record.holder().unwrap_or("a previous holder");
                    let why = format!("`{holder}` has the Lease");
                    (Some(expires), why)
                }
                Err(failure) => (None, failure.to_string()),
            };
            if logged != why {
                tracing::info!(lease = self.lease(), why, "waiting to lead");
                logged = why;
            }
            self.wait(&mut events, expires).await;
        }
    }

    /// Waits until the Lease may be free, or must be tried again.
    async fn wait(&mut self, events: &mut Option<Events>, expires: Option<BootTime>) {
        // So that the candidates do not all try at the same time.
        let retry = self.timing.retry_period.mul_f64(1.0 + JITTER * chance());
        let retry = Instant::now() + retry;
        let mut expires = expires;
        loop {
            // The watch shows each renewal. Without it, the Lease is polled.
            let until = match (expires, &events) {
                (Some(expires), Some(_)) => Instant::now() + expires.left(),
                (Some(expires), None) => retry.min(Instant::now() + expires.left()),
                (None, _) => retry,
            };
            let next = events.get_or_insert_with(|| self.watch()).next();
            let event = tokio::select! {
                event = next => event,
                () = sleep_until(until) => return,
            };
            match event {
                Some(Ok(WatchEvent::Added(lease) | WatchEvent::Modified(lease))) => {
                    self.see(lease);
                    expires = self.record.expires(&self.identity);
                    if expires.is_none() {
                        return;
                    }
                }
                Some(Ok(WatchEvent::Bookmark(_))) => {}
                // The Lease was deleted, or the watch has ended.
                Some(Ok(WatchEvent::Deleted(_) | WatchEvent::Error(_)) | Err(_)) | None => {
                    *events = None;
                    self.is_stale = true;
                    return sleep_until(retry).await;
                }
            }
        }
    }

    fn watch(&self) -> Events {
        let version = self.record.version().unwrap_or("0").to_owned();
        let params = self.watch_params().timeout(WATCH_SECONDS);
        let api = self.api();
        let events = async move { api.watch(&params, &version).await };
        futures::stream::once(events)
            .map_ok(|events| events.boxed())
            .try_flatten()
            .boxed()
    }

    /// Renews the Lease until the stop, or until it is lost.
    async fn keep(&mut self, mut since: BootTime) -> Kept {
        let deadline = self.timing.renew_deadline;
        let stop = self.stop.clone();
        let mut last_error = None;
        loop {
            let until = since + deadline;
            let pause = sleep(self.timing.retry_period.min(until.left()));
            if stop.run_until_cancelled(pause).await.is_none() {
                return Kept::UntilStop(until);
            }
            let left = until.left();
            if left.is_zero() {
                let reason = last_error.unwrap_or_else(|| "the process was suspended".to_owned());
                return Kept::UntilLost(format!("it was not renewed for {deadline:?}: {reason}"));
            }
            // An attempt that is dropped may still arrive. The Lease is read before it is released.
            let attempt = stop
                .run_until_cancelled(timeout(left, self.attempt()))
                .await;
            let Some(attempt) = attempt else {
                return Kept::UntilStop(until);
            };
            match attempt {
                Ok(Ok(Standing::Held(sent))) => {
                    since = sent;
                    self.gate.open_until(since + deadline);
                    last_error = None;
                }
                Ok(Ok(Standing::HeldByOther(_))) => {
                    return Kept::UntilLost(match self.record.holder() {
                        Some(holder) => format!("`{holder}` has taken it"),
                        None => "it was recreated".to_owned(),
                    });
                }
                // Whoever finds a new Lease takes it at once.
                Ok(Err(Failure::Missing)) => return Kept::UntilLost("it was deleted".to_owned()),
                Ok(Err(Failure::Other(reason))) => {
                    let (lease, error) = (self.lease(), &reason);
                    tracing::warn!(lease, error, "could not renew the Lease");
                    last_error = Some(reason);
                }
                Err(_) => {}
            }
        }
    }

    /// Renews the Lease from now on, and returns whether it was kept until the stop.
    #[cfg(test)]
    pub(super) async fn keeps(&mut self) -> bool {
        matches!(self.keep(BootTime::now()).await, Kept::UntilStop(_))
    }

    /// Releases the Lease while this process holds it, so that another need not wait until it expires.
    async fn release(&mut self, until: BootTime) {
        let limit = self.timing.attempt();
        let attempts = async {
            loop {
                if self.is_stale {
                    self.read().await?;
                }
                if self.record.holder() != Some(&self.identity) {
                    return Ok(false);
                }
                let released = self.record.released(Timestamp::now());
                match self.write(&released).await {
                    Ok(()) => return Ok(true),
                    // For example because somebody has added an annotation.
                    Err(kube::Error::Api(status)) if status.is_conflict() => {}
                    Err(error) => return Err(error),
                }
            }
        };
        match timeout(until.left().min(limit), attempts).await {
            Ok(Ok(true)) => tracing::info!(lease = self.lease(), "the Lease is released"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                let error = chain(&error);
                tracing::warn!(lease = self.lease(), error, "could not release the Lease");
            }
            Err(_) => tracing::warn!(lease = self.lease(), "could not release the Lease in time"),
        }
    }

    /// Acquires or renews the Lease, unless another process may still hold it.
    async fn attempt(&mut self) -> Result<Standing, Failure> {
        let limit = self.timing.attempt();
        let outcome = match timeout(limit, self.try_once()).await {
            // It has changed since it was read.
            Ok(Err(kube::Error::Api(status))) if status.is_conflict() => {
                timeout(limit, self.try_once()).await
            }
            outcome => outcome,
        };
        match outcome {
            Ok(Ok(standing)) => Ok(standing),
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Err(Failure::Missing),
            Ok(Err(error)) => Err(Failure::Other(chain(&error))),
            Err(_) => {
                // The connection may be dead.
                if let Ok(client) = Client::try_from(self.config.clone()) {
                    self.client = client;
                }
                Err(Failure::Other(format!("no answer within {limit:?}")))
            }
        }
    }

    async fn try_once(&mut self) -> kube::Result<Standing> {
        if self.is_stale {
            self.read().await?;
        }
        let sent = BootTime::now();
        if let Some(expires) = self.record.expires(&self.identity) {
            return Ok(Standing::HeldByOther(expires));
        }
        let duration = self.timing.lease_duration;
        let lease = self
            .record
            .taken(&self.identity, Timestamp::now(), duration);
        self.write(&lease).await?;
        Ok(Standing::Held(sent))
    }

    async fn read(&mut self) -> kube::Result<()> {
        let lease = self.api().get(&self.name).await?;
        self.see(lease);
        Ok(())
    }

    /// Replaces the Lease, unless another process has changed it since it was seen.
    async fn write(&mut self, lease: &Lease) -> kube::Result<()> {
        // Until the response arrives: after a timeout, it is unknown what has been written.
        self.is_stale = true;
        let api = self.api();
        let params = PostParams::default();
        let written = api.replace(&self.name, &params, lease).await?;
        self.see(written);
        Ok(())
    }

    fn see(&mut self, lease: Lease) {
        self.is_stale = false;
        self.record.see(lease);
    }

    /// What prevents this process from ever leading. Whether the API server answers at all shows later.
    async fn obstacle(&self) -> Option<String> {
        let api = self.api();
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.name.clone());
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let (params, limit) = (self.watch_params(), self.timing.attempt());
        let (get, update, watch) = tokio::join!(
            refusal(limit, api.get(&self.name)),
            refusal(limit, api.replace(&self.name, &dry_run, &lease)),
            refusal(limit, api.watch(&params, "0")),
        );
        let is_no_namespace = |status: &Status| {
            let details = status.details.as_ref();
            status.is_not_found() && details.is_some_and(|details| details.kind == "namespaces")
        };
        if update.as_ref().is_some_and(is_no_namespace) {
            return Some(format!(
                "the namespace `{}` does not exist: give that of the Lease with \
                 `--leader-election-namespace`",
                self.namespace
            ));
        }
        let answers = [("get", get), ("update", update), ("watch", watch)];
        let denied = answers
            .into_iter()
            .filter(|(_, refusal)| refusal.as_ref().is_some_and(Status::is_forbidden));
        let denied: Vec<_> = denied.map(|(verb, _)| verb).collect();
        (!denied.is_empty()).then(|| {
            format!(
                "the role must allow leases of the API group `coordination.k8s.io`: {}",
                denied.join(", ")
            )
        })
    }

    /// The parameters of a watch of this Lease alone.
    fn watch_params(&self) -> WatchParams {
        WatchParams::default().fields(&format!("metadata.name={}", self.name))
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    /// For the log.
    fn lease(&self) -> String {
        format!("{}/{}", self.namespace, self.name)
    }
}

/// The API server's reason to refuse the request, if it does so within `limit`.
async fn refusal<T>(
    limit: Duration,
    request: impl Future<Output = kube::Result<T>>,
) -> Option<Status> {
    match timeout(limit, request).await {
        Ok(Err(kube::Error::Api(status))) => Some(*status),
        _ => None,
    }
}

/// A random number from 0 to 1.
fn chance() -> f64 {
    let random = u32::try_from(random() >> 32).unwrap_or_default();
    f64::from(random) / f64::from(u32::MAX)
}
