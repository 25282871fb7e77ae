// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Patches of chosen and of random changes.

use super::*;
use proptest::prelude::*;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

/// The operations of the patch.
fn operations(raw: &Value, before: &Value, after: &Value) -> Value {
    let [raw, before, after] = [raw, before, after].map(|value| to_raw_value(value).unwrap());
    let patch = patch(&raw, &before, &after).unwrap();
    patch.map_or(Value::Null, |patch| serde_json::from_slice(&patch).unwrap())
}

#[test]
fn nothing_for_no_change() {
    let raw = json!({"unknown": 1, "a": null});
    assert_eq!(
        operations(&raw, &json!({"b": {}}), &json!({"b": {}})),
        Value::Null
    );
}

#[test]
fn only_what_changed_is_patched() {
    let raw = json!({"spec": {"unknown": 1, "a": 1, "b~/": null}});
    let before = json!({"spec": {"a": 1, "empty": {}, "d": 1}});
    let after = json!({"spec": {"a": 2, "empty": {}, "b~/": false, "c": [1]}});

    assert_eq!(
        operations(&raw, &before, &after),
        json!([
            {"op": "replace", "path": "/spec/a", "value": 2},
            {"op": "replace", "path": "/spec/b~0~1", "value": false},
            {"op": "add", "path": "/spec/c", "value": [1]},
        ])
    );
}

#[test]
fn what_is_there_already_is_not_patched() {
    let (before, after) = (json!({}), json!({"a": {"b": 1}}));
    assert_eq!(operations(&after, &before, &after), Value::Null);
}

#[test]
fn items_keep_what_the_type_does_not_know() {
    let raw = json!([{"name": "a", "unknown": 1}, {"name": "b", "unknown": 2}]);
    let before = json!([{"name": "a"}, {"name": "b"}]);

    let sidecar_in_front = json!([{"name": "s"}, {"name": "a"}, {"name": "b"}]);
    assert_eq!(
        operations(&raw, &before, &sidecar_in_front),
        json!([{"op": "add", "path": "/0", "value": {"name": "s"}}])
    );
    let first_gone = json!([{"name": "b"}]);
    assert_eq!(
        operations(&raw, &before, &first_gone),
        json!([{"op": "remove", "path": "/0"}])
    );
    let changed = json!([{"name": "a"}, {"name": "b", "image": "i"}]);
    assert_eq!(
        operations(&raw, &before, &changed),
        json!([{"op": "add", "path": "/1/image", "value": "i"}])
    );
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_i8).prop_map(Value::from),
        "[a~/\"]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map("[ab/~é]{1,2}", inner, 0..4)
                .prop_map(|fields| Value::Object(Map::from_iter(fields))),
        ]
    })
}

/// What must become of `raw`, said in another way than the patch is made.
fn merge(raw: Option<&Value>, before: Option<&Value>, after: Option<&Value>) -> Option<Value> {
    if before == after {
        return raw.cloned();
    }
    match (raw, before, after) {
        (Some(Value::Object(raw)), Some(Value::Object(before)), Some(Value::Object(after))) => {
            let keys = raw.keys().chain(before.keys()).chain(after.keys());
            let merged = |key: &String| {
                let value = merge(raw.get(key), before.get(key), after.get(key))?;
                Some((key.clone(), value))
            };
            Some(Value::Object(keys.filter_map(merged).collect()))
        }
        (Some(Value::Array(raw)), Some(Value::Array(before)), Some(Value::Array(after)))
            if raw.len() == before.len() =>
        {
            let mut ends = [0, 0];
            let shortest = before.len().min(after.len());
            while ends[0] < shortest && before[ends[0]] == after[ends[0]] {
                ends[0] += 1;
            }
            let last = |list: &[Value], end: usize| list[list.len() - 1 - end].clone();
            while ends[0] + ends[1] < shortest && last(before, ends[1]) == last(after, ends[1]) {
                ends[1] += 1;
            }
            let mut merged = raw[..ends[0]].to_vec();
            for index in ends[0]..after.len() - ends[1] {
                let inside = index < before.len() - ends[1];
                let pair = inside.then(|| (&raw[index], &before[index]));
                let (raw, before) = pair.unzip();
                merged.extend(merge(raw, before, Some(&after[index])));
            }
            merged.extend_from_slice(&raw[raw.len() - ends[1]..]);
            Some(Value::Array(merged))
        }
        _ => after.cloned(),
    }
}

/// `raw` with the patch applied by a program of others.
fn patched(raw: &Value, before: &Value, after: &Value) -> Value {
    let mut raw = raw.clone();
    let operations = operations(&raw, before, after);
    if !operations.is_null() {
        let patch: json_patch::Patch = serde_json::from_value(operations).unwrap();
        json_patch::patch(&mut raw, &patch).unwrap();
    }
    raw
}

/// `known` with one more field in each object, such as a type may lack.
fn with_unknown_fields(known: &Value) -> Value {
    match known {
        Value::Object(fields) => {
            let inner = fields
                .iter()
                .map(|(key, value)| (key.clone(), with_unknown_fields(value)));
            let unknown = ("unknown".to_owned(), json!(true));
            Value::Object(inner.chain([unknown]).collect())
        }
        Value::Array(items) => items.iter().map(with_unknown_fields).collect(),
        leaf => leaf.clone(),
    }
}

proptest! {
    #[test]
    fn the_patch_applies_and_gives_the_merge(
        raw in values(), before in values(), after in values(),
    ) {
        let expected = merge(Some(&raw), Some(&before), Some(&after)).unwrap();
        prop_assert_eq!(patched(&raw, &before, &after), expected);
    }

    #[test]
    fn a_type_that_knows_all_has_its_way(before in values(), after in values()) {
        prop_assert_eq!(patched(&before, &before, &after), after);
    }

    #[test]
    fn fields_that_the_type_lacks_stay(before in values(), value in values()) {
        let raw = with_unknown_fields(&before);
        prop_assert_eq!(&patched(&raw, &before, &before), &raw);

        // One more field changes nothing else.
        if let Value::Object(fields) = &before {
            let mut after = fields.clone();
            after.insert("new".to_owned(), value.clone());
            let mut expected = raw.clone();
            expected["new"] = value;
            prop_assert_eq!(patched(&raw, &before, &Value::Object(after)), expected);
        }
    }
}
