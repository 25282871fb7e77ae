// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How many objects the operator has created, from the audit log of the API server: it also shows those that the
//! operator does not know of, and those that it has deleted again.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use super::kinds::is_compared;
use crate::audit::{AuditLog, AuditedRequest};

/// How many objects of each resource were created.
pub(super) type Counts = BTreeMap<String, usize>;

/// The counts of all runs, by their namespaces.
pub(super) struct Created(Mutex<(AuditLog, BTreeMap<String, Counts>)>);

impl Created {
    /// In the environment with this folder.
    pub(super) fn of(folder: &Path) -> Self {
        Self(Mutex::new((AuditLog::of(folder), BTreeMap::new())))
    }

    /// What has been created until now, in a namespace or, without one, everywhere.
    ///
    /// # Errors
    ///
    /// When the log cannot be read.
    pub(super) fn within(&self, namespace: Option<&str>) -> io::Result<Counts> {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (log, all) = &mut *state;
        for request in log.read_on()?.into_iter().filter(has_created) {
            let counts = all.entry(request.namespace.unwrap_or_default());
            let resource = match request.group.as_str() {
                "" => request.resource,
                group => format!("{}.{group}", request.resource),
            };
            *counts.or_default().entry(resource).or_default() += 1;
        }
        let Some(namespace) = namespace else {
            let mut sums = Counts::new();
            for (resource, count) in all.values().flatten() {
                *sums.entry(resource.clone()).or_default() += count;
            }
            return Ok(sums);
        };
        Ok(all.get(namespace).cloned().unwrap_or_default())
    }
}

fn has_created(request: &AuditedRequest) -> bool {
    // A server-side apply creates what does not exist.
    request.code == 201
        && is_compared(&request.group, &request.resource)
        && ["create", "patch"].contains(&request.verb.as_str())
}

/// What was created after `before`.
pub(super) fn since(before: &Counts, mut now: Counts) -> Counts {
    for (resource, count) in &mut now {
        *count -= before.get(resource).copied().unwrap_or_default();
    }
    now
}

/// What has been created more often than in the undisturbed run; empty if nothing has.
pub(super) fn too_often(counts: &Counts, undisturbed: &Counts) -> String {
    let counts = counts.iter().map(|(resource, count)| {
        let wanted = undisturbed.get(resource).copied().unwrap_or_default();
        (resource, *count, wanted)
    });
    let more = counts.filter(|(_, count, wanted)| count > wanted);
    let lines = more.map(|(resource, count, wanted)| {
        format!("created according to the audit log: {count} {resource}, in the undisturbed run {wanted}\n")
    });
    lines.collect()
}
