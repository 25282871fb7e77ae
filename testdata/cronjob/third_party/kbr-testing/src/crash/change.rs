// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Changes of a sample that nobody has written down: of one number, boolean or text of its `spec`.

use serde_json::{Value, json};

/// The document with each change that could be made, and what that change is. Those of texts, which more often have a
/// format, come last.
pub(super) fn candidates(document: &Value) -> Vec<(String, Value)> {
    let mut leaves = Vec::new();
    collect(&document["spec"], "/spec", &mut leaves);
    leaves.sort_by_key(|(_, value)| value.is_string());
    let changed = leaves.into_iter().flat_map(|(pointer, old)| {
        let pointer = &pointer;
        let changed = others(&old).into_iter().filter_map(move |new| {
            let mut changed = document.clone();
            let what = format!("{} from {old} to {new}", readable(pointer));
            *changed.pointer_mut(pointer)? = new;
            Some((what, changed))
        });
        changed.collect::<Vec<_>>()
    });
    changed.collect()
}

/// The numbers, booleans and texts with their JSON pointers.
fn collect(value: &Value, pointer: &str, leaves: &mut Vec<(String, Value)>) {
    match value {
        Value::Number(_) | Value::Bool(_) | Value::String(_) => {
            leaves.push((pointer.to_owned(), value.clone()))
        }
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                collect(item, &format!("{pointer}/{index}"), leaves);
            }
        }
        Value::Object(fields) => {
            for (key, field) in fields {
                let key = key.replace('~', "~0").replace('/', "~1");
                collect(field, &format!("{pointer}/{key}"), leaves);
            }
        }
        Value::Null => {}
    }
}

/// The nearest other values: the larger number first.
fn others(value: &Value) -> Vec<Value> {
    match (value, value.as_i64()) {
        (Value::Bool(is_true), _) => vec![json!(!is_true)],
        (Value::String(text), _) => vec![json!(format!("{text}x"))],
        (_, Some(number)) => vec![
            json!(number.saturating_add(1)),
            json!(number.saturating_sub(1)),
        ],
        _ => Vec::new(),
    }
}

fn readable(pointer: &str) -> String {
    let path = pointer.trim_start_matches('/').replace('/', ".");
    path.replace("~1", "/").replace("~0", "~")
}
