// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Locks, also after a panic while one was held.

use std::sync::{Mutex, MutexGuard, PoisonError};

pub(crate) fn lock<T>(shared: &Mutex<T>) -> MutexGuard<'_, T> {
    shared.lock().unwrap_or_else(PoisonError::into_inner)
}
