// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Nothing is lost, whatever the mapping and the object, and edits in between are kept.

use std::hash::{DefaultHasher, Hash, Hasher};

use proptest::prelude::*;
use serde_json::json;

use super::annotation::MOST;
use super::*;

const ANNOTATION: &str = "example.com/converted-fields";

type Function = Box<dyn Fn(&Value) -> Value>;

/// Converts from one version to another with these functions, which succeed.
fn convert(
    object: &Value,
    (from, to): (&str, &str),
    forward: &Function,
    backward: &Function,
) -> Value {
    let conversion = Conversion {
        annotation: ANNOTATION,
        group: "example.com",
        from,
        to,
        forward: &|object| Ok(forward(object)),
        backward: &|object| Ok(backward(object)),
        errors: &|_| Errors::default(),
        fill: &|_, _| {},
        prune: &|_| {},
        is_read: from == "hub" || from == "v1",
    };
    let converted = conversion.convert(&object.to_string()).unwrap();
    serde_json::from_str(&converted).unwrap()
}

/// v1 has a `schedule`; v2 has only its `minute`, and no `zone`. v2 has a `name`.
fn to_v2(v1: &Value) -> Value {
    let schedule = v1["spec"]["schedule"].as_str().unwrap_or_default();
    let minute = schedule.split(' ').next();
    json!({"spec": {"minute": minute, "steps": v1["spec"]["steps"]}})
}

fn to_v1(v2: &Value) -> Value {
    let schedule = format!("{} *", v2["spec"]["minute"].as_str().unwrap_or_default());
    let mut steps = v2["spec"]["steps"].clone();
    for step in steps.as_array_mut().into_iter().flatten() {
        step.as_object_mut().unwrap().remove("secret");
    }
    json!({"spec": {"schedule": schedule, "steps": steps}})
}

fn v1_to_v2(object: &Value) -> Value {
    let (to_v2, to_v1): (Function, Function) = (Box::new(to_v2), Box::new(to_v1));
    convert(object, ("v1", "v2"), &to_v2, &to_v1)
}

fn v2_to_v1(object: &Value) -> Value {
    let (to_v2, to_v1): (Function, Function) = (Box::new(to_v2), Box::new(to_v1));
    convert(object, ("v2", "v1"), &to_v1, &to_v2)
}

fn v1() -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Job",
        "metadata": {"name": "a", "annotations": {"mine": "stays"}},
        "spec": {"schedule": "5 @daily", "zone": "Berlin", "steps": [{"run": "a", "secret": 1}]},
        "status": {"runs": 3},
    })
}

#[test]
fn fields_that_the_other_version_lacks_are_in_the_annotation() {
    let v2 = v1_to_v2(&v1());

    let carried = concat!(
        r#"{"v1":["#,
        r#"{"path":"/spec/schedule","from":"5 *","to":"5 @daily"},"#,
        r#"{"path":"/spec/steps","from":[{"run":"a"}],"to":[{"run":"a","secret":1}]},"#,
        r#"{"path":"/spec/zone","to":"Berlin"},"#,
        r#"{"path":"/status","to":{"runs":3}}]}"#,
    );
    let expected = json!({
        "apiVersion": "example.com/v2",
        "kind": "Job",
        "metadata": {"name": "a", "annotations": {"mine": "stays", ANNOTATION: carried}},
        "spec": {"minute": "5", "steps": [{"run": "a", "secret": 1}]},
    });
    assert_eq!(v2, expected);
    assert_eq!(v2_to_v1(&v2), v1());
}

#[test]
fn an_edit_wins_and_leaves_the_rest_alone() {
    let mut v2 = v1_to_v2(&v1());
    v2["spec"]["minute"] = json!("7");

    let mut expected = v1();
    expected["spec"]["schedule"] = json!("7 *");
    assert_eq!(v2_to_v1(&v2), expected);

    v2["spec"]["steps"] = json!([]);
    expected["spec"]["steps"] = json!([]);
    assert_eq!(v2_to_v1(&v2), expected);
}

#[test]
fn edits_in_both_versions_are_kept() {
    let mut v2 = v1_to_v2(&v1());
    v2["spec"]["name"] = json!("only in v2");
    let mut v1 = v2_to_v1(&v2);
    v1["spec"]["zone"] = json!("Rome");

    let again = v1_to_v2(&v1);
    assert_eq!(again["spec"], v2["spec"]);
    assert_eq!(v2_to_v1(&again), v1);
}

/// The API server sets a `default` from the schema of v2.
#[test]
fn a_default_of_the_other_version_keeps_nothing_from_coming_back() {
    let mut v2 = v1_to_v2(&v1());
    v2["spec"]["name"] = json!("default");
    v2["spec"]["limits"] = json!({"cpu": 1});
    v2["spec"]["steps"][0]["policy"] = json!("default");

    let back = v2_to_v1(&v2);
    let mut expected = v1();
    expected["spec"]["steps"][0]["policy"] = json!("default");
    assert_eq!(back["spec"], expected["spec"]);
    assert_eq!(back["status"], expected["status"]);
    assert_eq!(v1_to_v2(&back)["spec"], v2["spec"]);
}

/// It cannot be told apart from an edit.
#[test]
fn a_default_that_a_field_is_mapped_from_is_an_edit() {
    let mut v2 = v1_to_v2(&v1());
    v2["spec"]["minute"] = json!("0");

    let mut expected = v1();
    expected["spec"]["schedule"] = json!("0 *");
    assert_eq!(v2_to_v1(&v2), expected);
}

/// The API server prunes fields that the schema of v2 does not know.
#[test]
fn pruning_keeps_nothing_from_coming_back() {
    let mut v2 = v1_to_v2(&v1());
    v2["spec"]["steps"][0]
        .as_object_mut()
        .unwrap()
        .remove("secret");

    let back = v2_to_v1(&v2);
    assert_eq!(back["spec"], v1()["spec"]);
    assert_eq!(v1_to_v2(&back), v2);
}

#[test]
fn without_a_loss_there_is_no_annotation() {
    let v1 = json!({
        "apiVersion": "example.com/v1", "kind": "Job", "metadata": {},
        "spec": {"schedule": "5 *", "steps": []},
    });
    let v2 = v1_to_v2(&v1);
    assert_eq!(v2["metadata"], json!({}));
    assert_eq!(v2_to_v1(&v2), v1);
}

/// The API server prunes objects for server-side apply, and converts what is left.
#[test]
fn an_object_without_metadata_gets_some_with_nothing_in_it() {
    let v1 = json!({
        "apiVersion": "example.com/v1", "kind": "Job",
        "spec": {"schedule": "@hourly", "zone": "Europe/Berlin"},
    });

    assert_eq!(v1_to_v2(&v1)["metadata"], json!({}));
}

/// As when somebody writes an object again from what another version showed.
#[test]
fn fields_carried_for_the_current_version_are_out_of_date() {
    let mut v1 = json!({
        "apiVersion": "example.com/v1", "kind": "Job", "metadata": {},
        "spec": {"schedule": "5 *", "steps": []},
    });
    let text = r#"{"v1":[{"path":"/spec/zone","to":"Berlin"}]}"#;
    v1["metadata"]["annotations"] = json!({ANNOTATION: text});

    let v2 = v1_to_v2(&v1);
    assert_eq!(v2["metadata"], json!({}));
    assert_eq!(v2_to_v1(&v2)["spec"], v1["spec"]);
}

#[test]
fn a_foreign_annotation_is_ignored() {
    for text in [
        json!("no JSON"),
        json!(["a list"]),
        json!(null),
        json!({}),
        json!("{\"v2\":[{\"path\":\"/metadata/name\",\"from\":\"a\",\"to\":\"b\"}]}"),
        json!("{\"v2\":[{\"path\":\"/kind\",\"from\":\"Job\",\"to\":\"Pod\"}]}"),
        json!("{\"v2\":[{\"path\":\"/spec/steps\",\"more\":1}]}"),
    ] {
        let mut object = json!({
            "apiVersion": "example.com/v1", "kind": "Job",
            "metadata": {"name": "a", "annotations": {ANNOTATION: text}},
            "spec": {"schedule": "5 *", "steps": []},
        });
        let v2 = v1_to_v2(&object);
        assert_eq!(v2["metadata"], object["metadata"]);
        assert_eq!(v2_to_v1(&v2), object);

        // It makes room for what must be carried.
        object["spec"]["zone"] = json!("Berlin");
        let v1 = v2_to_v1(&v1_to_v2(&object));
        assert_eq!(v1["spec"], object["spec"]);
    }
}

#[test]
fn no_object_is_too_odd() {
    for object in [
        json!({}),
        json!({"metadata": null, "spec": 1}),
        json!({"metadata": {"annotations": "text"}, "spec": {"zone": 1}}),
    ] {
        v2_to_v1(&v1_to_v2(&object));
    }
}

/// A function on JSON that nobody would write: it drops, renames, replaces and adds fields depending on
/// its number, differently in each object.
fn function(number: u64) -> Function {
    Box::new(move |object| {
        let mut fields = scramble(number, object).as_object().cloned().unwrap();
        if number.is_multiple_of(3) {
            // The result depends on the whole input.
            let sum = hash(number, &object.to_string()) % 4;
            fields.insert("spec".to_owned(), json!({"a": sum}));
        }
        Value::Object(fields)
    })
}

fn hash(number: u64, text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    (number, text).hash(&mut hasher);
    hasher.finish()
}

fn scramble(number: u64, value: &Value) -> Value {
    let chance = hash(number, &value.to_string());
    match value {
        Value::Object(fields) => {
            let fields = fields.iter().filter_map(|(name, value)| {
                let chance = hash(number, name);
                let value = match chance % 7 {
                    0 => return None,
                    1 => json!(chance % 3),
                    2 => value.clone(),
                    3 => json!({"a": value}),
                    _ => scramble(number, value),
                };
                let name = if chance.is_multiple_of(11) {
                    "b"
                } else {
                    name.as_str()
                };
                Some((name.to_owned(), value))
            });
            Value::Object(fields.collect())
        }
        Value::Array(items) if !chance.is_multiple_of(3) => {
            let items = items
                .iter()
                .filter(|item| !hash(number, &item.to_string()).is_multiple_of(3));
            Value::Array(items.map(|item| scramble(number, item)).collect())
        }
        _ if chance.is_multiple_of(3) => Value::Null,
        value => value.clone(),
    }
}

fn names() -> impl Strategy<Value = String> {
    const NAMES: [&str; 10] = [
        "a", "b", "c", "a/b", "~", "~1", "", "metadata", "kind", "spec",
    ];
    prop::sample::select(&NAMES[..]).prop_map(str::to_owned)
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_u64).prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "[a/~\"\\\\]{0,3}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 32, 4, |value| {
        prop_oneof![
            prop::collection::vec(value.clone(), 0..3).prop_map(Value::Array),
            fields(value).prop_map(Value::Object),
        ]
    })
}

fn fields(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Map<String, Value>> {
    prop::collection::btree_map(names(), value, 0..4)
        .prop_map(|fields| fields.into_iter().collect())
}

/// Annotations that an object may have.
fn annotations() -> impl Strategy<Value = Option<Value>> {
    prop_oneof![
        Just(None),
        Just(Some(Value::Null)),
        Just(Some(json!({}))),
        Just(Some(json!({"a": "b"}))),
    ]
}

fn objects(version: &'static str) -> impl Strategy<Value = Value> {
    (fields(values()), annotations()).prop_map(move |(fields, annotations)| {
        let mut object = json!({"metadata": {"name": "a", "uid": "u"}});
        for (name, value) in fields {
            if name != "metadata" {
                object[&name] = value;
            }
        }
        object["apiVersion"] = json!(format!("example.com/{version}"));
        object["kind"] = json!("Job");
        if let Some(annotations) = annotations {
            object["metadata"]["annotations"] = annotations;
        }
        object
    })
}

/// Two arbitrary functions.
fn functions() -> impl Strategy<Value = (u64, u64)> {
    (0..1000_u64, 0..1000_u64)
}

fn config() -> ProptestConfig {
    ProptestConfig {
        failure_persistence: None,
        ..ProptestConfig::default()
    }
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_round_trip_loses_nothing(object in objects("v1"), (there, back) in functions()) {
        let (there, back) = (function(there), function(back));

        let v2 = convert(&object, ("v1", "v2"), &there, &back);
        prop_assert_eq!(&v2, &convert(&object, ("v1", "v2"), &there, &back));
        let mut metadata = v2["metadata"].clone();
        if let Some(annotations) = metadata["annotations"].as_object_mut() {
            annotations.remove(ANNOTATION);
        }
        prop_assert_eq!(&metadata["name"], "a");
        let v1 = convert(&v2, ("v2", "v1"), &back, &there);
        prop_assert_eq!(&v1, &object);
        prop_assert_eq!(&convert(&v1, ("v1", "v2"), &there, &back), &v2);
    }

    #[test]
    fn several_spokes_do_not_meet(
        object in objects("a"),
        (a_hub, hub_a) in functions(),
        (b_hub, hub_b) in functions(),
    ) {
        let (a_hub, hub_a) = (function(a_hub), function(hub_a));
        let (b_hub, hub_b) = (function(b_hub), function(hub_b));

        let hub = convert(&object, ("a", "hub"), &a_hub, &hub_a);
        let b = convert(&hub, ("hub", "b"), &hub_b, &b_hub);
        let hub_again = convert(&b, ("b", "hub"), &b_hub, &hub_b);
        prop_assert_eq!(&hub_again, &hub);
        prop_assert_eq!(&convert(&hub_again, ("hub", "a"), &hub_a, &a_hub), &object);
    }

    #[test]
    fn the_result_of_an_edit_is_kept_too(
        object in objects("v1"),
        edited in fields(values()),
        (there, back) in functions(),
    ) {
        let (there, back) = (function(there), function(back));

        let mut v2 = convert(&object, ("v1", "v2"), &there, &back);
        v2["spec"] = Value::Object(edited);
        let v1 = convert(&v2, ("v2", "v1"), &back, &there);
        let again = convert(&v1, ("v1", "v2"), &there, &back);
        prop_assert_eq!(&again["spec"], &v2["spec"]);
        prop_assert_eq!(&convert(&again, ("v2", "v1"), &back, &there), &v1);
    }

    #[test]
    fn no_annotation_is_too_odd(
        object in objects("v1"),
        differences in prop::collection::vec((".{0,4}", values(), values()), 0..3),
        (there, back) in functions(),
    ) {
        let mut object = object;
        let differences: Vec<_> = differences
            .iter()
            .map(|(path, from, to)| json!({"path": format!("/spec{path}"), "from": from, "to": to}))
            .collect();
        let text = json!({"v1": differences, "v2": differences}).to_string();
        object["metadata"]["annotations"] = json!({ANNOTATION: text});
        let (there, back) = (function(there), function(back));

        let v2 = convert(&object, ("v1", "v2"), &there, &back);
        prop_assert_eq!(&v2["metadata"]["name"], "a");
        let v1 = convert(&v2, ("v2", "v1"), &back, &there);
        prop_assert_eq!(&v1["spec"], &object["spec"]);
    }
}

/// The length that an API server counts for annotations, including their names.
fn length(object: &Value) -> usize {
    let annotations = object["metadata"]["annotations"].as_object();
    let length = |(name, value): (&String, &Value)| name.len() + value.as_str().unwrap().len();
    annotations.into_iter().flatten().map(length).sum()
}

#[test]
fn annotations_are_never_longer_than_an_api_server_reads() {
    let mut long = v1();
    let others = r#"{"v3":[{"path":"/spec/c","to":1}]}"#;
    long["metadata"]["annotations"][ANNOTATION] = json!(others);
    long["spec"]["zone"] = json!("");
    let rest = MOST - length(&v1_to_v2(&long));

    long["spec"]["zone"] = json!("z".repeat(rest));
    let v2 = v1_to_v2(&long);
    assert_eq!(length(&v2), MOST);
    assert_eq!(v2_to_v1(&v2), long);

    // A part of an object is not stored.
    long["spec"]["zone"] = json!("z".repeat(rest + 1));
    let v2 = v1_to_v2(&long);
    assert_eq!(v2["metadata"], long["metadata"]);
    assert_eq!(v2["spec"]["minute"], "5");
}

/// A conversion of objects whose `spec` v2 shows as `shown`, if it can.
fn try_convert(object: &Value, (from, to): (&str, &str)) -> Result<Value, String> {
    let fail = |object: &Value| match object["spec"]["bad"].as_str() {
        Some(cause) => Err(cause.to_owned()),
        None => Ok(json!({"spec": object["spec"]})),
    };
    let conversion = Conversion {
        annotation: ANNOTATION,
        group: "example.com",
        from,
        to,
        forward: &fail,
        backward: &fail,
        errors: &|object| {
            let mut errors = Errors::default();
            if object["spec"]["size"].is_string() {
                errors.pointers.insert("/spec/size".to_owned());
            }
            errors
        },
        fill: &|_, _| {},
        prune: &|_| {},
        is_read: from == "v1",
    };
    let converted = conversion.convert(&object.to_string())?;
    Ok(serde_json::from_str(&converted).unwrap())
}

fn bad() -> Value {
    json!({
        "apiVersion": "example.com/v1",
        "kind": "Job",
        "metadata": {"name": "a", "uid": "u", "generation": 3},
        "spec": {"bad": "a port", "gone": 1},
        "status": {"runs": 3, "more": 1},
    })
}

/// Prunes the object as the API server does with its schema of v2.
fn prune(object: &mut Value) {
    object["spec"].as_object_mut().unwrap().remove("gone");
    object["spec"]["size"] = json!("default");
    object["status"].as_object_mut().unwrap().remove("more");
}

#[test]
fn a_failed_conversion_to_the_stored_version_has_a_cause() {
    let mut v2 = bad();
    v2["apiVersion"] = json!("example.com/v2");

    assert_eq!(try_convert(&v2, ("v2", "v1")), Err("a port".to_owned()));
}

/// Server-side apply converts such partial objects, as seen with API server 1.36.
#[test]
fn a_partial_object_is_copied_as_it_is() {
    let parts = [
        json!({"name": "a"}),
        json!({"name": "a", "uid": "u", "resourceVersion": "7", "managedFields": [{}]}),
    ];
    for ((from, to), metadata) in [("v1", "v2"), ("v2", "v1"), ("v2", "v1")]
        .into_iter()
        .zip(parts.iter().cycle().cloned())
    {
        let mut part = bad();
        part["metadata"] = metadata;
        part["apiVersion"] = json!(format!("example.com/{from}"));
        let mut expected = part.clone();
        expected["apiVersion"] = json!(format!("example.com/{to}"));

        assert_eq!(try_convert(&part, (from, to)), Ok(expected));
    }
}

#[test]
fn an_object_that_cannot_be_shown_comes_back_unless_it_is_changed() {
    let v1 = bad();
    let mut v2 = try_convert(&v1, ("v1", "v2")).unwrap();
    assert_eq!(v2["apiVersion"], "example.com/v2");
    assert_eq!(v2["spec"], v1["spec"]);
    assert_eq!(try_convert(&v2, ("v2", "v1")).as_ref(), Ok(&v1));
    prune(&mut v2);
    assert_eq!(try_convert(&v2, ("v2", "v1")).as_ref(), Ok(&v1));

    // Metadata is the same in each version.
    v2["metadata"]["labels"] = json!({"a": "b"});
    let mut labelled = v1.clone();
    labelled["metadata"]["labels"] = json!({"a": "b"});
    assert_eq!(try_convert(&v2, ("v2", "v1")).as_ref(), Ok(&labelled));

    let mut changed = v2.clone();
    changed["metadata"]["generation"] = json!(4);
    let cause = try_convert(&changed, ("v2", "v1")).unwrap_err();
    assert!(cause.contains("was changed there"), "{cause}");
    assert!(cause.contains(ANNOTATION), "{cause}");

    // The generation does not count changes of the status.
    for status in [json!({"runs": 4}), json!({"runs": 3, "new": 1})] {
        let mut changed = v2.clone();
        changed["status"] = status;
        let cause = try_convert(&changed, ("v2", "v1")).unwrap_err();
        assert!(cause.contains("was changed there"), "{cause}");
    }

    // Without the annotation, the object of v2 is the desired one.
    let mut replaced = v2.clone();
    replaced["spec"] = json!({"size": 1});
    replaced["metadata"] = json!({"name": "a", "uid": "u", "generation": 4});
    let v1 = try_convert(&replaced, ("v2", "v1")).unwrap();
    assert_eq!(v1["spec"], json!({"size": 1}));
}

/// A deletion increments the generation.
#[test]
fn an_object_that_cannot_be_shown_can_be_deleted() {
    let mut v2 = try_convert(&bad(), ("v1", "v2")).unwrap();
    prune(&mut v2);
    v2["metadata"]["generation"] = json!(4);
    v2["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");

    let v1 = try_convert(&v2, ("v2", "v1")).unwrap();
    assert_eq!(v1["spec"], bad()["spec"]);

    // Its finalizer is removed.
    let v2 = try_convert(&v1, ("v1", "v2")).unwrap();
    assert_eq!(try_convert(&v2, ("v2", "v1")), Ok(v1));
}

/// Whatever the annotation says: an object that nobody can convert must not keep its namespace from being deleted.
#[test]
fn an_object_that_is_being_deleted_is_always_converted() {
    let deleting = |mut object: Value| {
        object["metadata"]["generation"] = json!(4);
        object["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        object
    };
    // The type cannot read it, and the schema does not allow it any more.
    let mut invalid = bad();
    invalid["spec"]["size"] = json!("large");
    let v2 = try_convert(&invalid, ("v1", "v2")).unwrap();
    let refused = try_convert(&v2, ("v2", "v1")).unwrap_err();
    assert!(refused.contains("holds no object of v1"), "{refused}");
    let v1 = try_convert(&deleting(v2), ("v2", "v1")).unwrap();
    assert_eq!(v1["spec"], invalid["spec"]);

    // Too long for an annotation, or changed.
    let mut long = bad();
    long["spec"]["text"] = json!("x".repeat(MOST));
    let v2 = try_convert(&long, ("v1", "v2")).unwrap();
    try_convert(&v2, ("v2", "v1")).unwrap_err();
    let v1 = try_convert(&deleting(v2), ("v2", "v1")).unwrap();
    assert_eq!(v1["spec"], long["spec"]);
    let mut changed = deleting(try_convert(&bad(), ("v1", "v2")).unwrap());
    changed["metadata"]["generation"] = json!(9);
    let v1 = try_convert(&changed, ("v2", "v1")).unwrap();
    assert_eq!(v1["spec"], bad()["spec"]);
}

/// A finalizer may depend on the field.
#[test]
fn a_change_of_an_object_that_is_being_deleted_is_not_dropped() {
    let mut v2 = try_convert(&bad(), ("v1", "v2")).unwrap();
    v2["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
    try_convert(&v2, ("v2", "v1")).unwrap();
    let spec = v2["spec"].as_object_mut().unwrap();
    let field = spec.values_mut().next().unwrap();
    *field = json!("another");
    let refused = try_convert(&v2, ("v2", "v1")).unwrap_err();
    assert!(refused.contains("was changed there"), "{refused}");
}

#[test]
fn an_object_that_is_too_deep_cannot_be_shown_and_comes_back() {
    for depth in [101, 130, 9_000] {
        let (open, close) = ("[".repeat(depth), "]".repeat(depth));
        let text = |version: &str, metadata: &str| {
            format!(
                r#"{{"apiVersion":"example.com/{version}","kind":"Job","metadata":{metadata},"spec":{{"deep":{open}{close}}}}}"#
            )
        };
        let metadata = r#"{"generation":1,"name":"a","uid":"u"}"#;
        let convert = |text: &str, from: &str, to: &str| {
            Conversion {
                annotation: ANNOTATION,
                group: "example.com",
                from,
                to,
                forward: &|object| Ok(object.clone()),
                backward: &|object| Ok(object.clone()),
                errors: &|_| Errors::default(),
                fill: &|_, _| {},
                prune: &|_| {},
                is_read: from == "v1",
            }
            .convert(text)
        };

        let v2 = convert(&text("v1", metadata), "v1", "v2").unwrap();
        assert!(v2.contains(&format!(r#""spec":{{"deep":{open}{close}}}"#)));
        assert_eq!(convert(&v2, "v2", "v1"), Ok(text("v1", metadata)));
        // What the API server prunes is restored.
        let pruned = v2.replace(
            &format!(r#""spec":{{"deep":{open}{close}}}"#),
            r#""spec":{}"#,
        );
        assert_eq!(convert(&pruned, "v2", "v1"), Ok(text("v1", metadata)));

        let cause = convert(&text("v2", metadata), "v2", "v1").unwrap_err();
        let levels = format!("it has {} levels", depth + 2);
        assert!(cause.starts_with(&levels), "{cause}");
    }
}

/// A value at the limit may be carried in an annotation, and must be readable there.
#[test]
fn nothing_is_lost_just_below_the_limit_of_depth() {
    for depth in 90..110 {
        let mut deep = json!({"apiVersion": "example.com/v1", "kind": "Job", "metadata": {
            "name": "a", "uid": "u", "generation": 1,
        }});
        let nested = format!("{}{}", "[".repeat(depth), "]".repeat(depth));
        deep["a"] = serde_json::from_str(&nested).unwrap();
        let nothing: Function = Box::new(|_| json!({}));

        let v2 = convert(&deep, ("v1", "v2"), &nothing, &nothing);
        assert_eq!(convert(&v2, ("v2", "v1"), &nothing, &nothing), deep);
    }
}

#[test]
fn an_object_too_long_to_be_carried_is_shown_and_not_overwritten() {
    let shown = |object: &Value| -> Result<Value, String> {
        Ok(json!({"spec": {"minute": object["spec"]["minute"]}}))
    };
    let convert = |object: &Value, (from, to): (&str, &str)| {
        let conversion = Conversion {
            annotation: ANNOTATION,
            group: "example.com",
            from,
            to,
            forward: &shown,
            backward: &shown,
            errors: &|_| Errors::default(),
            fill: &|_, _| {},
            prune: &|_| {},
            is_read: from == "v1",
        };
        let converted = conversion.convert(&object.to_string())?;
        Ok::<Value, String>(serde_json::from_str(&converted).unwrap())
    };
    let mut object = bad();
    object["spec"] = json!({"minute": 1, "zone": "z".repeat(MOST)});

    let v2 = convert(&object, ("v1", "v2")).unwrap();
    assert_eq!(v2["spec"], json!({"minute": 1}));
    assert!(length(&v2) <= MOST);
    let cause = convert(&v2, ("v2", "v1")).unwrap_err();
    assert!(cause.contains("too long for an annotation"), "{cause}");

    object["apiVersion"] = json!("example.com/v2");
    let cause = convert(&object, ("v2", "v1")).unwrap_err();
    assert!(cause.contains("too long for an annotation"), "{cause}");
}

#[test]
fn a_whole_object_in_the_annotation_must_have_the_schema_of_its_version() {
    let mut v2 = try_convert(&bad(), ("v1", "v2")).unwrap();
    let forged = |spec: Value| {
        let note = json!({"v1": {"generation": 3, "fields": {"spec": spec}}});
        json!(note.to_string())
    };
    v2["status"] = json!({});
    v2["metadata"]["annotations"][ANNOTATION] = forged(json!({"size": "text"}));
    let cause = try_convert(&v2, ("v2", "v1")).unwrap_err();
    assert!(cause.contains("holds no object of v1"), "{cause}");
}
