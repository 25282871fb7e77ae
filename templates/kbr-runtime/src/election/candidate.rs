// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A process that wants to lead: how it acquires the Lease, renews it and releases it.
//!
//! The protocol and its timings are client-go's. The Lease is only written with the version that was
//! read, so if two processes take it, one is refused. The time for which this process holds it counts from
//! before the request to acquire or renew it was sent.

use std::time::Duration;

use futures::TryFutureExt;
use futures::stream::{BoxStream, StreamExt};
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::jiff::Timestamp;
use kube::api::{PostParams, WatchEvent, WatchParams};
use kube::core::Status;
use kube::{Api, Client, Config};
use prometheus_client::metrics::gauge::Gauge;
use tokio::sync::watch;
use tokio::time::{Instant, sleep, sleep_until, timeout};
use tokio_util::sync::CancellationToken;

use super::record::Record;
use super::{JITTER, Settings, State};
use crate::chain::chain;
use crate::clock::BootTime;
use crate::gate::Gate;
use crate::random::chance;

/// How long a watch of the Lease lasts.
const WATCH_SECONDS: u32 = 180;

/// How long the release may take, whatever the flags allow a renewal: a pod has 30 seconds in all to end.
const RELEASE: Duration = Duration::from_secs(5);

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
    pub(super) settings: Settings,
    pub(super) identity: String,
    /// Whether it takes the Lease over and does not release it, for `kbr dev`.
    pub(super) is_developed: bool,
    /// Until when the holder from whom it was taken over may believe that it holds it.
    pub(super) not_before: BootTime,
    pub(super) gate: Gate,
    pub(super) leads: Gauge,
    pub(super) state: watch::Sender<State>,
    pub(super) stop: CancellationToken,
    /// The Lease as it was last seen.
    pub(super) record: Record,
    /// Whether it must be read before it is written: another may have changed it.
    pub(super) is_stale: bool,
}

/// How an attempt failed.
#[derive(Debug, thiserror::Error)]
enum Failure {
    #[error("it does not exist")]
    Missing,
    #[error("{0}")]
    Other(String),
}

impl Candidate {
    /// Takes part until the stop.
    ///
    /// # Errors
    ///
    /// [`State::Refused`], or [`State::Lost`] before the stop.
    pub(super) async fn run(mut self) -> Result<(), State> {
        let stop = self.stop.clone();
        let Some(obstacle) = stop.run_until_cancelled(self.obstacle()).await else {
            return Ok(());
        };
        if let Some(reason) = obstacle {
            return Err(State::Refused(reason));
        }
        let Some(since) = stop.run_until_cancelled(self.acquire()).await else {
            // An attempt in progress may have acquired it.
            self.release(BootTime::now() + self.settings.attempt())
                .await;
            return Ok(());
        };
        self.gate.open_until(since + self.settings.renew_deadline);
        let (lease, identity) = (self.settings.lease(), &self.identity);
        tracing::info!(lease, identity, "leading");
        self.leads.set(1);
        self.state.send_replace(State::Leading);
        let kept = self.keep(since).await;
        self.leads.set(0);
        let until = kept.map_err(|reason| {
            self.gate.close();
            State::Lost(reason)
        })?;
        // No controller and no task that needs the Lease runs any more, but webhooks still answer.
        self.gate.open();
        if !self.is_developed {
            self.release(until).await;
        }
        Ok(())
    }

    /// Waits until this process holds the Lease. Returns since when.
    pub(super) async fn acquire(&mut self) -> BootTime {
        let mut events: Option<Events> = None;
        let (mut logged, mut is_created) = (String::new(), false);
        loop {
            let (expires, why) = match self.attempt().await {
                Ok(Standing::Held(sent)) => {
                    let left = self.not_before.left();
                    if left.is_zero() {
                        return sent;
                    }
                    sleep(left.min(self.settings.retry_period)).await;
                    continue;
                }
                Ok(Standing::HeldByOther(expires)) => {
                    // Once: two that do it would take it from each other forever.
                    let is_first = self.not_before == BootTime::default();
                    if self.is_developed && is_first && self.take_over(expires).await {
                        continue;
                    }
                    let holder = self.record.holder().unwrap_or("a previous holder");
                    (Some(expires), format!("`{holder}` has the Lease"))
                }
                Err(Failure::Missing) => match self.create().await {
                    Ok(()) => {
                        // Something deletes it.
                        if std::mem::replace(&mut is_created, true) {
                            sleep(self.settings.retry_period).await;
                        }
                        continue;
                    }
                    Err(why) => (
                        None,
                        format!("it does not exist, and could not be created: {why}"),
                    ),
                },
                Err(failure) => (None, failure.to_string()),
            };
            if logged != why {
                tracing::info!(lease = self.settings.lease(), why, "waiting to lead");
                logged = why;
            }
            self.wait(&mut events, expires).await;
        }
    }

    /// Takes the Lease from its holder, who holds it until `expires` and notices at its next renewal. Returns whether it
    /// was taken.
    async fn take_over(&mut self, expires: BootTime) -> bool {
        let holder = self.record.holder().unwrap_or_default().to_owned();
        let (now, duration) = (Timestamp::now(), self.settings.lease_duration);
        let lease = self.record.taken(&self.identity, now, duration);
        let taken = timeout(self.settings.attempt(), self.write(&lease)).await;
        if !matches!(taken, Ok(Ok(()))) {
            return false;
        }
        self.not_before = expires;
        let (lease, wait) = (self.settings.lease(), expires.left());
        tracing::info!(lease, holder, ?wait, "the Lease is taken over");
        true
    }

    /// Waits until the Lease may be free, or must be tried again.
    async fn wait(&mut self, events: &mut Option<Events>, mut expires: Option<BootTime>) {
        // So that the candidates do not all try at the same time.
        let retry = self.settings.retry_period.mul_f64(1.0 + JITTER * chance());
        let retry = Instant::now() + retry;
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
        events.try_flatten_stream().boxed()
    }

    /// Renews the Lease until the stop, and returns until when this process holds it then.
    ///
    /// # Errors
    ///
    /// How it was lost before.
    pub(super) async fn keep(&mut self, mut since: BootTime) -> Result<BootTime, String> {
        let deadline = self.settings.renew_deadline;
        let stop = self.stop.clone();
        let mut last_error = None;
        loop {
            let until = since + deadline;
            let pause = sleep(self.settings.retry_period.min(until.left()));
            if stop.run_until_cancelled(pause).await.is_none() {
                return Ok(until);
            }
            let left = until.left();
            if left.is_zero() {
                let reason = last_error.unwrap_or_else(|| "the process was suspended".to_owned());
                return Err(format!("it was not renewed for {deadline:?}: {reason}"));
            }
            // An attempt that is dropped may still arrive. The Lease is read before it is released.
            let attempt = timeout(left, self.attempt());
            let Some(attempt) = stop.run_until_cancelled(attempt).await else {
                return Ok(until);
            };
            match attempt {
                Ok(Ok(Standing::Held(sent))) => {
                    since = sent;
                    self.gate.open_until(since + deadline);
                    last_error = None;
                }
                Ok(Ok(Standing::HeldByOther(_))) => {
                    return Err(match self.record.holder() {
                        Some(holder) => format!("`{holder}` has taken it"),
                        None => "it was recreated".to_owned(),
                    });
                }
                // Whoever finds a new Lease takes it at once.
                Ok(Err(Failure::Missing)) => return Err("it was deleted".to_owned()),
                Ok(Err(Failure::Other(reason))) => {
                    let (lease, error) = (self.settings.lease(), &reason);
                    tracing::warn!(lease, error, "could not renew the Lease");
                    last_error = Some(reason);
                }
                Err(_) => {}
            }
        }
    }

    /// Releases the Lease while this process holds it, so that another need not wait until it expires.
    pub(super) async fn release(&mut self, until: BootTime) {
        let limit = until.left().min(self.settings.attempt()).min(RELEASE);
        let attempts = async {
            let first = timeout(limit / 3, self.try_release()).await;
            if let Ok(answer @ (Ok(_) | Err(kube::Error::Api(_)))) = first {
                return answer;
            }
            // The connection may be dead.
            self.reconnect();
            self.try_release().await
        };
        let outcome = timeout(limit, attempts).await;
        let lease = self.settings.lease();
        match outcome {
            Ok(Ok(true)) => tracing::info!(lease, "the Lease is released"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => {
                let error = chain(&error);
                tracing::warn!(lease, error, "could not release the Lease");
            }
            Err(_) => tracing::warn!(lease, "could not release the Lease in time"),
        }
    }

    /// Returns whether this process still held the Lease.
    async fn try_release(&mut self) -> kube::Result<bool> {
        loop {
            self.refresh().await?;
            if self.record.holder() != Some(&self.identity) {
                return Ok(false);
            }
            let released = self.record.released(Timestamp::now());
            match self.write(&released).await {
                // For example because somebody has added an annotation.
                Err(kube::Error::Api(status)) if status.is_conflict() => {}
                written => return written.map(|()| true),
            }
        }
    }

    fn reconnect(&mut self) {
        if let Ok(client) = Client::try_from(self.config.clone()) {
            self.client = client;
        }
    }

    /// Acquires or renews the Lease, unless another process may still hold it.
    async fn attempt(&mut self) -> Result<Standing, Failure> {
        let limit = self.settings.attempt();
        let mut outcome = timeout(limit, self.try_once()).await;
        // It has changed since it was read.
        if matches!(&outcome, Ok(Err(kube::Error::Api(status))) if status.is_conflict()) {
            outcome = timeout(limit, self.try_once()).await;
        }
        match outcome {
            Ok(Ok(standing)) => Ok(standing),
            Ok(Err(kube::Error::Api(status))) if status.is_not_found() => Err(Failure::Missing),
            Ok(Err(error)) => Err(Failure::Other(chain(&error))),
            Err(_) => {
                // The connection may be dead.
                self.reconnect();
                Err(Failure::Other(format!("no answer within {limit:?}")))
            }
        }
    }

    async fn try_once(&mut self) -> kube::Result<Standing> {
        self.refresh().await?;
        let sent = BootTime::now();
        if let Some(expires) = self.record.expires(&self.identity) {
            return Ok(Standing::HeldByOther(expires));
        }
        let (now, duration) = (Timestamp::now(), self.settings.lease_duration);
        let lease = self.record.taken(&self.identity, now, duration);
        self.write(&lease).await?;
        Ok(Standing::Held(sent))
    }

    /// Creates the Lease, which nobody holds then.
    async fn create(&self) -> Result<(), String> {
        let limit = self.settings.attempt();
        let (api, params, lease) = (self.api(), PostParams::default(), self.empty());
        match timeout(limit, api.create(&params, &lease)).await {
            Ok(Ok(_)) => {
                tracing::info!(lease = self.settings.lease(), "the Lease is created");
                Ok(())
            }
            // By another candidate.
            Ok(Err(kube::Error::Api(status))) if status.is_already_exists() => Ok(()),
            Ok(Err(error)) => Err(chain(&error)),
            Err(_) => Err(format!("no answer within {limit:?}")),
        }
    }

    /// A Lease that nobody holds.
    fn empty(&self) -> Lease {
        let mut lease = Lease::default();
        lease.metadata.name = Some(self.settings.name.clone());
        lease
    }

    /// Reads the Lease, if that is needed.
    async fn refresh(&mut self) -> kube::Result<()> {
        if self.is_stale {
            let lease = self.api().get(&self.settings.name).await?;
            self.see(lease);
        }
        Ok(())
    }

    /// Replaces the Lease, unless another process has changed it since it was seen.
    async fn write(&mut self, lease: &Lease) -> kube::Result<()> {
        // Until the response arrives: after a timeout, it is unknown what has been written.
        self.is_stale = true;
        let api = self.api();
        let params = PostParams::default();
        let written = api.replace(&self.settings.name, &params, lease).await?;
        self.see(written);
        Ok(())
    }

    fn see(&mut self, lease: Lease) {
        self.is_stale = false;
        self.record.see(lease);
    }

    /// What prevents this process from ever leading. Whether the API server answers at all shows later.
    pub(super) async fn obstacle(&self) -> Option<String> {
        let (api, lease) = (self.api(), self.empty());
        let dry_run = PostParams {
            dry_run: true,
            ..PostParams::default()
        };
        let (params, limit) = (self.watch_params(), self.settings.attempt());
        let (get, create, mut update, watch) = tokio::join!(
            refusal(limit, api.get(&self.settings.name)),
            refusal(limit, api.create(&dry_run, &lease)),
            refusal(limit, api.replace(&self.settings.name, &dry_run, &lease)),
            refusal(limit, api.watch(&params, "0")),
        );
        let is_missing = get.as_ref().is_some_and(Status::is_not_found);
        // An update of a Lease that does not exist creates it, so it needs both permissions.
        if is_missing && create.as_ref().is_some_and(is_not_permitted) {
            update = None;
        }
        let create = create.filter(|_| is_missing);
        let is_no_namespace = |status: &Status| {
            let details = status.details.as_ref();
            status.is_not_found() && details.is_some_and(|details| details.kind == "namespaces")
        };
        if create.as_ref().is_some_and(is_no_namespace) {
            return Some(format!(
                "the namespace `{}` does not exist: give that of the Lease with \
                 `--leader-election-namespace`",
                self.settings.namespace
            ));
        }
        let answers = [
            ("get", get),
            ("create", create),
            ("update", update),
            ("watch", watch),
        ];
        let answers = answers.into_iter();
        let denied = answers.filter(|(_, refusal)| refusal.as_ref().is_some_and(is_not_permitted));
        let denied: Vec<_> = denied.map(|(verb, _)| verb).collect();
        (!denied.is_empty()).then(|| {
            let denied = denied.join(", ");
            format!("the role must allow leases of the API group `coordination.k8s.io`: {denied}")
        })
    }

    /// The parameters of a watch of this Lease alone.
    fn watch_params(&self) -> WatchParams {
        WatchParams::default().fields(&format!("metadata.name={}", self.settings.name))
    }

    fn api(&self) -> Api<Lease> {
        Api::namespaced(self.client.clone(), &self.settings.namespace)
    }
}

/// Whether the role forbids the request. Admission policies forbid things, too, and so does a namespace that is being
/// deleted: that may pass.
fn is_not_permitted(refusal: &Status) -> bool {
    let message = &refusal.message;
    refusal.is_forbidden()
        && message.contains(" cannot ")
        && message.contains(" resource \"leases\"")
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
