// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Entries of `status.conditions`, by the Kubernetes API conventions.
//!
//! The rules are those of apimachinery's `meta.SetStatusCondition`. Writing the status to the
//! server is left to the caller.

use std::fmt;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, Time};
use k8s_openapi::jiff::Timestamp;

/// Whether what a condition names holds.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub enum ConditionStatus {
    /// It holds.
    True,
    /// It does not hold.
    False,
    /// Nothing can be said about it now.
    Unknown,
}

impl fmt::Display for ConditionStatus {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::True => "True",
            Self::False => "False",
            Self::Unknown => "Unknown",
        })
    }
}

/// A condition with an empty message, in this status since `now`, which a
/// [`Clock`](crate::Clock) tells.
///
/// `type_` and `reason` are words in CamelCase. `generation` is the `metadata.generation` of the
/// object that was looked at.
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

/// The condition of that type, if there is one.
#[must_use]
pub fn find<'a>(conditions: &'a [Condition], type_: &str) -> Option<&'a Condition> {
    conditions.iter().find(|condition| condition.type_ == type_)
}

/// Puts `condition` in the place of the one of its type, or at the end if there is none.
///
/// Keeps the old `lastTransitionTime` when the status stays the same: it tells since when the
/// status holds, not when it was last confirmed. Returns whether anything changed.
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
