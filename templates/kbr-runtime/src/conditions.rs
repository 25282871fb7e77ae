// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Entries of `status.conditions`, following the [Kubernetes API conventions].
//!
//! The functions change a list in memory and follow `meta.SetStatusCondition` of
//! `k8s.io/apimachinery`. To write the status to the API server, see
//! [`Handle::apply_status`](crate::Handle::apply_status).
//!
//! ```
//! use k8s_openapi::jiff::Timestamp;
//! use kbr_runtime::conditions::{self, ConditionStatus};
//!
//! let now = Timestamp::now();
//! let mut list = Vec::new();
//! let pending = conditions::new("Ready", ConditionStatus::False, "Pending", Some(1), now);
//! assert!(conditions::set(&mut list, pending.clone()));
//! // The same again changes nothing.
//! assert!(!conditions::set(&mut list, pending));
//!
//! let ready = conditions::find(&list, "Ready").unwrap();
//! assert_eq!(ready.status, "False");
//! ```
//!
//! [Kubernetes API conventions]: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// The `status` of a condition.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// The condition is true.
    True,
    /// The condition is false.
    False,
    /// The controller cannot tell.
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // The names of the variants are those of the API.
        fmt::Debug::fmt(self, f)
    }
}

/// Creates a condition with an empty `message`.
///
/// `type_` and `reason` are in CamelCase, and a `reason` cannot be empty. `generation` is the
/// `metadata.generation` of the object that was reconciled, and becomes `observedGeneration`. `now`
/// becomes `lastTransitionTime`; take it from a [`Clock`](crate::Clock). A message has at most 32768
/// characters.
#[must_use]
pub fn new(
    type_: &str,
    status: ConditionStatus,
    reason: &str,
    generation: Option<i64>,
    now: Timestamp,
) -> Condition {
    Condition {
        type_: type_.to_owned(),
        status: status.to_string(),
        reason: reason.to_owned(),
        message: String::new(),
        observed_generation: generation,
        last_transition_time: Time(now),
    }
}

/// The condition of type `type_`, if there is one.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// The conditions of these types, which are those that a controller wrote if it writes these types.
///
/// Start from them when you apply conditions with [`Handle::apply_status`](crate::Handle::apply_status), so that the list
/// contains no condition of another writer.
#[must_use]
pub fn of_types(conditions: &[Condition], types: &[&str]) -> Vec<Condition> {
    let is_one = |condition: &&Condition| types.contains(&condition.type_.as_str());
    conditions.iter().filter(is_one).cloned().collect()
}

/// Replaces the condition of the same type, or adds `condition` at the end if there is none. Returns
/// whether anything changed.
///
/// While the `status` stays the same, the old `lastTransitionTime` stays too: it is the time when the
/// `status` last changed.
pub fn set(conditions: &mut Vec<Condition>, mut condition: Condition) -> bool {
    let Some(old) = conditions.iter_mut().find(|c| c.type_ == condition.type_) else {
        conditions.push(condition);
        return true;
    };
    if old.status == condition.status {
        condition.last_transition_time = old.last_transition_time.clone();
    }
    let changed = *old != condition;
    *old = condition;
    changed
}

#[cfg(test)]
mod tests;
