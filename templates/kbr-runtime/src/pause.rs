// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that are not reconciled while an annotation pauses them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt;
use kube::api::PatchParams;
use kube::core::Status;
use serde::Serialize;
use serde_json::json;

use crate::cache::Cached;
use crate::conditions::{self, ConditionStatus};
use crate::handle::{Context, shown};
use crate::key::Key;
use crate::lock::lock;

/// What follows the field manager of the controller in that of the condition.
pub(crate) const SUFFIX: &str = "-pause";

/// The condition of a paused object, and its reason while it is true.
const PAUSED: &str = "Paused";

/// Its reason while it is false.
const NOT_PAUSED: &str = "NotPaused";

/// The reason in a refusal because another field manager owns a field.
const CONFLICT: &str = "FieldManagerConflict";

/// How a controller's objects are paused.
pub(crate) struct Pause<K> {
    annotation: &'static str,
    /// Whether the condition is true; `None` if the object does not have it.
    condition: fn(&K) -> Option<bool>,
    /// The paused objects, each of which is logged once.
    paused: Mutex<HashSet<Key>>,
    /// Whether the kind is known to have no place for the condition.
    has_no_condition: AtomicBool,
}

impl<K: Cached> Pause<K> {
    pub(crate) fn new(annotation: &'static str) -> Self
    where
        K: Serialize,
    {
        Self {
            annotation,
            condition,
            paused: Mutex::default(),
            has_no_condition: AtomicBool::new(false),
        }
    }

    pub(crate) fn forget(&self, object: &Key) {
        lock(&self.paused).remove(object);
    }

    /// Returns the object to reconcile, unless it is paused. Sets the condition in both cases.
    ///
    /// # Errors
    ///
    /// If the condition could not be written, but a later attempt may succeed.
    pub(crate) async fn pass(
        &self,
        context: &Context<K>,
        object: Arc<K>,
    ) -> kube::Result<Option<Arc<K>>> {
        let key = Key::of(&*object);
        if object.meta().deletion_timestamp.is_some() {
            self.forget(&key);
            return Ok(Some(object));
        }
        let annotation = object.annotations().get(self.annotation);
        let is_paused = annotation.is_some_and(|value| value == "true");
        let shown = (self.condition)(&object);
        if is_paused {
            if lock(&self.paused).insert(key) {
                let annotation = self.annotation;
                tracing::info!(annotation, "paused: not reconciled until it is resumed");
            }
            if shown != Some(true) {
                self.write(context, &object, true).await?;
            }
            return Ok(None);
        }
        if lock(&self.paused).remove(&key) {
            tracing::info!("resumed");
        }
        if shown == Some(true)
            && let Some(written) = self.write(context, &object, false).await?
        {
            // With the version that the next write must have.
            return Ok(Some(Arc::new(written)));
        }
        Ok(Some(object))
    }

    /// Writes the condition, if the kind has conditions, and returns the resulting object.
    async fn write(
        &self,
        context: &Context<K>,
        object: &K,
        is_true: bool,
    ) -> kube::Result<Option<K>> {
        if self.has_no_condition.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let (status, reason, message) = if is_true {
            let message = format!("{} is true", self.annotation);
            (ConditionStatus::True, PAUSED, message)
        } else {
            (ConditionStatus::False, NOT_PAUSED, String::new())
        };
        let generation = object.meta().generation;
        let mut paused = conditions::new(PAUSED, status, reason, generation, Timestamp::now());
        paused.message = message;
        let status = json!({ "conditions": [paused] });
        // Without force: if the list is a single field, it belongs to the controller.
        let mut params = PatchParams::apply(&format!("{}{SUFFIX}", context.field_manager));
        let written = loop {
            let version = object.resource_version();
            let written = context
                .write_status(object, version, &status, &params)
                .await;
            match &written {
                Err(kube::Error::Api(refusal)) if is_taken(refusal) && !params.force => {
                    params.force = true;
                }
                _ => break written,
            }
        };
        let received = match written {
            Ok(answer) => answer.object,
            Err(kube::Error::Api(status)) if self.is_final(&status) => return Ok(None),
            Err(error) => return Err(error),
        };
        // If it cannot be read, the watch reports it.
        let Ok(written) = received.open() else {
            return Ok(None);
        };
        context.cache.wrote_opened(received, Some(&written));
        if (self.condition)(&written) != Some(is_true) {
            // It would be written again at each reconcile, and each write would trigger the next.
            self.has_no_condition.store(true, Ordering::Relaxed);
            let error = "the type has no `status.conditions` to hold it";
            tracing::warn!(error, "the condition Paused is not kept");
        }
        Ok(Some(written))
    }

    /// Whether a later attempt would be refused as well.
    fn is_final(&self, refusal: &Status) -> bool {
        let mut details = refusal.details.iter();
        let mut causes = details.clone().flat_map(|details| &details.causes);
        let (code, error) = (refusal.code, &refusal.message);
        if code == 404 && details.any(|details| !details.name.is_empty()) {
            // The object was deleted.
            return true;
        }
        // The kind has no status, or none with such conditions, which is the result of a server-side apply of a field
        // that is not in the schema.
        let is_undeclared = code == 500 && error.contains("field not declared in schema");
        if code == 404 || is_undeclared {
            self.has_no_condition.store(true, Ordering::Relaxed);
            tracing::debug!(error, "the kind has no condition Paused");
            return true;
        }
        // For example by the role, because another manager owns the field, or because this object's status
        // needs other fields as well.
        let is_taken = causes.any(|cause| cause.reason == CONFLICT);
        let is_refused = matches!(code, 400 | 401 | 403 | 422) || code == 409 && is_taken;
        if is_refused {
            tracing::warn!(error, "the condition Paused is not written");
        }
        is_refused
    }
}

/// Whether somebody else has written the condition, and not the list as a single field: an operator that had another name,
/// or another implementation of this one.
fn is_taken(refusal: &Status) -> bool {
    let causes = refusal.details.iter().flat_map(|details| &details.causes);
    let mut causes = causes.peekable();
    causes.peek().is_some()
        && causes
            .all(|cause| cause.reason == CONFLICT && cause.field.starts_with(".status.conditions["))
}

/// Whether the condition is true; `None` if the object does not have it.
fn condition<K: Serialize>(object: &K) -> Option<bool> {
    // Fields of these names may hold something else: then there is no condition.
    let status = shown(object).ok()?;
    let mut conditions = status["conditions"].as_array()?.iter();
    let paused = conditions.find(|condition| condition["type"] == PAUSED);
    paused.map(|condition| condition["status"] == "True")
}

#[cfg(test)]
mod tests;
