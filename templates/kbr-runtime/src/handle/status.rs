// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Writing the status of the object in hand.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;

use kube::ResourceExt;
use kube::api::{Patch, PatchParams};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::answer::Answer;
use super::{Context, Handle, paths};
use crate::cache::Cached;
use crate::diff;
use crate::key::Key;
use crate::lock::lock;
use crate::reading::{hash_of, write_value};

/// What this process knows of the statuses that it has written.
#[derive(Default)]
pub(crate) struct Statuses {
    /// By the uid of the object.
    pub(crate) noted: HashMap<String, Noted>,
    /// The types of the conditions that were last written to any object: usually to all of them.
    conditions: Arc<BTreeSet<String>>,
}

#[derive(Clone, Default)]
pub(crate) struct Noted {
    /// What was last written although it seemed to differ, and what the object shows since.
    same: Option<(u64, u64)>,
    /// The types of the conditions that were last written.
    conditions: Arc<BTreeSet<String>>,
}

impl Statuses {
    fn note(&mut self, uid: String, same: Option<(u64, u64)>, wanted: &Value) {
        let conditions = types(wanted).map(str::to_owned).collect();
        if *self.conditions != conditions {
            self.conditions = Arc::new(conditions);
        }
        let conditions = self.conditions.clone();
        self.noted.insert(uid, Noted { same, conditions });
    }
}

impl<K: Cached + Serialize> Handle<K> {
    /// Writes `status` to the status subresource, unless the object already has it. Returns whether it was written.
    ///
    /// This is a [server-side apply] with force:
    ///
    /// - A field that the controller wrote before, and that is no longer in `status`, is removed.
    /// - A field of the Rust type that is not in `status`, and that somebody else has written with an update, is removed by
    ///   a second request: another implementation of the operator has written it before, as those in Go do.
    ///   [`Controller::takes_over`](crate::Controller::takes_over) says whose fields these are. By default those of
    ///   everybody, but none of Kubernetes' own kinds, whose status several components write.
    /// - All other fields stay, such as those that others apply. So `status` must contain all of the controller's own
    ///   fields, and nothing else.
    ///
    /// This applies to each condition separately if the CRD gives the list the type `map` with the key `type`:
    /// conditions of other types belong to other writers, and are neither compared nor removed.
    ///
    /// # Errors
    ///
    /// The errors of the API server, such as 409 Conflict if the object has changed since it was read. Return the
    /// error from the reconcile, which is then retried with the newer object.
    ///
    /// [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/
    #[doc(alias = "UpdateStatus")]
    pub async fn apply_status<S: Serialize>(&self, status: &S) -> kube::Result<bool> {
        let wanted = write_value(status).map_err(kube::Error::SerdeError)?;
        let shown = shown(&*self.object).map_err(kube::Error::SerdeError)?;
        let uid = self.object.uid().unwrap_or_default();
        let noted = lock(&self.context.statuses).noted.get(&uid).cloned();
        let noted = noted.unwrap_or_default();
        let shown = own(shown, &wanted, &noted.conditions);
        let hashes = || (hash_of(&wanted), hash_of(&shown));
        let is_first = lock(&self.written).is_none();
        let is_noted = || noted.same.is_some_and(|same| same == hashes());
        if is_first && (is_same(&shown, &wanted) || is_noted()) {
            return Ok(false);
        }
        let answer = self.write_status(&wanted).await?;
        let rest = self.leftover(&answer, &wanted, &noted.conditions);
        let mut version = self.wrote_status(answer);
        if let Some(rest) = rest {
            match self.patch_status(rest).await {
                Ok(answer) => version = self.wrote_status(answer),
                // The status itself is written; nothing that is tried again would remove it.
                Err(kube::Error::Api(refusal)) if !refusal.is_conflict() => {
                    let error = &refusal.message;
                    tracing::warn!(
                        error,
                        "what another implementation has written in the status stays"
                    );
                }
                Err(error) => return Err(error),
            }
        }
        // It seemed to differ because of a field that somebody else owns.
        let is_same = version == self.object.resource_version() && is_first;
        let same = is_same.then(hashes);
        lock(&self.context.statuses).note(uid.clone(), same, &wanted);
        // It may have gone before that.
        if self.context.cache.is_gone(&Key::of(&*self.object), &uid) {
            lock(&self.context.statuses).noted.remove(&uid);
        }
        let [shown, wanted] = [shown, wanted].map(|status| {
            let fields = [("status".to_owned(), status)];
            Value::Object(fields.into_iter().collect())
        });
        let fields = diff::fields(&shown, &wanted, false);
        tracing::info!(fields = paths(&fields), "status written");
        Ok(true)
    }

    async fn write_status(&self, status: &Value) -> kube::Result<Answer<K>> {
        let params = self.context.params().force();
        let (context, object) = (&self.context, &self.object);
        let applied = context.write_status(object, self.version(), status, &params);
        let applied = applied.await;
        let Err(kube::Error::Api(refusal)) = &applied else {
            return applied;
        };
        if refusal.code != 422 {
            return applied;
        }
        // It may have left a part of a field, with what another implementation has written in it.
        let unchanged = self.patch_status(json!({})).await?;
        let Some(rest) = self.leftover(&unchanged, status, &BTreeSet::new()) else {
            return applied;
        };
        self.wrote_status(self.patch_status(rest).await?);
        let version = self.version();
        context.write_status(object, version, status, &params).await
    }

    /// Removes these fields of the status by a merge patch.
    async fn patch_status(&self, fields: Value) -> kube::Result<Answer<K>> {
        let metadata = json!({ "resourceVersion": self.version() });
        let patch = json!({ "metadata": metadata, "status": fields });
        let (context, key) = (&self.context, Key::of(&*self.object));
        let (params, patch) = (context.params(), Patch::Merge(&patch));
        context
            .patch(&context.cache, &key, Some("status"), &params, patch)
            .await
    }

    /// Notes the object after a write, and returns its version.
    fn wrote_status(&self, answer: Answer<K>) -> Option<String> {
        let version = answer.object.resource_version();
        lock(&self.written).clone_from(&version);
        self.context.cache.wrote(answer.object);
        version
    }
}

impl<K: Cached> Context<K> {
    /// Applies `status` to this version of the object.
    pub(crate) async fn write_status(
        &self,
        object: &K,
        version: Option<String>,
        status: &Value,
        params: &PatchParams,
    ) -> kube::Result<Answer<K>> {
        let (kind, key) = (self.cache.kind(), Key::of(object));
        let patch = json!({
            "apiVersion": K::api_version(kind),
            "kind": K::kind(kind),
            "metadata": { "resourceVersion": version },
            "status": status,
        });
        let patch = Patch::Apply(&patch);
        self.patch(&self.cache, &key, Some("status"), params, patch)
            .await
    }
}

/// The status of an object. The rest of it is not kept: it may be large.
pub(crate) fn shown<K: Serialize>(object: &K) -> serde_json::Result<Value> {
    status_of_text(&serde_json::to_string(object)?)
}

pub(super) fn status_of_text(object: &str) -> serde_json::Result<Value> {
    #[derive(Deserialize)]
    struct Object {
        #[serde(default)]
        status: Value,
    }
    let object: Object = serde_json::from_str(object)?;
    Ok(object.status)
}

/// The types of the conditions in a status.
fn types(status: &Value) -> impl Iterator<Item = &str> {
    let conditions = status["conditions"].as_array().into_iter().flatten();
    conditions.filter_map(|condition| condition["type"].as_str())
}

/// `shown` without the conditions whose types are neither in `wanted` nor were `applied` before.
fn own(mut shown: Value, wanted: &Value, applied: &BTreeSet<String>) -> Value {
    let own: BTreeSet<_> = types(wanted)
        .chain(applied.iter().map(String::as_str))
        .collect();
    if let Some(conditions) = shown.get_mut("conditions").and_then(Value::as_array_mut)
        && conditions
            .iter()
            .all(|condition| condition["type"].is_string())
    {
        conditions.retain(|condition| {
            condition["type"]
                .as_str()
                .is_some_and(|it| own.contains(it))
        });
    }
    shown
}

/// Whether both set the same fields.
fn is_same(one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(one), Value::Object(other)) => {
            let mut all = one.keys().chain(other.keys());
            all.all(|name| {
                let [one, other] = [one, other].map(|fields| fields.get(name));
                is_same(one.unwrap_or(&Value::Null), other.unwrap_or(&Value::Null))
            })
        }
        (Value::Array(one), Value::Array(other)) => {
            one.len() == other.len()
                && one
                    .iter()
                    .zip(other)
                    .all(|(one, other)| is_same(one, other))
        }
        _ => one == other || is_unset(one) && is_unset(other),
    }
}

/// `None` in a Rust type means that the field is not set, and so does an empty list or map in most.
fn is_unset(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Object(fields) => fields.values().all(is_unset),
        Value::Array(items) => items.is_empty(),
        _ => false,
    }
}

#[cfg(test)]
mod tests;
