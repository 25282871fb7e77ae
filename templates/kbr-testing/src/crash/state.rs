// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The objects of a run, in a form in which two runs can be compared: without what differs between any two runs, which
//! is the time and what the API server makes up.

mod lines;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::jiff::Timestamp;
use serde_json::Value;

use super::differs::Differs;
use super::moment::made_up;
use super::predecessor::PREDECESSOR;
use crate::grants::items;

/// The objects of one namespace at one time.
#[derive(Clone, Debug, Default)]
pub(super) struct Objects(Vec<Value>);

/// What counts as a write of an object.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(super) enum Written {
    /// A new resource version.
    Version,
    /// A change of anything else.
    Contents,
}

/// Objects in a form that does not depend on the run. Several can have the same name, if the API server has made up
/// their names.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub(super) struct Comparable(BTreeMap<String, Vec<String>>);

impl Objects {
    /// Leaves out the objects that the garbage collector deletes: those that have owners, of which none exists.
    /// Whether an owner of another kind than the `listed` ones exists is unknown, so it counts as one that does.
    pub(super) fn new(mut objects: Vec<Value>, listed: &BTreeSet<String>) -> Self {
        loop {
            let uids: BTreeSet<String> = objects.iter().map(uid).map(str::to_owned).collect();
            let before = objects.len();
            objects.retain(|object| {
                let mut owners = items(&object["metadata"]["ownerReferences"]).peekable();
                owners.peek().is_none()
                    || owners.any(|owner| {
                        let uid = owner["uid"].as_str().unwrap_or_default();
                        uids.contains(uid) || !listed.contains(kind(owner))
                    })
            });
            if objects.len() == before {
                return Self(objects);
            }
        }
    }

    /// The objects that were written since `before`, created and deleted ones included. With `Written::Contents`, a new
    /// resource version alone is no write.
    pub(super) fn written_since(&self, before: &Self, written: Written) -> BTreeSet<String> {
        let form = |object: &Value| {
            let mut object = object.clone();
            if written == Written::Contents
                && let Some(metadata) = object["metadata"].as_object_mut()
            {
                metadata.remove("resourceVersion");
            }
            object
        };
        let forms = |objects: &Self| objects.0.iter().map(form).collect::<Vec<_>>();
        let (before, now) = (forms(before), forms(self));
        let gone = before.iter().filter(|object| !now.contains(object));
        let new = now.iter().filter(|object| !before.contains(object));
        let name = |object: &Value| {
            object["metadata"]["name"]
                .as_str()
                .unwrap_or_default()
                .to_owned()
        };
        let written = gone.chain(new);
        written
            .map(|object| format!("{} {}", kind(object), name(object)))
            .collect()
    }

    /// The UIDs of the objects.
    pub(super) fn uids(&self) -> BTreeSet<String> {
        self.0.iter().map(uid).map(str::to_owned).collect()
    }

    /// The objects in a form in which they equal those of another run in another namespace, without fields that may
    /// differ.
    pub(super) fn comparable(&self, namespace: &str, differs: &[Arc<Differs>]) -> Comparable {
        let mut names = vec![(namespace.to_owned(), "<namespace>".to_owned())];
        for object in &self.0 {
            let alias = alias(object);
            let name = object["metadata"]["name"].as_str().unwrap_or_default();
            names.push((uid(object).to_owned(), format!("<uid of {alias}>")));
            if object["metadata"]["generateName"].is_string() {
                names.push((name.to_owned(), alias.clone()));
            }
            for address in addresses(object) {
                names.push((address.to_owned(), format!("<address of {alias}>")));
            }
        }
        names.retain(|(name, _)| !name.is_empty());
        // A name may be the beginning of another.
        names.sort_by_key(|(name, _)| usize::MAX - name.len());
        let mut all = BTreeMap::<String, Vec<String>>::new();
        for object in &self.0 {
            let title = format!("{} {}", kind(object), alias(object));
            let mut object = object.clone();
            strip(&mut object);
            for field in differs {
                field.strip(&mut object);
            }
            let object = replaced(&object, &names);
            let text = serde_saphyr::to_string(&object).unwrap_or_else(|_| object.to_string());
            all.entry(title).or_default().push(text);
        }
        for texts in all.values_mut() {
            texts.sort();
        }
        Comparable(all)
    }
}

impl Comparable {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// What differs here from what it should be, as lines that begin with `-` where something is missing and with `+`
    /// where something is too much.
    pub(super) fn differences_from(&self, expected: &Self) -> String {
        let titles: BTreeSet<_> = self.0.keys().chain(expected.0.keys()).collect();
        let mut text = String::new();
        for title in titles {
            let (wanted, found) = (expected.texts(title), self.texts(title));
            if wanted == found {
                continue;
            }
            let many = |texts: &[String]| match texts.len() {
                0 => "none".to_owned(),
                1 => "one".to_owned(),
                count => count.to_string(),
            };
            if wanted.len() != found.len() {
                let verb = if found.len() > 1 { "are" } else { "is" };
                let (wanted, found) = (many(wanted), many(found));
                text += &format!("{title}: there should be {wanted}, but there {verb} {found}\n");
            } else {
                text += &format!("{title}:\n");
            }
            let none = String::new();
            for index in 0..wanted.len().max(found.len()) {
                let wanted = wanted.get(index).unwrap_or(&none);
                text += &lines::differences(wanted, found.get(index).unwrap_or(&none));
            }
        }
        text
    }

    fn texts(&self, title: &str) -> &[String] {
        self.0.get(title).map_or(&[], Vec::as_slice)
    }
}

fn uid(object: &Value) -> &str {
    object["metadata"]["uid"].as_str().unwrap_or_default()
}

fn kind(object: &Value) -> &str {
    object["kind"].as_str().unwrap_or_default()
}

/// The name of an object, or what stands for it if the API server has made it up.
fn alias(object: &Value) -> String {
    let metadata = &object["metadata"];
    let name = metadata["name"].as_str().unwrap_or_default();
    match metadata["generateName"].as_str() {
        Some(start) if name.starts_with(start) => made_up(start),
        _ => name.to_owned(),
    }
}

/// The addresses that the API server has given to a Service.
fn addresses(object: &Value) -> impl Iterator<Item = &str> {
    let is_service = kind(object) == "Service";
    let addresses = items(&object["spec"]["clusterIPs"]).filter_map(Value::as_str);
    addresses.filter(move |address| is_service && *address != "None")
}

/// Removes the ports of nodes that the API server has given to a Service.
fn strip_ports(service: &mut Value) {
    let Some(spec) = service["spec"].as_object_mut() else {
        return;
    };
    spec.remove("healthCheckNodePort");
    let ports = spec.get_mut("ports").and_then(Value::as_array_mut);
    for port in ports.into_iter().flatten() {
        port.as_object_mut().map(|port| port.remove("nodePort"));
    }
}

/// Removes what the API server makes up.
fn strip(object: &mut Value) {
    if kind(object) == "Service" {
        strip_ports(object);
    }
    // Their order means nothing: controllers that share an object write them in any order.
    if let Some(conditions) = object["status"]["conditions"].as_array_mut() {
        conditions.sort_by_key(|condition| condition["type"].to_string());
    }
    let Some(metadata) = object["metadata"].as_object_mut() else {
        return;
    };
    for field in ["creationTimestamp", "resourceVersion", "selfLink", "uid"] {
        metadata.remove(field);
    }
    let Some(writers) = metadata
        .get_mut("managedFields")
        .and_then(Value::as_array_mut)
    else {
        return;
    };
    // In a run in which it has written the same before.
    writers.retain(|writer| writer["manager"] != PREDECESSOR || writer["operation"] != "Update");
    for writer in writers.iter_mut() {
        if let Some(writer) = writer.as_object_mut() {
            writer.remove("time");
        }
    }
    // The API server sorts them by time.
    writers.sort_by_key(|writer| {
        ["manager", "operation", "subresource"].map(|field| writer[field].to_string())
    });
}

/// A copy in which the times, and each name as a part of a text, are replaced.
fn replaced(value: &Value, names: &[(String, String)]) -> Value {
    let text = |text: &str| {
        let mut text = text.to_owned();
        for (name, alias) in names {
            if text.contains(name) {
                text = text.replace(name, alias);
            }
        }
        text
    };
    match value {
        // A shorter text is a date or a number, which has a meaning.
        Value::String(time) if time.len() >= 20 && time.parse::<Timestamp>().is_ok() => {
            Value::String("<time>".to_owned())
        }
        Value::String(value) => Value::String(text(value)),
        Value::Array(values) => values.iter().map(|value| replaced(value, names)).collect(),
        Value::Object(fields) => {
            let fields = fields.iter();
            let fields = fields.map(|(key, value)| (text(key), replaced(value, names)));
            Value::Object(fields.collect())
        }
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests;
