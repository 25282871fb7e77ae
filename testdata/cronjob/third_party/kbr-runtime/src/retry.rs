// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An error that says when its object is retried.

use std::error::Error;
use std::time::Duration;

use crate::Action;
use crate::chain::causes;

/// An error of a reconcile that says when the object is retried: never, or after a stated time.
/// Other errors are retried after the growing delay of [`Manager::add`](crate::Manager::add).
///
/// [`Retry::never`] creates what controller-runtime calls a terminal error.
///
/// It may be the error of the reconcile or one of its sources, so an error type of your own can hold it
/// with `#[from]` or `#[source]`. If there are several, the outermost counts. It displays the text of the
/// error that it was created from.
///
/// ```
/// use std::time::Duration;
///
/// use kbr_runtime::Retry;
///
/// #[derive(Debug, thiserror::Error)]
/// enum Error {
///     #[error("could not write the status")]
///     Status(#[source] kube::Error),
///     #[error(transparent)]
///     Retry(#[from] Retry),
/// }
///
/// fn zone(name: &str) -> Result<&str, Error> {
///     match name {
///         "" => Err(Retry::never("spec.zone names no zone").into()),
///         "full" => Err(Retry::after(Duration::from_secs(600), "the zone is full").into()),
///         name => Ok(name),
///     }
/// }
///
/// assert_eq!(zone("").unwrap_err().to_string(), "spec.zone names no zone");
/// ```
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct Retry(#[source] Stated);

/// The content of a [`Retry`]. It is the source of the `Retry`, so it is found even if an error type returns
/// the `source` of the `Retry` as its own, as `#[error(transparent)]` does.
#[derive(Debug, thiserror::Error)]
#[error("{error}")]
struct Stated {
    #[source]
    error: Box<dyn Error + Send + Sync>,
    action: Action,
}

impl Retry {
    /// Does not retry the object until it changes.
    ///
    /// It is reconciled again after a change of the object or of anything else that its controller
    /// watches for it, such as an object that it owns, when a watch starts again, and when an operator
    /// starts or begins to lead.
    #[doc(alias = "TerminalError")]
    pub fn never(error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::of(error.into(), Action::await_change())
    }

    /// Retries the object after `delay`, however often it has failed before. A change does not wait for the
    /// delay.
    #[doc(alias = "RequeueAfter")]
    pub fn after(delay: Duration, error: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        Self::of(error.into(), Action::requeue(delay))
    }

    fn of(error: Box<dyn Error + Send + Sync>, action: Action) -> Self {
        Self(Stated { error, action })
    }
}

/// What to do after `error`, if it or one of its sources says so.
pub(crate) fn stated<E: Error + 'static>(error: &E) -> Option<Action> {
    let stated = causes(error).find_map(|error| error.downcast_ref::<Stated>());
    stated.map(|stated| stated.action)
}
