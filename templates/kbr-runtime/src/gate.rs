// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Decides whether a request may start.

use std::sync::{Arc, Mutex};

use crate::clock::BootTime;
use crate::lock::lock;

/// Checked before each request of the controllers' client. Clones share it.
///
/// It is open until this process leads, since webhooks may send requests to the API server, too. From then
/// on it is open as long as the Lease is known to be valid. Once that has passed, it opens only after an
/// orderly stop, when no controller and no task is left that needs the Lease.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Mutex<Option<BootTime>>>);

impl Gate {
    /// Whether a request may start.
    pub(crate) fn is_open(&self) -> bool {
        lock(&self.0).is_none_or(|until| BootTime::now() < until)
    }

    pub(crate) fn open_until(&self, until: BootTime) {
        *lock(&self.0) = Some(until);
    }

    /// Nothing needs the Lease any more.
    pub(crate) fn open(&self) {
        *lock(&self.0) = None;
    }

    pub(crate) fn close(&self) {
        self.open_until(BootTime::default());
    }
}

#[cfg(test)]
mod tests;
