// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Taking over what another implementation of the operator has written.
//!
//! A server-side apply removes only fields that its own field manager applied before. An implementation that writes
//! with updates, as operators in Go do, leaves fields that no apply would ever remove.
//!
//! The fields of an owned object are given to the field manager of the controller, whose next apply then removes them.
//! That is not possible through `/status`, where they are removed after the apply.

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::api::Patch;
use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;
use serde_json::{Map, Value, json};

use super::answer::Answer;
use super::status::status_of_text;
use super::{Handle, shown};
use crate::cache::{Cache, Cached, Entry};
use crate::key::Key;
use crate::lock::lock;
use crate::reading::read_text;

/// Whose fields a controller takes over.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(crate) enum TakeOver {
    /// In the status: what others have written with updates. Elsewhere: nothing.
    #[default]
    Updates,
    /// What these field managers have written.
    Of(Vec<String>),
}

impl TakeOver {
    /// Whether the fields of this entry are to become the controller's.
    fn covers(&self, entry: &ManagedFieldsEntry) -> bool {
        match self {
            Self::Updates => entry.operation.as_deref() == Some("Update"),
            Self::Of(names) => entry.manager.as_ref().is_some_and(|it| names.contains(it)),
        }
    }

    /// The same entries, with the fields of those who are taken over in that of who applies as `ours`; `None` if there
    /// are none. Those of a subresource, such as the replicas of an autoscaler, stay as they are, and so do those in
    /// another version of the API.
    fn give(
        &self,
        managers: Vec<ManagedFieldsEntry>,
        ours: &str,
    ) -> Option<Vec<ManagedFieldsEntry>> {
        let (main, mut kept): (Vec<_>, Vec<_>) = managers
            .into_iter()
            .partition(|it| it.subresource.as_deref().is_none_or(str::is_empty));
        let (own, main): (Vec<_>, Vec<_>) =
            main.into_iter().partition(|it| is_applied_by(it, ours));
        let mut own = own.into_iter().next().or_else(|| {
            let theirs = main.iter().find(|it| self.covers(it))?;
            Some(ManagedFieldsEntry {
                manager: Some(ours.to_owned()),
                operation: Some("Apply".to_owned()),
                ..theirs.clone()
            })
        })?;
        let (taken, others): (Vec<_>, Vec<_>) = main
            .into_iter()
            .partition(|it| self.covers(it) && it.api_version == own.api_version);
        let fields = own.fields_v1.get_or_insert_with(|| FieldsV1(json!({})));
        for theirs in taken.iter().filter_map(|it| it.fields_v1.as_ref()) {
            add_fields(&mut fields.0, &theirs.0);
        }
        kept.extend(others);
        kept.push(own);
        (!taken.is_empty()).then_some(kept)
    }
}

/// Who has written some fields.
#[derive(Deserialize)]
struct Writer<'a> {
    manager: Option<String>,
    operation: Option<String>,
    #[serde(borrow, rename = "fieldsV1")]
    fields: Option<&'a RawValue>,
}

impl<K> Answer<K> {
    fn managers<'a, T: Deserialize<'a>>(&'a self) -> Vec<T> {
        let text = self.managers.as_ref().map_or("[]", |text| text.get());
        read_text(text).unwrap_or_default()
    }

    /// Whether `takes_over` covers somebody who has written in the status.
    fn is_taken(&self, takes_over: &TakeOver) -> bool {
        self.managers().into_iter().any(|writer: Writer<'_>| {
            let entry = ManagedFieldsEntry {
                manager: writer.manager,
                operation: writer.operation,
                ..ManagedFieldsEntry::default()
            };
            let fields = writer.fields.map_or("", RawValue::get);
            takes_over.covers(&entry) && fields.contains("\"f:status\"")
        })
    }

    /// `ours` is the field manager of the controller, which has `applied` conditions of these types before.
    fn leftover(
        &self,
        typed: &Value,
        wanted: &Value,
        takes_over: &TakeOver,
        ours: &str,
        applied: &BTreeSet<String>,
    ) -> Option<Value> {
        let (managers, status) = (self.managers(), status_of_text(&self.object.text));
        let status = status.unwrap_or_default();
        let (own, others): (Vec<_>, Vec<_>) =
            managers.iter().partition(|it| is_applied_by(it, ours));
        let own: Vec<_> = own.into_iter().filter_map(status_of).collect();
        let (taken, kept): (Vec<_>, Vec<_>) =
            others.into_iter().partition(|it| takes_over.covers(it));
        let kept = kept
            .into_iter()
            .filter(|it| it.operation.as_deref() == Some("Apply"));
        let kept: Vec<_> = kept.filter_map(status_of).collect();
        let mut wanted = wanted.clone();
        keep_conditions(&mut wanted, &status, &own, applied);
        let mut rest = status.clone();
        for theirs in taken.into_iter().filter_map(status_of) {
            let place = Place {
                theirs,
                kept: kept.clone(),
                typed,
                wanted: &wanted,
            };
            place.strip(&mut rest);
        }
        removal(&status, &rest)
    }
}

impl<K: Cached + Serialize> Handle<K> {
    /// The merge patch of the status that removes what is taken over and not in `wanted`; `None` if there is nothing.
    pub(super) fn leftover(
        &self,
        answer: &Answer<K>,
        wanted: &Value,
        applied: &BTreeSet<String>,
    ) -> Option<Value> {
        let nobody = TakeOver::Of(Vec::new());
        let takes_over = match &self.context.takes_over {
            // The status of a built-in kind is the work of several components.
            TakeOver::Updates if is_built_in(&K::group(self.context.cache.kind())) => &nobody,
            takes_over => takes_over,
        };
        // There is seldom anything, and looking for it is not cheap.
        answer.is_taken(takes_over).then_some(())?;
        // A field that the type does not have may be somebody else's.
        let typed = answer.object.open().ok()?;
        let typed = shown(&typed).ok()?;
        let ours = &self.context.field_manager;
        answer.leftover(&typed, wanted, takes_over, ours, applied)
    }
}

impl<K: Cached> Handle<K> {
    /// Gives the fields of those who are taken over to the controller, before the first apply of an object by this
    /// process. Returns the object as it is then.
    pub(super) async fn take_over<T: Cached>(
        &self,
        cache: &Cache<T>,
        key: &Key,
        known: Option<Arc<Entry>>,
    ) -> kube::Result<Option<Arc<Entry>>> {
        let takes_over = &self.context.takes_over;
        let is_due = matches!(takes_over, TakeOver::Of(names) if !names.is_empty());
        let Some(entry) = known.as_deref().filter(|_| is_due) else {
            return Ok(known);
        };
        if lock(&self.context.applied).contains_key(&entry.uid) {
            return Ok(known);
        }
        let mut patch =
            json!({ "metadata": { "uid": entry.uid, "resourceVersion": entry.version } });
        // It changes nothing, and the answer has what the cache leaves out. A role that allows `patch` is enough.
        let (context, params) = (&self.context, self.context.params());
        let managers = match context
            .patch(cache, key, None, &params, Patch::Merge(&patch))
            .await
        {
            Ok(answer) => answer.managers(),
            // The apply finds out what to do.
            Err(kube::Error::Api(status)) if status.is_not_found() => return Ok(known),
            Err(error) => return Err(error),
        };
        let Some(managers) = takes_over.give(managers, &self.context.field_manager) else {
            return Ok(known);
        };
        let (resource, name) = (cache.resource(), key.name());
        #[cfg(feature = "plan")]
        if let Some(plan) = self.context.server.plan() {
            plan.unknown(&format!(
                "{resource} `{name}` has fields of another field manager, and those that are not wanted go"
            ));
            return Ok(known);
        }
        patch["metadata"]["managedFields"] = json!(managers);
        let patch = Patch::Merge(&patch);
        let answer = context.patch(cache, key, None, &params, patch).await?;
        tracing::info!(resource, name, "taken over from another field manager");
        Ok(Some(cache.wrote(answer.object)))
    }
}

/// Whether Kubernetes or its community has the API group: others need a domain of their own.
pub fn is_built_in(group: &str) -> bool {
    let is_of = |domain: &str| {
        group
            .strip_suffix(domain)
            .is_some_and(|rest| rest.ends_with(['.', '-']))
    };
    !group.contains('.') || is_of("k8s.io") || is_of("kubernetes.io")
}

/// The fields of the status in an entry.
fn status_of(entry: &ManagedFieldsEntry) -> Option<&Value> {
    entry.fields_v1.as_ref()?.0.get("f:status")
}

fn is_applied_by(entry: &ManagedFieldsEntry, name: &str) -> bool {
    entry.operation.as_deref() == Some("Apply") && entry.manager.as_deref() == Some(name)
}

/// Adds the fields of `theirs` to those of `own`, both as in `fieldsV1`.
fn add_fields(own: &mut Value, theirs: &Value) {
    let is_whole = is_whole(own) || is_whole(theirs);
    let (Value::Object(own), Value::Object(theirs)) = (own, theirs) else {
        return;
    };
    for (name, theirs) in theirs {
        let own = own.entry(name).or_insert_with(|| theirs.clone());
        add_fields(own, theirs);
    }
    if is_whole && !own.is_empty() {
        own.insert(".".to_owned(), json!({}));
    }
}

/// Adds to `wanted` the conditions of types that the controller neither wants nor has applied, according to its fields
/// or to what this process has written `before`.
fn keep_conditions(wanted: &mut Value, shown: &Value, own: &[&Value], before: &BTreeSet<String>) {
    let Some(shown) = shown["conditions"].as_array() else {
        return;
    };
    let applied = own.iter().filter_map(|own| own["f:conditions"].as_object());
    let applied: Vec<_> = applied.flat_map(Map::keys).cloned().collect();
    let is_own = |condition: &Value| {
        let type_ = condition["type"].as_str().unwrap_or_default();
        before.contains(type_) || applied.iter().any(|key| is_named(condition, key))
    };
    let of_others = shown.iter().filter(|condition| {
        let mut wanted = wanted["conditions"].as_array().into_iter().flatten();
        let is_wanted = wanted.any(|wanted| wanted["type"] == condition["type"]);
        condition["type"].is_string() && !is_wanted && !is_own(condition)
    });
    let of_others: Vec<_> = of_others.cloned().collect();
    let Some(wanted) = wanted.as_object_mut().filter(|_| !of_others.is_empty()) else {
        return;
    };
    let conditions = wanted.entry("conditions").or_insert_with(|| json!([]));
    if let Some(conditions) = conditions.as_array_mut() {
        conditions.extend(of_others);
    }
}

/// A field, or an item of a list, that is taken over, in each of these; null where it is not set.
struct Place<'a> {
    /// In the [`fieldsV1`] of who is taken over.
    ///
    /// [`fieldsV1`]: https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#fieldsv1-v1-meta
    theirs: &'a Value,
    /// In those of who keeps what they have applied.
    kept: Vec<&'a Value>,
    typed: &'a Value,
    wanted: &'a Value,
}

impl Place<'_> {
    /// Removes from the value at this place what is taken over and not wanted.
    fn strip(&self, shown: &mut Value) {
        match shown {
            Value::Object(fields) => fields.retain(|name, value| {
                let place = self.child(&format!("f:{name}"));
                place.is_none_or(|place| place.keeps(value))
            }),
            Value::Array(items) => items.retain_mut(|item| {
                let mut keys = self.theirs.as_object().into_iter().flat_map(Map::keys);
                let place = keys.find(|key| is_named(item, key));
                let place = place.and_then(|key| self.child(key));
                place.is_none_or(|place| place.keeps(item))
            }),
            _ => {}
        }
    }

    /// Whether the value at this place stays, without what is stripped of it.
    fn keeps(&self, shown: &mut Value) -> bool {
        if self.wanted.is_null() && self.kept.is_empty() && is_whole(self.theirs) {
            return false;
        }
        self.strip(shown);
        true
    }

    /// The place that has this name in `fieldsV1`, if it is taken over and the type has it.
    fn child(&self, key: &str) -> Option<Self> {
        let typed = find(self.typed, key);
        (!typed.is_null()).then_some(())?;
        let kept = self.kept.iter().filter_map(|kept| kept.get(key));
        Some(Self {
            theirs: self.theirs.get(key)?,
            kept: kept.collect(),
            typed,
            wanted: find(self.wanted, key),
        })
    }
}

/// Whether an entry of `fieldsV1` is about the field itself, and not only about what is in it.
fn is_whole(entry: &Value) -> bool {
    let within = entry.as_object().filter(|within| !within.is_empty());
    within.is_none_or(|within| within.contains_key("."))
}

/// The field or item of a value that has this name in `fieldsV1`; null if it has none.
fn find<'a>(value: &'a Value, key: &str) -> &'a Value {
    match (value, key.strip_prefix("f:")) {
        (Value::Object(_), Some(name)) => &value[name],
        (Value::Array(items), None) => {
            let item = items.iter().find(|item| is_named(item, key));
            item.unwrap_or(&Value::Null)
        }
        _ => &Value::Null,
    }
}

/// Whether an item of a list has this name in `fieldsV1`: by its keys, or in a set by its value.
fn is_named(item: &Value, key: &str) -> bool {
    let is = |prefix: &str, is_same: fn(&Value, &Value) -> bool| {
        let name = key.strip_prefix(prefix);
        let name = name.and_then(|name| serde_json::from_str(name).ok());
        name.is_some_and(|name| is_same(item, &name))
    };
    is("v:", |item, value| item == value)
        || is("k:", |item, keys| {
            let mut keys = keys.as_object().into_iter().flatten();
            keys.all(|(name, value)| item[name] == *value)
        })
}

/// The merge patch that makes `before`, of which something was removed, `after`.
fn removal(before: &Value, after: &Value) -> Option<Value> {
    let (Value::Object(before), Value::Object(after)) = (before, after) else {
        return (before != after).then(|| after.clone());
    };
    let changes = before.iter().filter_map(|(name, value)| {
        let change = match after.get(name) {
            Some(after) => removal(value, after),
            None => Some(Value::Null),
        };
        Some((name.clone(), change?))
    });
    let changes: Map<_, _> = changes.collect();
    (!changes.is_empty()).then_some(Value::Object(changes))
}

#[cfg(test)]
mod tests;
