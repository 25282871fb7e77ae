// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What surrounds one reconcile: its log span, the net that catches its panic, its back-off.
//!
//! When and how often reconciles run is decided by kube; see the `controller` module.

use std::collections::hash_map::RandomState;
use std::error::Error;
use std::hash::{BuildHasher, Hasher};
use std::panic::AssertUnwindSafe;
use std::sync::Arc;

use futures::FutureExt;
use futures::future::BoxFuture;
use kube::Resource;
use kube::runtime::controller::Action;
use tracing::{Instrument, Span};

use crate::backoff::{Backoff, Key};
use crate::chain::chain;
use crate::logging::panic_message;

/// What is to be done after an error; `None` for the back-off of the object.
pub(crate) type Policy<K, E, C> = Arc<dyn Fn(&K, &E, &C) -> Option<Action> + Send + Sync>;

/// A reconcile failed, which is already logged.
#[derive(Debug, thiserror::Error)]
#[error("failed, next: {action:?}")]
pub(crate) struct Failed {
    /// When the next attempt is.
    pub(crate) action: Action,
}

/// Wraps `reconcile`, which belongs to the controller of that name, for kube to call.
pub(crate) fn wrap<K, C, R, F, E>(
    controller: &'static str,
    backoff: Backoff,
    reconcile: R,
    policy: Policy<K, E, C>,
) -> impl Fn(Arc<K>, Arc<C>) -> BoxFuture<'static, Result<Action, Failed>>
where
    K: Resource + Send + Sync + 'static,
    C: Send + Sync + 'static,
    R: Fn(Arc<K>, Arc<C>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, E>> + Send,
    E: Error + Send + 'static,
{
    let reconcile = Arc::new(reconcile);
    move |object, context| {
        let key = Key::of(&*object);
        let span = span(controller, &key);
        let (reconcile, backoff, policy) = (reconcile.clone(), backoff.clone(), policy.clone());
        let attempt = async move {
            // Called here and not outside: the call itself can panic, too.
            let attempt = async { reconcile(object.clone(), context.clone()).await };
            let (reason, wanted) = match AssertUnwindSafe(attempt).catch_unwind().await {
                Ok(Ok(action)) => {
                    backoff.forget(&key);
                    return Ok(action);
                }
                Ok(Err(error)) => (chain(&error), policy(&object, &error, &context)),
                Err(payload) => (format!("panic: {}", panic_message(&*payload)), None),
            };
            let Some(action) = wanted else {
                let retry_in = backoff.failed(&key);
                tracing::error!(error = reason, ?retry_in, "reconcile failed");
                let action = Action::requeue(retry_in);
                return Err(Failed { action });
            };
            backoff.forget(&key);
            tracing::error!(error = reason, ?action, "reconcile failed");
            Err(Failed { action })
        };
        attempt.instrument(span).boxed()
    }
}

/// The span of one reconcile. It is of level error, as the filter would otherwise take the
/// object's name from error messages at `--log-level=error`, and stands in place of kube's own.
fn span(controller: &'static str, object: &Key) -> Span {
    // A hasher's random keys are unique enough to find the lines of one reconcile.
    let id = RandomState::new().build_hasher().finish();
    let reconcile_id = format!("{id:016x}");
    tracing::error_span!(parent: None, "reconcile", controller, %object, reconcile_id)
}

#[cfg(test)]
mod tests;
