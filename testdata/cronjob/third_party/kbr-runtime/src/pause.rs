// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that are not reconciled while an annotation pauses them.

use std::collections::HashSet;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams};
use kube::{Api, Client, Resource, ResourceExt};
use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::cache::{Cache, Cached, Received};
use crate::conditions::{self, ConditionStatus};
use crate::key::Key;

/// The condition of a paused object, and its reason while it is true.
const PAUSED: &str = "Paused";

/// Its reason while it is false.
const NOT_PAUSED: &str = "NotPaused";

/// How a controller's objects are paused.
pub(crate) struct Pause<K> {
    annotation: &'static str,
    /// Whether the condition is true; `None` if the object does not have it.
    condition: fn(&K) -> Option<bool>,
    paused: PausedObjects,
}

/// The paused objects, each of which is logged once. Clones share them.
#[derive(Clone, Default)]
pub(crate) struct PausedObjects(Arc<Mutex<HashSet<Key>>>);

impl PausedObjects {
    pub(crate) fn forget(&self, object: &Key) {
        self.lock().remove(object);
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<Key>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Resource + Serialize> Pause<K> {
    pub(crate) fn new(annotation: &'static str) -> Self {
        Self {
            annotation,
            condition,
            paused: PausedObjects::default(),
        }
    }
}

impl<K: Resource> Pause<K> {
    pub(crate) fn paused(&self) -> PausedObjects {
        self.paused.clone()
    }

    /// Starts it for the controller with that name.
    pub(crate) fn run(self, controller: &str, client: Client, cache: Cache<K>) -> Running<K> {
        Running {
            pause: self,
            client,
            cache,
            manager: format!("{controller}-pause"),
            has_no_condition: AtomicBool::new(false),
        }
    }
}

/// The [`Pause`] of a running controller.
pub(crate) struct Running<K: Resource> {
    pause: Pause<K>,
    client: Client,
    cache: Cache<K>,
    /// The field manager of the condition.
    manager: String,
    /// Whether the kind is known to have no place for the condition.
    has_no_condition: AtomicBool,
}

impl<K: Cached> Running<K> {
    /// Returns the object to reconcile, unless it is paused. Sets the condition in both cases.
    ///
    /// # Errors
    ///
    /// If the condition could not be written, but a later attempt may succeed.
    pub(crate) async fn pass(&self, object: Arc<K>) -> kube::Result<Option<Arc<K>>> {
        if object.meta().deletion_timestamp.is_some() {
            self.pause.paused.forget(&Key::of(&*object));
            return Ok(Some(object));
        }
        let annotation = object.annotations().get(self.pause.annotation);
        let is_paused = annotation.is_some_and(|value| value == "true");
        let shown = (self.pause.condition)(&object);
        if is_paused {
            if self.pause.paused.lock().insert(Key::of(&*object)) {
                let annotation = self.pause.annotation;
                tracing::info!(annotation, "paused: not reconciled until it is resumed");
            }
            if shown != Some(true) {
                self.write(&object, ConditionStatus::True).await?;
            }
            return Ok(None);
        }
        if self.pause.paused.lock().remove(&Key::of(&*object)) {
            tracing::info!("resumed");
        }
        if shown == Some(true)
            && let Some(written) = self.write(&object, ConditionStatus::False).await?
        {
            // With the version that the next write must have.
            return Ok(Some(Arc::new(written)));
        }
        Ok(Some(object))
    }

    /// Writes the condition, if the kind has conditions, and returns the resulting object.
    async fn write(&self, object: &K, status: ConditionStatus) -> kube::Result<Option<K>> {
        if self.has_no_condition.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let kind = self.cache.kind();
        let api: Api<Received<K>> = match object.namespace() {
            Some(namespace) => Api::namespaced_with(self.client.clone(), &namespace, kind),
            None => Api::all_with(self.client.clone(), kind),
        };
        let (reason, message) = match status {
            ConditionStatus::True => (PAUSED, format!("{} is true", self.pause.annotation)),
            _ => (NOT_PAUSED, String::new()),
        };
        let generation = object.meta().generation;
        let mut paused = conditions::new(PAUSED, status, reason, generation, Timestamp::now());
        paused.message = message;
        let patch = json!({
            "apiVersion": K::api_version(kind),
            "kind": K::kind(kind),
            "metadata": { "resourceVersion": object.resource_version() },
            "status": { "conditions": [paused] },
        });
        // Without force: if the list is a single field, it belongs to the controller.
        let params = PatchParams::apply(&self.manager);
        let name = object.name_any();
        let patch = Patch::Apply(&patch);
        match api.patch_status(&name, &params, &patch).await {
            Ok(received) => {
                // If it cannot be read, the watch reports it.
                let Ok(written) = received.open() else {
                    return Ok(None);
                };
                self.cache.wrote(received);
                let is_true = matches!(status, ConditionStatus::True);
                if (self.pause.condition)(&written) != Some(is_true) {
                    // It would be written again at each reconcile, and each write would trigger the next.
                    self.has_no_condition.store(true, Ordering::Relaxed);
                    let error = "the type has no `status.conditions` to hold it";
                    tracing::warn!(error, "the condition Paused is not kept");
                }
                Ok(Some(written))
            }
            Err(kube::Error::Api(status)) => match classify(&status) {
                ErrorClass::Retry => Err(kube::Error::Api(status)),
                ErrorClass::Gone => Ok(None),
                ErrorClass::NoPlace => {
                    self.has_no_condition.store(true, Ordering::Relaxed);
                    tracing::debug!(error = status.message, "the kind has no condition Paused");
                    Ok(None)
                }
                ErrorClass::Refused => {
                    let error = &status.message;
                    tracing::warn!(error, "the condition Paused is not written");
                    Ok(None)
                }
            },
            Err(error) => Err(error),
        }
    }
}

/// What an error of the API server means for the condition.
enum ErrorClass {
    /// The object was deleted.
    Gone,
    /// A later attempt may succeed.
    Retry,
    /// The kind has no status, or none with such conditions.
    NoPlace,
    /// For example by the role, because another manager owns the field, or because this object's status
    /// needs other fields as well.
    Refused,
}

fn classify(status: &kube::core::Status) -> ErrorClass {
    let details = status.details.iter();
    let mut causes = details.clone().flat_map(|details| &details.causes);
    match status.code {
        404 if details.clone().any(|details| !details.name.is_empty()) => ErrorClass::Gone,
        404 => ErrorClass::NoPlace,
        // The result of a server-side apply of a field that is not in the schema.
        500 if status.message.contains("field not declared in schema") => ErrorClass::NoPlace,
        409 if causes.any(|cause| cause.reason == "FieldManagerConflict") => ErrorClass::Refused,
        400 | 401 | 403 | 422 => ErrorClass::Refused,
        _ => ErrorClass::Retry,
    }
}

#[derive(Deserialize)]
struct Shown {
    #[serde(default)]
    status: Option<ShownStatus>,
}

#[derive(Deserialize)]
struct ShownStatus {
    #[serde(default)]
    conditions: Option<Vec<ShownCondition>>,
}

#[derive(Deserialize)]
struct ShownCondition {
    #[serde(rename = "type")]
    type_: String,
    status: String,
}

/// Whether the condition is true; `None` if the object does not have it.
fn condition<K: Serialize>(object: &K) -> Option<bool> {
    // Fields of these names may hold something else: then there is no condition.
    let text = serde_json::to_vec(object).ok()?;
    let shown: Shown = serde_json::from_slice(&text).ok()?;
    let conditions = shown.status?.conditions?.into_iter();
    let mut paused = conditions.filter(|condition| condition.type_ == PAUSED);
    paused.next().map(|condition| condition.status == "True")
}
