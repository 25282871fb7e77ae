// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Decides whether a request may start.

use std::sync::{Arc, Mutex};

use super::boot_time::BootTime;
use crate::cache::lock;

/// Checked before each request of the controllers' client. Clones share it.
///
/// It is open until this process leads, since webhooks may send requests to the API server, too. From then
/// on it is open as long as the Lease is known to be valid, and once closed, it never opens again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Gate(Arc<Mutex<Option<BootTime>>>);

/// This process no longer leads.
#[derive(Debug, thiserror::Error)]
#[error("this process no longer leads")]
pub(crate) struct Closed;

impl Gate {
    /// # Errors
    ///
    /// [`Closed`].
    pub(crate) fn pass(&self) -> Result<(), Closed> {
        match *lock(&self.0) {
            Some(until) if BootTime::now() >= until => Err(Closed),
            _ => Ok(()),
        }
    }

    pub(super) fn open_until(&self, until: BootTime) {
        *lock(&self.0) = Some(until);
    }

    pub(super) fn close(&self) {
        self.open_until(BootTime::default());
    }
}

#[cfg(test)]
mod tests;
