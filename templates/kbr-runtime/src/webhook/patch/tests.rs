// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Patches of chosen and of random changes.

use std::collections::{BTreeSet, HashMap};

use super::*;
use proptest::prelude::*;
use serde::Deserialize;
use serde_json::value::to_raw_value;
use serde_json::{Map, Value, json};

/// The operations of the patch.
fn operations(raw: &Value, before: &Value, after: &Value) -> Value {
    let [raw, before, after] = [raw, before, after].map(|value| to_raw_value(value).unwrap());
    let mut patch = Patch::default();
    patch
        .change(Some(&raw), Some(&before), Some(&after))
        .unwrap();
    json!(patch.operations)
}

#[test]
fn nothing_for_no_change() {
    let raw = json!({"unknown": 1, "a": null});
    assert_eq!(
        operations(&raw, &json!({"b": {}}), &json!({"b": {}})),
        json!([])
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
fn existing_values_are_not_patched() {
    let (before, after) = (json!({}), json!({"a": {"b": 1}}));
    assert_eq!(operations(&after, &before, &after), json!([]));
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

#[test]
fn a_set_loses_the_item_that_was_taken_out() {
    let set =
        |items: &[&str]| -> BTreeSet<String> { items.iter().map(|&i| i.to_owned()).collect() };
    let raw = json!({"set": ["b", "a"], "unknown": 1});
    let [before, after] = [&["a", "b"][..], &["b"]].map(|items| Odd {
        set: set(items),
        ..Odd::default()
    });

    let patched = patched(&raw, &before, &after);

    assert_eq!(patched["set"], json!(["b"]));
    assert_eq!(patched["unknown"], 1);
}

#[test]
fn a_field_under_its_alias_is_not_duplicated() {
    let raw = json!({"spec": {"old": "x"}, "unknown": 1});
    let spec = |text: &str| {
        let aliased = text.to_owned();
        BTreeMap::from([(
            "spec".to_owned(),
            Odd {
                aliased,
                ..Odd::default()
            },
        )])
    };

    let result = patched(&raw, &spec("x"), &spec("y"));

    assert_eq!(Odd::deserialize(&result["spec"]).unwrap().aliased, "y");
    assert_eq!(result["unknown"], 1);
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

/// `raw` with the patch applied by a third-party library.
fn patched<T: DeserializeOwned + Serialize>(raw: &Value, before: &T, after: &T) -> Value {
    let text = to_raw_value(raw).unwrap();
    let [before, after] = [before, after].map(|object| to_raw_value(object).unwrap());
    let mut raw = raw.clone();
    if let Some(operations) = patch::<T>(&text, &before, &after).unwrap() {
        let patch: json_patch::Patch = serde_json::from_slice(&operations).unwrap();
        json_patch::patch(&mut raw, &patch).unwrap();
    }
    raw
}

/// What a type can do with JSON.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(rename_all = "camelCase", default)]
struct Odd {
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    set: BTreeSet<String>,
    map: HashMap<String, Option<i64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    option: Option<bool>,
    nullable: Option<String>,
    lists: Vec<Vec<u8>>,
    items: Vec<Item>,
    sorted: BTreeMap<u64, String>,
    #[serde(rename = "a/b~c")]
    renamed: String,
    #[serde(alias = "old")]
    aliased: String,
    #[serde(with = "upper")]
    upper: String,
    big: u64,
    float: f64,
    either: Either,
    #[serde(flatten)]
    flat: Flat,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Item {
    name: String,
    tags: BTreeSet<u8>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    items: Vec<Item>,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
#[serde(default)]
struct Flat {
    flat: i64,
    #[serde(skip_serializing_if = "Option::is_none")]
    flat_option: Option<u64>,
}

#[derive(Clone, Debug, Deserialize, PartialEq, Serialize)]
#[serde(untagged)]
enum Either {
    Number(i64),
    Text(String),
    One { one: i64 },
    Two { two: i64 },
}

impl Default for Either {
    fn default() -> Self {
        Self::Number(0)
    }
}

/// Text that is written differently than it is read.
mod upper {
    use serde::{Deserialize, Deserializer, Serializer};

    pub fn serialize<S: Serializer>(text: &str, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&text.to_uppercase())
    }

    pub fn deserialize<'de, D: Deserializer<'de>>(deserializer: D) -> Result<String, D::Error> {
        Ok(String::deserialize(deserializer)?.to_uppercase())
    }
}

fn small<T: DeserializeOwned + Clone + std::fmt::Debug + 'static>(
    values: Value,
) -> impl Strategy<Value = T> {
    let values: Vec<T> = serde_json::from_value(values).unwrap();
    prop::sample::select(values)
}

fn items() -> impl Strategy<Value = Value> {
    let leaf = Just(json!({"name": "leaf"}));
    leaf.prop_recursive(3, 12, 3, |item| {
        let fields = (
            prop::option::of("[ab]".prop_map(Value::from)),
            prop::option::of(prop::collection::vec(0..4_u8, 0..4).prop_map(Value::from)),
            prop::option::of(prop::collection::vec(item, 0..4).prop_map(Value::from)),
            prop::option::of(Just(json!(1))),
        );
        fields.prop_map(|(name, tags, items, unknown)| {
            fields_of([
                ("name", name),
                ("tags", tags),
                ("items", items),
                ("unknown", unknown),
            ])
        })
    })
}

/// Takes the tags away, which are sorted.
fn strip(item: &mut Value) {
    item.as_object_mut().unwrap().remove("tags");
    if let Some(items) = item["items"].as_array_mut() {
        items.iter_mut().for_each(strip);
    }
    if item["items"].is_null() {
        item.as_object_mut().unwrap().remove("items");
    }
}

fn fields_of<const N: usize>(fields: [(&str, Option<Value>); N]) -> Value {
    let present = |(name, value): (&str, Option<Value>)| Some((name.to_owned(), value?));
    Value::Object(fields.into_iter().filter_map(present).collect())
}

/// What may be sent for an [`Odd`].
fn raw_odd() -> impl Strategy<Value = Value> {
    let some = |values: Value| prop::option::of(small::<Value>(values));
    let lists = (
        prop::option::of(prop::collection::vec("[abc]", 0..4).prop_map(Value::from)),
        prop::option::of(prop::collection::vec(items(), 0..4).prop_map(Value::from)),
        some(json!([[], [[]], [[1], [2, 3]], [[0, 0], [], [7]]])),
    );
    let maps = (
        some(json!([{}, {"a": 1, "b": null, "c/~": 2}])),
        some(json!([{}, {"1": "a", "20": "b"}, {"18446744073709551615": "x"}])),
    );
    let leaves = (
        some(json!([null, true])),
        some(json!([null, "text"])),
        some(json!(["", "x"])),
        some(json!(["p", "Q"])),
        some(json!([0, u64::MAX, 9_007_199_254_740_993_u64])),
        some(json!([1, 1.0, 0.1, 1e300, -0.0])),
    );
    let others = (
        some(json!([1, "1", {"one": 1}, {"two": 2, "unknown": 1}])),
        some(json!([i64::MIN, 3])),
        some(json!([null, u64::MAX])),
        some(json!([1, null, {"a": 1}])),
        prop::option::of((any::<bool>(), "[a-c]")),
    );
    (lists, maps, leaves, others).prop_map(|(lists, maps, leaves, others)| {
        let mut odd = fields_of([
            ("set", lists.0),
            ("items", lists.1),
            ("lists", lists.2),
            ("map", maps.0),
            ("sorted", maps.1),
            ("option", leaves.0),
            ("nullable", leaves.1),
            ("a/b~c", leaves.2),
            ("upper", leaves.3),
            ("big", leaves.4),
            ("float", leaves.5),
            ("either", others.0),
            ("flat", others.1),
            ("flat_option", others.2),
            ("unknown", others.3),
        ]);
        if let Some((is_old, text)) = others.4 {
            odd[if is_old { "old" } else { "aliased" }] = json!(text);
        }
        odd
    })
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
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// The oracles are json-patch and what serde reads.
    #[test]
    fn the_patched_object_is_read_as_the_object_with_its_defaults(
        raw in raw_odd(), other in raw_odd(), parts: [bool; 14],
    ) {
        let before = Odd::deserialize(&raw).unwrap();
        // As a defaulter does: some fields are unchanged, and others are not.
        let mut after = before.clone();
        let other = Odd::deserialize(&other).unwrap();
        macro_rules! set {
            ($($field:ident),*) => {{
                let mut parts = parts.into_iter();
                $(if parts.next().unwrap() { after.$field = other.$field.clone(); })*
            }};
        }
        set!(set, map, option, nullable, lists, items, sorted, renamed, aliased, upper, big, float, either, flat);

        let spec = |odd: &Odd| BTreeMap::from([("spec", odd.clone())]);
        let spec = |odd: &Odd| -> BTreeMap<String, Odd> {
            spec(odd).into_iter().map(|(name, odd)| (name.to_owned(), odd)).collect()
        };
        let result = patched(&json!({"spec": raw}), &spec(&before), &spec(&after));
        let read = Odd::deserialize(&result["spec"]);
        prop_assert!(read.is_ok(), "{:?} in {}", read, result);
        prop_assert_eq!(read.unwrap(), after);
        if !parts[8] {
            prop_assert_eq!(result["spec"].get("unknown"), raw.get("unknown"));
        }
    }

    /// One item of a list is changed, and all others stay the same.
    #[test]
    fn a_changed_item_takes_nothing_from_the_others(
        raw in prop::collection::vec(items(), 1..4), place: prop::sample::Index,
    ) {
        let sorted = |items: &[Value]| {
            let mut items: Vec<Item> = Vec::deserialize(json!(items)).unwrap();
            items.iter_mut().for_each(|item| item.tags.clear());
            items
        };
        let raw: Vec<Value> = raw.iter().map(|item| {
            let mut item = item.clone();
            strip(&mut item);
            item
        }).collect();
        let before = sorted(&raw);
        let mut after = before.clone();
        let place = place.index(raw.len());
        after[place].name = "new".to_owned();

        let mut expected = raw.clone();
        expected[place]["name"] = json!("new");
        prop_assert_eq!(patched(&json!(raw), &before, &after), json!(expected));
    }

    #[test]
    fn a_type_that_knows_all_fields_gets_its_result(before in values(), after in values()) {
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
