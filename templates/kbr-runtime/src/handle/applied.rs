// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a write has done to an owned object.

use std::ops::Deref;
use std::sync::Arc;

use crate::cache::Entry;

/// What [`Handle::apply`](crate::Handle::apply) has done. It dereferences to the resulting object.
#[derive(Clone, Debug)]
pub struct Applied<T> {
    /// The resulting object.
    pub object: Arc<T>,
    /// What was done to it.
    pub outcome: Outcome,
}

/// What a write has done to an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
#[doc(alias = "OperationResult")]
pub enum Outcome {
    /// It did not exist.
    Created,
    /// It existed, and differs from what it was, perhaps only in a default that the API server has added.
    Changed,
    /// It is as it was.
    Unchanged,
}

impl Outcome {
    pub(super) fn of(known: Option<&Entry>, written: &Entry) -> Self {
        match known {
            None => Self::Created,
            Some(known) if known.version == written.version => Self::Unchanged,
            // The API server gives some objects another version although nothing has changed.
            Some(known)
                if written.fingerprint().is_some()
                    && known.fingerprint() == written.fingerprint() =>
            {
                Self::Unchanged
            }
            Some(_) => Self::Changed,
        }
    }
}

impl<T> Deref for Applied<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.object
    }
}

/// An object that is as it was, such as for [`Handle::prune`](crate::Handle::prune).
impl<T> From<Arc<T>> for Applied<T> {
    fn from(object: Arc<T>) -> Self {
        let outcome = Outcome::Unchanged;
        Self { object, outcome }
    }
}
