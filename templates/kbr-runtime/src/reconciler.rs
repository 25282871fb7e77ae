// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Everything around one reconcile: its log span, its deadline, the handling of its panics, its backoff,
//! and its metrics.
//!
//! `queue` decides when it runs, and `workers` where.

use std::error::Error;
use std::future::ready;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument;

use crate::Action;
use crate::api_server::{ApiServer, OUTAGE};
use crate::backoff::Backoff;
use crate::cache::{Cached, Entry};
use crate::chain::{causes, chain};
use crate::handle::{Context, Handle};
use crate::hold;
use crate::key::Key;
use crate::logging::panic_message;
use crate::pause::Pause;
use crate::queue::Queue;
use crate::random::{later, random};
use crate::restless::{MANY, Restless};
use crate::retry;
use crate::watch::{FailingWatches, LONGEST_PAUSE};
use crate::workers::Work;

/// How long an object waits during an outage of the API server before an attempt checks whether it answers.
/// The end of the outage wakes it earlier.
const OUTAGE_RETRY: Duration = Duration::from_secs(5);

/// How long the watch may take to show a deletion of which the API server has told already.
const DELETION_SHOWS: Duration = Duration::from_secs(2);

/// What to do after an error; `None` for the backoff of the object.
pub(crate) type Policy<K, E> = Arc<dyn Fn(&K, &E) -> Option<Action> + Send + Sync>;

/// What all reconciles of one controller share.
pub(crate) struct Reconciler {
    pub(crate) controller: &'static str,
    pub(crate) backoff: Backoff,
    /// How long one may take.
    pub(crate) timeout: Duration,
    pub(crate) server: ApiServer,
    pub(crate) queue: Queue,
    pub(crate) stop: CancellationToken,
    /// The state of this controller's watches.
    pub(crate) failing: Arc<[FailingWatches]>,
    pub(crate) restless: Restless,
}

/// How an attempt failed.
#[derive(Default)]
struct Failure {
    reason: String,
    /// Somebody else changed the object in the meantime, which is not an error.
    is_conflict: bool,
    /// The object was deleted in the meantime, which is not an error either.
    is_gone: bool,
    /// What the error policy or the error itself asks for.
    wanted: Option<Action>,
    /// The minimum delay that the API server asks for.
    not_before: Duration,
}

impl Reconciler {
    /// Wraps `reconcile` for the workers to call.
    pub(crate) fn wrap<K, R, F, E>(
        self,
        context: Arc<Context<K>>,
        reconcile: R,
        policy: Policy<K, E>,
        pause: Option<Arc<Pause<K>>>,
    ) -> Work
    where
        K: Cached,
        R: Fn(Handle<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send,
        E: Error + Send + 'static,
    {
        let (reconcile, may_hold) = (Arc::new(reconcile), hold::is_on());
        let this = Arc::new(self);
        Arc::new(move |key| {
            let entry = context.cache.entry(&key);
            #[cfg(feature = "plan")]
            if let (Some(plan), Some(false)) = (
                this.server.plan(),
                entry.as_ref().map(|entry| entry.is_readable),
            ) {
                plan.failed("it does not fit its Rust type", false);
            }
            let is_held = |entry: &Entry| {
                may_hold
                    && entry
                        .open()
                        .is_some_and(|object: Arc<K>| hold::is_held(&*object))
            };
            if !entry.is_some_and(|entry| entry.is_readable && !is_held(&entry)) {
                // Deleted before it was reconciled, reported already, or paused by who develops this.
                this.backoff.forget(&key);
                return Box::pin(ready(None));
            }
            let (controller, object) = (this.controller, &key);
            let reconcile_id = format!("{:016x}", random());
            // At the level error, because the filter would otherwise remove the object's name from error messages at
            // `--log-level=error`.
            let span =
                tracing::error_span!(parent: None, "reconcile", controller, %object, reconcile_id);
            let (reconcile, policy, this) = (reconcile.clone(), policy.clone(), this.clone());
            let (pause, context) = (pause.clone(), context.clone());
            let attempt = async move {
                let attempt = async {
                    let object = context.cache.entry(&key).and_then(|entry| entry.open());
                    let Some(object) = object else {
                        return Ok(Action::await_change());
                    };
                    let object = match &pause {
                        Some(pause) => pause.pass(&context, object).await,
                        None => Ok(Some(object)),
                    };
                    let object = object.map_err(|error| Failure::new(&error, None))?;
                    let Some(object) = object else {
                        return Ok(Action::await_change());
                    };
                    // Called here and not outside, because the call itself can panic, too.
                    let outcome = reconcile(Handle::new(object.clone(), context.clone())).await;
                    let Err(error) = outcome else {
                        return outcome.map_err(|_| Failure::default());
                    };
                    // The API server says the same of a subresource that it does not serve: the watch knows.
                    let patience =
                        match is_not_found(&error, &key, &K::plural(context.cache.kind())) {
                            true => DELETION_SHOWS,
                            false => Duration::ZERO,
                        };
                    let failure = Failure::new(&error, policy(&object, &error));
                    drop(error);
                    let uid = object.meta().uid.as_deref().unwrap_or_default();
                    let is_gone =
                        |entry: Option<&Entry>| entry.is_none_or(|entry| *entry.uid != *uid);
                    let left = context.cache.shows(&key, patience, is_gone).await;
                    let is_gone = is_gone(left.as_deref());
                    Err(Failure { is_gone, ..failure })
                };
                // Boxed, because it is wrapped several times below and would be moved each time: it may be
                // large.
                this.run(&key, attempt.boxed()).await.requeue_after()
            };
            attempt.instrument(span).boxed()
        })
    }

    /// Makes an attempt, unless it is not yet time for one.
    async fn run(&self, key: &Arc<Key>, attempt: BoxFuture<'_, Result<Action, Failure>>) -> Action {
        // It would fail, and so would all later ones.
        tokio::select! {
            biased;
            () = self.server.answering(OUTAGE_RETRY) => {}
            () = self.stop.cancelled() => return Action::await_change(),
        }
        if let Some(remaining) = self.backoff.remaining(key) {
            tracing::debug!(
                ?remaining,
                "not reconciled yet: the last attempts failed and took long"
            );
            return Action::requeue(remaining);
        }
        if self.restless.counts(key) {
            self.queue.counts().restless.inc();
            tracing::warn!(
                "reconciled {MANY} times within a minute: something changes it each time, perhaps its own reconcile"
            );
        }
        let start = Instant::now();
        // An attempt that takes too long is dropped in here: that may panic, too.
        let attempt = async { tokio::time::timeout(self.timeout, attempt).await };
        let outcome = AssertUnwindSafe(attempt).catch_unwind().await;
        let (took, counts) = (start.elapsed(), self.queue.counts());
        counts.seconds.observe(took.as_secs_f64());
        let failure = match outcome {
            Ok(Ok(Ok(action))) => {
                counts.succeeded(&action);
                self.backoff.forget(key);
                tracing::debug!(
                    ?took,
                    ?action,
                    trigger = self.queue.trigger(key),
                    "reconciled"
                );
                return action;
            }
            Ok(Ok(Err(failure))) => failure,
            Ok(Err(_)) => {
                counts.timeouts.inc();
                Failure::of(format!("timeout: did not finish within {:?}", self.timeout))
            }
            Err(payload) => {
                counts.panics.inc();
                Failure::of(format!("panic: {}", panic_message(&*payload)))
            }
        };
        #[cfg(feature = "plan")]
        if let Some(plan) = self.server.plan() {
            plan.failed(&failure.reason, failure.is_conflict);
            return Action::await_change();
        }
        // One connection may have broken, or all of them: then only the outage is reported.
        self.server.answering(OUTAGE).await;
        let is_gone = failure.is_gone;
        let action = self.after(key, failure, took);
        if !is_gone {
            counts.failed(&action);
        }
        action
    }

    /// Logs the failure and says when the next attempt is.
    fn after(&self, key: &Key, failure: Failure, took: Duration) -> Action {
        let (error, trigger) = (failure.reason, self.queue.trigger(key));
        if !self.server.answers() {
            // The outage has its own log line, and says nothing about this object.
            tracing::debug!(error, "reconcile failed: the API server does not answer");
            return Action::requeue(Duration::from_secs(1));
        }
        if let Some(action) = failure.wanted.filter(|_| !failure.is_gone) {
            self.backoff.forget(key);
            if action == Action::await_change() {
                self.queue.counts().terminal_errors.inc();
                tracing::error!(
                    error,
                    trigger,
                    "reconcile failed: not retried until the object changes"
                );
            } else {
                tracing::error!(error, ?action, trigger, "reconcile failed");
            }
            return action;
        }
        let mut retry_in = self.backoff.failed(key, took);
        if FailingWatches::is_any(&self.failing) {
            // For example while the CRD is missing: nothing else shows when it is back.
            retry_in = retry_in.min(LONGEST_PAUSE.max(took));
        }
        let retry_in = retry_in.max(later(failure.not_before));
        if failure.is_gone {
            tracing::debug!(error, trigger, "the object was deleted meanwhile");
        } else if failure.is_conflict {
            tracing::info!(
                error,
                ?retry_in,
                trigger,
                "the object was changed meanwhile"
            );
        } else {
            tracing::error!(error, ?retry_in, trigger, "reconcile failed");
        }
        Action::requeue(retry_in)
    }
}

impl Failure {
    fn of(reason: String) -> Self {
        Self {
            reason,
            ..Self::default()
        }
    }

    fn new<E: Error + 'static>(error: &E, wanted: Option<Action>) -> Self {
        let status = api_status(error);
        let is_conflict = status.is_some_and(|status| status.is_conflict());
        // Of a `Retry-After`, which 429 and some 503 responses have.
        let seconds = status
            .and_then(|status| status.details.as_ref())
            .map_or(0, |details| details.retry_after_seconds);
        Self {
            is_conflict,
            wanted: wanted.or_else(|| retry::stated(error)),
            not_before: Duration::from_secs(seconds.into()),
            ..Self::of(chain(error))
        }
    }
}

/// Whether the API server said that the object, or a subresource of it, does not exist.
fn is_not_found<E: Error + 'static>(error: &E, object: &Key, plural: &str) -> bool {
    api_status(error).is_some_and(|status| {
        let named = status.details.as_ref();
        status.is_not_found()
            && named.is_some_and(|named| named.name == object.name() && named.kind == plural)
    })
}

/// The API server's response, if it is the error or one of its causes.
fn api_status<E: Error + 'static>(error: &E) -> Option<&kube::core::Status> {
    let status = causes(error).find_map(|error| match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status),
        // From an error of kube inside a transparent error.
        _ => error.downcast_ref::<Box<kube::core::Status>>(),
    });
    status.map(|status| &**status)
}

#[cfg(test)]
mod tests;
