// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The permissions that the operator lacks, from the audit log.

use std::collections::BTreeSet;
use std::path::Path;

use crate::audit::AuditLog;
use crate::grants::Grant;
use crate::roles::Role;

use super::Event;

/// The requests of the operator so far, and what its roles allow.
pub(super) struct Rights {
    log: AuditLog,
    granted: BTreeSet<(Role, Grant)>,
    /// Those that were told already.
    told: BTreeSet<Grant>,
}

impl Rights {
    pub(super) fn new(folder: &Path, granted: BTreeSet<(Role, Grant)>) -> Self {
        Self {
            log: AuditLog::of(folder),
            granted,
            told: BTreeSet::new(),
        }
    }

    /// Replaces what the roles allow.
    pub(super) fn grant(&mut self, granted: BTreeSet<(Role, Grant)>) {
        if granted != self.granted {
            self.granted = granted;
            self.told.clear();
        }
    }

    /// Tells each permission that was missing since the last time, once.
    pub(super) fn tell_missing(&mut self) {
        // A log that cannot be read now may be readable later.
        for request in self.log.read_on().unwrap_or_default() {
            let Some(missing) = Grant::missed_by(&request) else {
                continue;
            };
            // An API server that has just learnt of a role does not apply it yet.
            let is_granted = self
                .granted
                .iter()
                .any(|(role, grant)| role.is_bound_for(&request) && grant.covers(&missing));
            if !is_granted && self.told.insert(missing.clone()) {
                Event::MissingRight {
                    marker: missing.to_string(),
                    controller: request.controller(),
                    message: request.message,
                }
                .tell();
            }
        }
    }
}
