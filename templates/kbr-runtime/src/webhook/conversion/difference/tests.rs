// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use serde_json::json;

fn difference(path: &str, from: Option<Value>, to: Option<Value>) -> Difference {
    let path = path.to_owned();
    Difference { path, from, to }
}

#[test]
fn objects_differ_in_fields_and_lists_as_a_whole() {
    let from = json!({"kind": "A", "metadata": 1, "spec": {
        "same": 1, "other": 1, "gone": {"a": 1}, "list": [{"a": 1, "b": 2}], "type": {}, "n": 1,
    }});
    let to = json!({"kind": "B", "metadata": 2, "spec": {
        "same": 1, "other": 2, "new": null, "list": [{"a": 1}], "type": "text", "n": 1.0,
    }});

    let expected = [
        difference("/spec/gone", Some(json!({"a": 1})), None),
        difference(
            "/spec/list",
            Some(json!([{"a": 1, "b": 2}])),
            Some(json!([{"a": 1}])),
        ),
        difference("/spec/n", Some(json!(1)), Some(json!(1.0))),
        difference("/spec/new", None, Some(Value::Null)),
        difference("/spec/other", Some(json!(1)), Some(json!(2))),
        difference("/spec/type", Some(json!({})), Some(json!("text"))),
    ];
    assert_eq!(Difference::between(&from, &to), expected);
}

#[test]
fn a_field_is_put_back_where_it_came_out() {
    let from = json!({"spec": {"a/b~1": {"~": 1, "left": 1}}});
    let to = json!({"spec": {"a/b~1": {"~": null}}});
    let differences = Difference::between(&from, &to);
    let paths: Vec<_> = differences
        .iter()
        .map(|found| found.path.as_str())
        .collect();
    assert_eq!(paths, ["/spec/a~1b~01/left", "/spec/a~1b~01/~0"]);

    let mut object = from;
    for difference in differences {
        assert!(difference.is_valid());
        difference.apply(&mut object);
    }
    assert_eq!(object, to);
}

#[test]
fn fields_changed_in_the_meantime_stay() {
    let put_back = difference("/spec/a", Some(json!(1)), Some(json!(2)));
    for mut changed in [
        json!({"spec": {"a": 3}}),
        json!({"spec": {}}),
        json!({"spec": 1}),
        json!({}),
    ] {
        let before = changed.clone();
        put_back.apply(&mut changed);
        assert_eq!(changed, before);
    }

    // Somebody removed `a` as a whole, so a part of it has no parent to return to.
    let mut removed = json!({"spec": {}});
    difference("/spec/a/b", None, Some(json!(1))).apply(&mut removed);
    assert_eq!(removed, json!({"spec": {}}));
}

#[test]
fn fields_added_inside_a_list_stay() {
    let put_back = difference(
        "/list",
        Some(json!([{"a": 1, "in": {"b": 1}}, {}])),
        Some(json!([{"a": 1, "in": {"b": 1, "lost": 2}}, {"lost": 3}])),
    );
    let mut added = json!({"list": [{"a": 1, "in": {"b": 1, "new": 4}}, {"lost": 5}]});
    put_back.apply(&mut added);
    let expected = json!([{"a": 1, "in": {"b": 1, "lost": 2, "new": 4}}, {"lost": 5}]);
    assert_eq!(added["list"], expected);

    // It is unknown now which items correspond.
    for changed in [
        json!([{"a": 1, "in": {"b": 1}}]),
        json!([{}, {"a": 1, "in": {"b": 1}}]),
        json!([{"a": 2, "in": {"b": 1}}, {}]),
        json!([{"a": 1, "in": {}}, {}]),
        json!([{"a": 1, "in": {"b": 1}}, {}, {}]),
        json!([]),
        json!({}),
    ] {
        let mut object = json!({"list": changed});
        put_back.apply(&mut object);
        assert_eq!(object["list"], changed);
    }
}

#[test]
fn absent_is_not_null_in_text_either() {
    let all = [
        difference("/a", None, Some(Value::Null)),
        difference("/a", Some(Value::Null), None),
    ];
    let text = serde_json::to_string(&all).unwrap();
    assert_eq!(
        text,
        r#"[{"path":"/a","to":null},{"path":"/a","from":null}]"#
    );
    assert_eq!(serde_json::from_str::<Vec<Difference>>(&text).unwrap(), all);
}

#[test]
fn nothing_may_change_the_identity_of_an_object() {
    let invalid = [
        "",
        "a",
        "/kind",
        "/apiVersion",
        "/metadata",
        "/metadata/name",
        "/metadata/annotations/a",
        "/metadata/annotations",
    ];
    for path in invalid {
        assert!(
            !difference(path, None, Some(json!("a"))).is_valid(),
            "{path}"
        );
    }
    assert!(difference("/spec/metadata", None, None).is_valid());
    assert!(Difference::of_annotations(json!({})).is_valid());
    assert!(Difference::of_annotations(Value::Null).is_valid());
}
