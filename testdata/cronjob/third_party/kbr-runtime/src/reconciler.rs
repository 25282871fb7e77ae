// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Everything around one reconcile: its log span, its deadline, the handling of its panics, its backoff,
//! and its metrics.
//!
//! `queue` and kube decide when it runs; see the `controller` module.

use std::error::Error;
use std::fmt::Debug;
use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use kube::runtime::controller::Action;
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::{Instrument, Span};

use crate::api_server::{ApiServer, OUTAGE};
use crate::backoff::{Backoff, Key};
use crate::chain::{causes, chain};
use crate::logging::panic_message;
use crate::pause;
use crate::queue::Queue;
use crate::random::random;
use crate::reading::DecodeError;
use crate::retry;
use crate::watch::{FailingWatches, LONGEST_PAUSE};

/// How long an object waits during an outage of the API server before an attempt checks whether it answers.
/// The end of the outage wakes it earlier.
const OUTAGE_RETRY: Duration = Duration::from_secs(5);

/// What to do after an error; `None` for the backoff of the object.
pub(crate) type Policy<K, E, C> = Arc<dyn Fn(&K, &E, &C) -> Option<Action> + Send + Sync>;

/// One reconcile, of the object with that key.
pub(crate) type Reconcile<K> =
    Box<dyn Fn(Key, Open<K>) -> BoxFuture<'static, Result<Action, Failed>> + Send + Sync>;

/// Reads the object from the cache.
pub(crate) type Open<K> = Box<dyn FnOnce() -> Result<Arc<K>, DecodeError> + Send>;

/// A failed reconcile, which is already logged.
#[derive(Debug, thiserror::Error)]
#[error("failed, next: {action:?}")]
pub(crate) struct Failed {
    /// When the next attempt is.
    pub(crate) action: Action,
}

/// What all reconciles of one controller share.
#[derive(Clone)]
pub(crate) struct Reconciler {
    pub(crate) controller: &'static str,
    pub(crate) backoff: Backoff,
    /// How long one may take.
    pub(crate) timeout: Duration,
    pub(crate) server: ApiServer,
    pub(crate) queue: Queue,
    pub(crate) stop: CancellationToken,
    /// The state of this controller's watches.
    pub(crate) failing: FailingWatches,
}

/// How an attempt failed.
struct Failure {
    reason: String,
    /// Somebody else changed the object in the meantime, which is not an error.
    is_conflict: bool,
    /// What the error policy or the error itself asks for.
    wanted: Option<Action>,
    /// The minimum delay that the API server asks for.
    not_before: Duration,
}

impl Reconciler {
    /// Wraps `reconcile` for kube to call.
    pub(crate) fn wrap<K, C, R, F, E>(
        self,
        reconcile: R,
        policy: Policy<K, E, C>,
        pause: Option<pause::Running<K>>,
        context: Arc<C>,
    ) -> Reconcile<K>
    where
        K: Clone + Debug + DeserializeOwned + Resource + Send + Sync + 'static,
        K::DynamicType: Default + Send,
        C: Send + Sync + 'static,
        R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send,
        E: Error + Send + 'static,
    {
        let (reconcile, pause) = (Arc::new(reconcile), pause.map(Arc::new));
        Box::new(move |key, open| {
            let key = Arc::new(key);
            let span = span(self.controller, &key);
            let (reconcile, policy, this) = (reconcile.clone(), policy.clone(), self.clone());
            let (pause, context) = (pause.clone(), context.clone());
            let attempt = async move {
                this.queue.started(&key);
                let attempt = async {
                    let object = open().map_err(|error| Failure::of(error.to_string()))?;
                    let Some(object) = passed(pause.as_deref(), object).await? else {
                        return Ok(Action::await_change());
                    };
                    // Called here and not outside, because the call itself can panic, too.
                    let outcome = reconcile(object.clone(), context.clone()).await;
                    outcome.map_err(|error| Failure::new(&error, policy(&object, &error, &context)))
                };
                // Boxed, because it is wrapped several times below and would be moved each time: it may be
                // large.
                let outcome = this.run(&key, attempt.boxed()).await;
                this.queue.finished(&key);
                outcome
            };
            attempt.instrument(span).boxed()
        })
    }

    /// Makes an attempt, unless it is not yet time for one.
    async fn run(
        &self,
        key: &Key,
        attempt: BoxFuture<'_, Result<Action, Failure>>,
    ) -> Result<Action, Failed> {
        // It would fail, and so would all later ones.
        tokio::select! {
            biased;
            () = self.server.answering(OUTAGE_RETRY) => {}
            () = self.stop.cancelled() => return Ok(Action::await_change()),
        }
        if let Some(remaining) = self.backoff.remaining(key) {
            return Ok(Action::requeue(remaining));
        }
        let start = Instant::now();
        let attempt = AssertUnwindSafe(attempt).catch_unwind();
        let outcome = tokio::time::timeout(self.timeout, attempt).await;
        let (took, counts) = (start.elapsed(), self.queue.counts());
        counts.took(took);
        let failure = match outcome {
            Ok(Ok(Ok(action))) => {
                counts.succeeded(&action);
                self.backoff.forget(key);
                return Ok(action);
            }
            Ok(Ok(Err(failure))) => failure,
            Ok(Err(payload)) => {
                counts.panicked();
                Failure::of(format!("panic: {}", panic_message(&*payload)))
            }
            Err(_) => {
                counts.timed_out();
                Failure::of(format!("timeout: did not finish within {:?}", self.timeout))
            }
        };
        // One connection may have broken, or all of them: then only the outage is reported.
        self.server.answering(OUTAGE).await;
        let action = self.after(key, failure, took);
        counts.failed(&action);
        Err(Failed { action })
    }

    /// Logs the failure and says when the next attempt is.
    fn after(&self, key: &Key, failure: Failure, took: Duration) -> Action {
        let Failure {
            reason: error,
            is_conflict,
            wanted,
            not_before,
        } = failure;
        if !self.server.answers() {
            // The outage has its own log line, and says nothing about this object.
            tracing::debug!(error, "reconcile failed: the API server does not answer");
            return Action::requeue(Duration::from_secs(1));
        }
        if let Some(action) = wanted {
            self.backoff.forget(key);
            if action == Action::await_change() {
                self.queue.counts().failed_for_good();
                tracing::error!(
                    error,
                    "reconcile failed: not retried until the object changes"
                );
            } else {
                tracing::error!(error, ?action, "reconcile failed");
            }
            return action;
        }
        let mut retry_in = self.backoff.failed(key, took);
        if self.failing.is_any() {
            // For example while the CRD is missing: nothing else shows when it is back.
            retry_in = retry_in.min(LONGEST_PAUSE.max(took));
        }
        let retry_in = retry_in.max(not_before);
        if is_conflict {
            tracing::info!(error, ?retry_in, "the object was changed meanwhile");
        } else {
            tracing::error!(error, ?retry_in, "reconcile failed");
        }
        Action::requeue(retry_in)
    }
}

impl Failure {
    fn of(reason: String) -> Self {
        Self {
            reason,
            is_conflict: false,
            wanted: None,
            not_before: Duration::ZERO,
        }
    }

    fn new<E: Error + 'static>(error: &E, wanted: Option<Action>) -> Self {
        let status = api_status(error);
        let is_conflict = status.is_some_and(|status| status.is_conflict());
        // Retry-After, which is part of 429 and some 503 responses.
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

/// The API server's response, if it is the error or one of its causes.
fn api_status<E: Error + 'static>(error: &E) -> Option<&kube::core::Status> {
    let status = causes(error).find_map(|error| match error.downcast_ref() {
        Some(kube::Error::Api(status)) => Some(status),
        // From an error of kube inside a transparent error.
        _ => error.downcast_ref::<Box<kube::core::Status>>(),
    });
    status.map(|status| &**status)
}

/// The object to reconcile, unless it is paused.
async fn passed<K>(
    pause: Option<&pause::Running<K>>,
    object: Arc<K>,
) -> Result<Option<Arc<K>>, Failure>
where
    K: Clone + Debug + DeserializeOwned + Resource,
    K::DynamicType: Default,
{
    match pause {
        Some(pause) => pause
            .pass(object)
            .await
            .map_err(|error| Failure::new(&error, None)),
        None => Ok(Some(object)),
    }
}

/// The span of one reconcile, which replaces kube's own. It has the level error, because the filter would
/// otherwise remove the object's name from error messages at `--log-level=error`.
fn span(controller: &'static str, object: &Key) -> Span {
    let reconcile_id = format!("{:016x}", random());
    tracing::error_span!(parent: None, "reconcile", controller, %object, reconcile_id)
}
