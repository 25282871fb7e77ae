// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a plan would change: how writes of one object come together, and how they are printed.

use std::fmt;

use http::Method;
use serde_json::Value;

use super::{Plan, State};
use crate::diff::{Field, fields};
use crate::target::Target;

/// What would happen.
#[derive(Clone, Copy, Debug, Eq, Ord, PartialEq, PartialOrd)]
pub(super) enum What {
    Create,
    Change,
    Delete,
    /// What follows depends on what was not written.
    Unknown,
    /// The reconcile has failed.
    Failed,
}

/// Something that would happen to an object. Prints as lines.
#[derive(Debug)]
pub(super) struct Step {
    pub(super) what: What,
    pub(super) object: String,
    /// The controller.
    pub(super) by: &'static str,
    /// Why it is not known, or has failed.
    pub(super) reason: String,
    pub(super) fields: Vec<Field>,
}

impl Step {
    /// Whether it is about this object, which the controller reconciles.
    pub(super) fn is_of(&self, controller: &str, object: &str) -> bool {
        self.by == controller && self.object == object && self.what >= What::Unknown
    }
}

/// An object before a write.
pub(super) enum Present {
    Object(Value),
    Absent,
    /// The role allows neither `get` nor `list`.
    Unreadable,
}

impl State {
    /// Notes a write that the API server would accept, with its answer.
    pub(super) fn write(&mut self, target: &Target, method: &Method, old: Present, new: &Value) {
        if *method == Method::DELETE {
            return self.delete(target, &old, new);
        }
        let mut target = target.clone();
        let metadata = &new["metadata"];
        if target.name.is_none() {
            // Each dry run makes another name of a prefix.
            let prefix = metadata["generateName"]
                .as_str()
                .map(|prefix| format!("{prefix}*"));
            let name = metadata["name"].as_str().map(str::to_owned);
            target.name = prefix.or(name);
        }
        let is_subresource = target
            .subresource
            .take()
            .is_some_and(|name| name != "status");
        let object = target.to_string();
        let is_secret = target.is_secret();
        match old {
            Present::Unreadable => {
                let reason = format!(
                    "{object} would be written, but the role allows neither `get` nor `list`"
                );
                self.note(What::Unknown, &reason);
            }
            Present::Absent if is_subresource => {
                // Such as an eviction: the answer is not the object.
                self.add(What::Change, object, Vec::new());
            }
            Present::Absent => {
                self.created.push(target);
                self.add(What::Create, object, fields(&Value::Null, new, is_secret));
            }
            Present::Object(old) if lets_go(&old, new) => {
                self.add(What::Delete, object, Vec::new());
            }
            Present::Object(old) => {
                let fields = fields(&old, new, is_secret);
                if !fields.is_empty() {
                    self.add(What::Change, object, fields);
                }
            }
        }
    }

    fn delete(&mut self, target: &Target, old: &Present, new: &Value) {
        if let Some(items) = new["items"].as_array().filter(|_| target.name.is_none()) {
            for item in items {
                let mut one = target.clone();
                one.name = item["metadata"]["name"].as_str().map(str::to_owned);
                let namespace = item["metadata"]["namespace"].as_str();
                one.namespace = namespace.map(str::to_owned);
                self.add(What::Delete, one.to_string(), Vec::new());
            }
            return;
        }
        if !matches!(old, Present::Object(old) if is_deleting(old)) {
            self.add(What::Delete, target.to_string(), Vec::new());
        }
    }

    /// Adds a step to those of the same object: all of them start from the object as it is.
    fn add(&mut self, what: What, object: String, fields: Vec<Field>) {
        let mut known = self.steps.iter_mut();
        let Some(step) = known.find(|step| step.what == what && step.object == object) else {
            self.steps.push(Step {
                what,
                object,
                by: self.current.0,
                reason: String::new(),
                fields,
            });
            return;
        };
        step.fields
            .retain(|one| !fields.iter().any(|other| other.path == one.path));
        step.fields.extend(fields);
    }
}

fn is_deleting(object: &Value) -> bool {
    object["metadata"]["deletionTimestamp"].is_string()
}

/// Whether the API server deletes the object after this write, which removes the last finalizer.
fn lets_go(old: &Value, new: &Value) -> bool {
    let is_kept = |object: &Value| {
        let finalizers = object["metadata"]["finalizers"].as_array();
        finalizers.is_some_and(|finalizers| !finalizers.is_empty())
    };
    // A pod is kept until its kubelet has stopped it, too.
    let grace = new["metadata"]["deletionGracePeriodSeconds"].as_i64();
    is_deleting(new) && is_kept(old) && !is_kept(new) && grace.unwrap_or_default() == 0
}

impl Plan {
    /// Whether nothing would be changed, as far as is known.
    pub(crate) fn is_empty(&self) -> bool {
        self.lock().steps.is_empty()
    }

    /// How many reconciles or controllers have failed.
    pub(crate) fn failures(&self) -> usize {
        self.count(What::Failed)
    }

    /// How many objects would be changed.
    pub(crate) fn summary(&self) -> String {
        if self.is_empty() {
            return "The plan: nothing to do.".to_owned();
        }
        let counts = [
            (What::Create, "to create"),
            (What::Change, "to change"),
            (What::Delete, "to delete"),
            (What::Unknown, "not known"),
            (What::Failed, "failed"),
        ];
        let counts = counts.map(|(what, text)| (self.count(what), text));
        let counts = counts.iter().filter(|(count, _)| *count > 0);
        let counts: Vec<_> = counts
            .map(|(count, text)| format!("{count} {text}"))
            .collect();
        format!("The plan: {}. Nothing was written.", counts.join(", "))
    }

    fn count(&self, what: What) -> usize {
        let state = self.lock();
        state.steps.iter().filter(|step| step.what == what).count()
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in &self.lock().steps {
            writeln!(f, "{step}")?;
        }
        write!(f, "{}", self.summary())
    }
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (object, by) = (&self.object, self.by);
        match self.what {
            What::Create => write!(f, "+ {object} (created by {by})")?,
            What::Change => write!(f, "~ {object} (changed by {by})")?,
            What::Delete => write!(f, "- {object} (deleted by {by})")?,
            What::Unknown => write!(f, "? {object} (by {by}): not known: {}", self.reason)?,
            What::Failed => write!(f, "! {object} (by {by}): failed: {}", self.reason)?,
        }
        for field in &self.fields {
            write!(f, "\n    {field}")?;
        }
        Ok(())
    }
}
