//! What is explained, and what stays a break although it looks like it.

use serde_json::{Value, json};

use super::*;
use crate::manifests::compat;

const NAME: &str = "things.example.com";

/// A CRD whose `spec.field` has this schema.
fn crd(field: &Value, annotations: &Value) -> Value {
    json!({
        "metadata": { "name": NAME, "annotations": annotations },
        "spec": { "scope": "Namespaced", "names": { "kind": "Thing", "plural": "things" }, "versions": [{
            "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": {
                "type": "object",
                "properties": { "spec": { "type": "object", "properties": { "field": field } } },
            } },
        }] },
    })
}

/// The only break from one CRD to the other, and why it cannot be avoided. `foreign` is the path of a type of Kubernetes.
fn forth(given: Value, own: Value, foreign: &str) -> (String, Option<&'static str>) {
    let (given, own) = ([given], [own]);
    let mut breaks = compat::compare(&given, &own);
    breaks.retain(|change| change.is_break);
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    let why = super::forth(
        &breaks[0],
        &Fields::of(&given),
        &Fields::of(&own),
        &at(foreign),
    );
    (breaks.remove(0).what, why)
}

fn back(given: Value, own: Value, foreign: &str) -> (String, Option<&'static str>) {
    let (given, own) = ([given], [own]);
    let mut breaks = compat::compare(&own, &given);
    breaks.retain(|change| change.is_break);
    assert_eq!(breaks.len(), 1, "{breaks:?}");
    let why = super::rollback(&breaks[0], &Fields::of(&own), &at(foreign));
    (breaks.remove(0).what, why)
}

fn at(path: &str) -> Foreign {
    [(NAME.to_owned(), "v1".to_owned(), path.to_owned())].into()
}

fn none() -> Value {
    json!({})
}

#[test]
fn the_pattern_of_a_time_is_that_of_kubernetes() {
    let given = || crd(&json!({ "type": "string", "format": "date-time" }), &none());
    let bound = json!({ "type": "string", "format": "date-time", "pattern": "^2" });
    let own = || crd(&bound, &none());
    assert_eq!(
        forth(given(), own(), "spec.field"),
        ("pattern".to_owned(), Some(OF_TIME))
    );
    // A pattern that somebody wrote beside a string is a break.
    assert_eq!(forth(given(), own(), "spec.other").1, None);
    assert_eq!(forth(given(), own(), "spec.fiel").1, None);
    let with = |pattern: &str| {
        crd(
            &json!({ "type": "string", "format": "date-time", "pattern": pattern }),
            &none(),
        )
    };
    assert_eq!(forth(with("^1"), with("^2"), "spec.field").1, None);
}

#[test]
fn integers_have_32_bits_where_no_go_could_read_more() {
    let either = json!({ "x-kubernetes-int-or-string": true });
    let bound = json!({ "x-kubernetes-int-or-string": true, "maximum": i32::MAX });
    let of_go = || json!({ "controller-gen.kubebuilder.io/version": "v0.18.0" });
    let found = forth(crd(&either, &of_go()), crd(&bound, &of_go()), "spec.field");
    assert_eq!(found, ("maximum".to_owned(), Some(OF_INTEGER)));
    // Another generator may have written it for a larger integer.
    assert_eq!(
        forth(crd(&either, &none()), crd(&bound, &none()), "spec.field").1,
        None
    );
    let lower = json!({ "x-kubernetes-int-or-string": true, "maximum": 9 });
    assert_eq!(
        forth(crd(&bound, &of_go()), crd(&lower, &of_go()), "spec.field").1,
        None
    );
    let [integer, small] = [
        json!({ "type": "integer" }),
        json!({ "type": "integer", "maximum": 9 }),
    ];
    assert_eq!(
        forth(crd(&integer, &of_go()), crd(&small, &of_go()), "spec.field").1,
        None
    );
}

#[test]
fn a_default_of_kubernetes_is_set_wherever_its_type_is_used() {
    let with = |default: Value| {
        let mut name = json!({ "type": "string" });
        if !default.is_null() {
            name["default"] = default;
        }
        crd(
            &json!({ "type": "object", "properties": { "name": name } }),
            &none(),
        )
    };
    let found = forth(with(Value::Null), with(json!("")), "spec.field");
    assert_eq!(found, ("default".to_owned(), Some(OF_DEFAULT)));
    assert_eq!(
        forth(with(json!("a")), with(json!("")), "spec.field").1,
        None
    );
    assert_eq!(
        forth(with(json!("a")), with(Value::Null), "spec.field").1,
        None
    );
    // The default of the field itself is the user's.
    assert_eq!(
        forth(with(Value::Null), with(json!("")), "spec.field.name").1,
        None
    );
    assert_eq!(
        forth(with(Value::Null), with(json!("")), "spec.other").1,
        None
    );
}

#[test]
fn a_later_kubernetes_has_more_fields_and_not_fewer() {
    let with = |names: &[&str]| {
        let text = json!({ "type": "string" });
        let fields: Value = names
            .iter()
            .map(|name| ((*name).to_owned(), text.clone()))
            .collect();
        crd(&json!({ "type": "object", "properties": fields }), &none())
    };
    let found = back(with(&["a"]), with(&["a", "b"]), "spec.field");
    assert_eq!(found, ("field-removed".to_owned(), Some(OF_KUBERNETES)));
    assert_eq!(back(with(&["a"]), with(&["a", "b"]), "spec.other").1, None);
    assert_eq!(forth(with(&["a", "b"]), with(&["a"]), "spec.field").1, None);
    // What limits values is never explained on a rollback.
    let longest = |length: u32| {
        let text = json!({ "type": "string", "maxLength": length });
        crd(
            &json!({ "type": "object", "properties": { "a": text } }),
            &none(),
        )
    };
    assert_eq!(back(longest(1), longest(2), "spec.field").1, None);
}

#[test]
fn only_what_merges_as_a_whole_may_be_merged_field_by_field() {
    let whole = json!({ "type": "object", "x-kubernetes-map-type": "atomic", "properties": {} });
    let parts = json!({ "type": "object", "properties": {} });
    let [whole, parts] = [&whole, &parts].map(|schema| crd(schema, &none()));
    let found = forth(whole.clone(), parts.clone(), "spec.field");
    assert_eq!(found, ("map-type".to_owned(), Some(OF_MERGE)));
    assert_eq!(forth(whole.clone(), parts.clone(), "spec.other").1, None);
    assert_eq!(forth(parts, whole, "spec.field").1, None);
}

#[test]
fn a_status_without_fields_loses_nothing() {
    let with = |status: Option<Value>| {
        let mut crd = crd(&json!({ "type": "string" }), &none());
        if let Some(status) = status {
            crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"] =
                status;
        }
        crd
    };
    let empty = with(Some(json!({ "type": "object" })));
    assert_eq!(
        back(with(None), empty, "spec.other"),
        ("field-removed".to_owned(), Some(OF_STATUS))
    );
    let some = with(Some(
        json!({ "type": "object", "properties": { "a": { "type": "string" } } }),
    ));
    assert_eq!(back(with(None), some, "spec.other").1, None);
}

#[test]
fn a_single_version_is_never_converted() {
    let with = |strategy: &str, versions: &[&str]| {
        let mut crd = crd(&json!({ "type": "string" }), &none());
        crd["spec"]["conversion"] = json!({ "strategy": strategy });
        let first = crd["spec"]["versions"][0].clone();
        let versions = versions.iter().enumerate().map(|(at, name)| {
            let mut version = first.clone();
            version["name"] = json!(name);
            version["storage"] = json!(at == 0);
            version
        });
        let versions: Vec<Value> = versions.collect();
        crd["spec"]["versions"] = json!(versions);
        crd
    };
    let one = forth(with("Webhook", &["v1"]), with("None", &["v1"]), "");
    assert_eq!(one, ("conversion-removed".to_owned(), Some(OF_CONVERSION)));
    let two = forth(
        with("Webhook", &["v1", "v2"]),
        with("None", &["v1", "v2"]),
        "",
    );
    assert_eq!(two, ("conversion-removed".to_owned(), None));
}
