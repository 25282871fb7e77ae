// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Parts of objects: what they lack, and what they have too much of.

use serde_json::{Map, Value};

use super::Node;
use crate::webhook::conversion::difference::is_identity;

impl Node {
    /// Adds the required fields that a value lacks, with values that depend on the number.
    pub(super) fn fill(&self, value: &mut Value, number: usize) {
        match value {
            Value::Object(fields) => {
                let branches = [&self.one_of, &self.any_of];
                let unmet = branches.into_iter().filter(|branches| {
                    let has_all =
                        |node: &Node| node.required.iter().all(|it| fields.contains_key(it));
                    !branches.iter().any(has_all)
                });
                let of_branches = unmet.filter_map(|branches| Some(&branches.first()?.required));
                let required: Vec<&String> = of_branches.flatten().chain(&self.required).collect();
                for name in required {
                    let node = self.properties.get(name);
                    let node = node.filter(|_| !fields.contains_key(name));
                    if let Some(node) = node {
                        fields.insert(name.clone(), node.sample(number));
                    }
                }
                for (name, value) in fields {
                    let listed = self.properties.get(name);
                    if let Some(node) = listed.or(self.additional_properties.as_deref()) {
                        node.fill(value, number);
                    }
                }
            }
            Value::Array(items) => {
                for (item, node) in items.iter_mut().zip(self.items.iter().cycle()) {
                    node.fill(item, number);
                }
            }
            _ => {}
        }
    }

    /// A value, without what it may lack.
    fn sample(&self, number: usize) -> Value {
        let mut values = self
            .r#enum
            .iter()
            .flatten()
            .filter(|it| !it.is_null())
            .cycle();
        if let Some(value) = values.nth(number) {
            return value.clone();
        }
        let least = self
            .minimum
            .map_or(0, |it| it.ceil() as i64 + i64::from(self.exclusive_minimum));
        let most = self.maximum.map_or(i64::MAX, |it| {
            it.floor() as i64 - i64::from(self.exclusive_maximum)
        });
        match self.r#type.as_deref() {
            Some("boolean") => (number > 0).into(),
            Some("string") => match self.format.as_deref() {
                Some("date-time") => format!("1970-01-01T00:00:0{number}Z").into(),
                Some("date") => format!("1970-01-0{}", number + 1).into(),
                _ => number
                    .to_string()
                    .repeat(self.min_length.unwrap_or(1).max(1))
                    .into(),
            },
            Some("array") => {
                let items = self.min_items.unwrap_or(0) + number;
                let node = self.items.iter().cycle().take(items);
                node.zip(number..)
                    .map(|(node, number)| node.sample(number))
                    .collect()
            }
            Some("object") => Value::Object(Map::new()),
            _ => least
                .min(most)
                .saturating_add(number as i64)
                .min(most.max(least))
                .into(),
        }
    }

    /// Removes what the schema does not have from a value, which may be an object with metadata. Returns whether the
    /// value has the right type.
    pub(super) fn prune(&self, value: &mut Value, is_object: bool) -> bool {
        match value {
            Value::Object(fields) => {
                let is_open = self.preserve_unknown_fields || self.r#type.is_none();
                fields.retain(|name, value| {
                    let listed = self.properties.get(name);
                    match listed.or(self.additional_properties.as_deref()) {
                        _ if is_object && is_identity(name) => true,
                        Some(node) => node.prune(value, node.embedded_resource),
                        None => is_open,
                    }
                });
            }
            Value::Array(items) => {
                let mut items = items.iter_mut().zip(self.items.iter().cycle());
                if !items.all(|(item, node)| node.prune(item, node.embedded_resource)) {
                    return false;
                }
            }
            _ => {}
        }
        match value.is_null() {
            true => self.nullable,
            false => self.has_type(value),
        }
    }
}
