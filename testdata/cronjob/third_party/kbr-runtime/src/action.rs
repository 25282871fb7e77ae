// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What happens after a reconcile.

use std::time::Duration;

/// When an object is reconciled again after a successful reconcile.
///
/// It is reconciled after each change in any case. This is [`kube::runtime::controller::Action`], which does
/// not tell its delay to a queue other than kube's own.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[doc(alias = "Result")]
pub struct Action(Option<Duration>);

impl Action {
    /// Reconciles the object again after `delay`, unless a change triggers that earlier.
    #[doc(alias = "RequeueAfter")]
    #[must_use]
    pub const fn requeue(delay: Duration) -> Self {
        Self(Some(delay))
    }

    /// Reconciles the object again when it, or anything else that its controller watches for it, changes.
    #[must_use]
    pub const fn await_change() -> Self {
        Self(None)
    }

    /// The delay of [`Action::requeue`].
    #[must_use]
    pub const fn requeue_after(self) -> Option<Duration> {
        self.0
    }
}
