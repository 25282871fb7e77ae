// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Fields that may differ from one run to the next, which a project names with the reason.

use std::sync::atomic::{AtomicBool, Ordering};

use serde_json::Value;

/// A field of a kind that is not compared.
#[derive(Debug)]
pub(super) struct Differs {
    pub(super) kind: String,
    /// Names of fields with dots between them; those of a list are fields of each of its items.
    pub(super) path: String,
    pub(super) reason: String,
    /// Whether an object has had it.
    pub(super) is_found: AtomicBool,
}

impl Differs {
    /// Removes the field from an object of that kind.
    pub(super) fn strip(&self, object: &mut Value) {
        if object["kind"] == self.kind.as_str() && remove(object, &self.path) {
            self.is_found.store(true, Ordering::Relaxed);
        }
    }

    /// What is wrong with it, after the undisturbed runs.
    pub(super) fn problem(&self) -> Option<String> {
        let Self { kind, path, .. } = self;
        if self.reason.trim().is_empty() {
            return Some(format!(
                "`{path}` of {kind} may differ without a reason: give one as the third argument of `may_differ`"
            ));
        }
        (!self.is_found.load(Ordering::Relaxed)).then(|| {
            format!(
                "no {kind} has had a field `{path}`, which may differ: write its path as in `status.attempts`, or \
                 remove that `may_differ`"
            )
        })
    }
}

/// Removes all fields with that path, and returns whether there was one. Names of fields may have dots in them.
fn remove(value: &mut Value, path: &str) -> bool {
    match value {
        Value::Array(items) => {
            let removed = items.iter_mut().map(|item| remove(item, path));
            removed.fold(false, |one, other| one | other)
        }
        Value::Object(fields) => {
            let mut is_removed = fields.remove(path).is_some();
            for (name, field) in fields.iter_mut() {
                let rest = path.strip_prefix(name.as_str());
                if let Some(rest) = rest.and_then(|rest| rest.strip_prefix('.')) {
                    is_removed |= remove(field, rest);
                }
            }
            is_removed
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
