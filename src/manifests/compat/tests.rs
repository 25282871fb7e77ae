//! Each change in the table is reported as expected.

use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::*;

/// A row of the table; its result on an API server is checked by another test.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Row {
    name: String,
    /// Key of the change, without the CRD's name.
    change: Option<String>,
    /// Keys of the other changes that are reported.
    #[serde(default)]
    also: Vec<String>,
    old: Option<Value>,
    new: Option<Value>,
    old_spec: Option<Value>,
    new_spec: Option<Value>,
    #[serde(default)]
    old_edit: Map<String, Value>,
    #[serde(default)]
    new_edit: Map<String, Value>,
    #[serde(default)]
    #[allow(dead_code, reason = "for the API server")]
    value: Value,
    #[allow(dead_code, reason = "for the API server")]
    server: Option<String>,
}

#[derive(Deserialize)]
struct Table {
    breaks: Vec<Row>,
    safe: Vec<Row>,
}

fn table() -> Table {
    serde_yaml::from_str(include_str!("changes.yaml")).expect("the table")
}

fn crd(field: Option<&Value>, spec: Option<&Value>, edit: &Map<String, Value>) -> Value {
    let properties = field.map_or(json!({}), |field| json!({ "field": field }));
    let of_field = json!({ "type": "object", "properties": properties });
    let spec = spec.unwrap_or(&of_field);
    let mut crd = json!({
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "things.example.com" },
        "spec": {
            "names": { "kind": "Thing", "listKind": "ThingList", "singular": "thing" },
            "scope": "Namespaced",
            "versions": [{
                "name": "v1",
                "served": true,
                "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } },
            }],
        },
    });
    for (pointer, value) in edit {
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match crd.pointer_mut(parent).expect(pointer) {
            Value::Array(list) => list.push(value.clone()),
            parent => parent[key] = value.clone(),
        }
    }
    crd
}

fn changes(row: &Row) -> Vec<CrdChange> {
    let old = crd(row.old.as_ref(), row.old_spec.as_ref(), &row.old_edit);
    let new = crd(row.new.as_ref(), row.new_spec.as_ref(), &row.new_edit);
    let found = compare(&[old], &[new]);
    assert!(found.iter().all(|it| !it.reason.is_empty()), "{}", row.name);
    found
}

fn key(change: &CrdChange) -> String {
    let key = change.key();
    let short = key.strip_prefix("things.example.com ");
    short.unwrap_or(&key).to_owned()
}

#[test]
fn breaks_are_found() {
    let breaks = table().breaks;
    assert!(breaks.len() >= 40);
    for row in &breaks {
        let (found, safe): (Vec<_>, Vec<_>) =
            changes(row).into_iter().partition(|change| change.is_break);
        let found: Vec<String> = found.iter().map(key).collect();
        assert_eq!(
            Some(&*found.join(", ")),
            row.change.as_deref(),
            "{}",
            row.name
        );
        assert_eq!(
            safe.iter().map(key).collect::<Vec<_>>(),
            row.also,
            "{}",
            row.name
        );
    }
}

#[test]
fn safe_changes_pass() {
    let safe = table().safe;
    assert!(safe.len() >= 20);
    for row in &safe {
        let found = changes(row);
        let breaks: Vec<String> = found.iter().filter(|it| it.is_break).map(key).collect();
        assert!(breaks.is_empty(), "{}: {breaks:?}", row.name);
        let mut expected: Vec<&String> = row.change.iter().chain(&row.also).collect();
        let mut found: Vec<String> = found.iter().map(key).collect();
        found.sort();
        expected.sort();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "{}", row.name);
    }
}

#[test]
fn an_unchanged_crd_has_no_changes() {
    for row in table().breaks.iter().chain(&table().safe) {
        let old = crd(row.old.as_ref(), row.old_spec.as_ref(), &row.old_edit);
        assert_eq!(
            compare(std::slice::from_ref(&old), std::slice::from_ref(&old)),
            []
        );
    }
}

#[test]
fn a_renamed_field_gets_help_on_keeping_the_old_name() {
    let field = json!({ "type": "string", "description": "old" });
    let old = json!({ "type": "object", "properties": { "field": field } });
    let new = json!({ "type": "object", "properties": { "other": { "type": "string" } } });
    let edit = Map::new();
    let found = compare(
        &[crd(None, Some(&old), &edit)],
        &[crd(None, Some(&new), &edit)],
    );
    assert_eq!(
        found[0].to_string(),
        "`things.example.com` v1 `spec.field`: the field is removed, and its values are lost; `other` is like it: \
         if that is its new name in Rust, `#[serde(rename = \"field\")]` keeps the old name in objects"
    );
    assert!(found[0].is_break && !found[1].is_break && found.len() == 2);
}

/// Every keyword that a structural schema can have, and everything else that a CRD says about objects and clients.
const WHOLE: &str = "
metadata: {name: things.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {kind: Thing, plural: things, singular: thing, listKind: ThingList, shortNames: [th], categories: [all]}
  conversion: {strategy: Webhook}
  versions:
  - name: v1
    served: true
    storage: true
    deprecated: true
    deprecationWarning: old
    additionalPrinterColumns: [{name: A, type: string, jsonPath: .spec.text, priority: 1, description: a}]
    selectableFields: [{jsonPath: .spec.text}]
    subresources: {status: {}, scale: {specReplicasPath: .spec.a, statusReplicasPath: .status.a, labelSelectorPath: .status.b}}
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [text]
            minProperties: 1
            maxProperties: 9
            properties:
              text: {type: string, pattern: ^a, format: uri, minLength: 1, maxLength: 9, enum: [a, b], default: a}
              null: {type: string, nullable: true}
              number: {type: number, minimum: 1, maximum: 9, exclusiveMinimum: true, exclusiveMaximum: true, multipleOf: 2, format: float}
              either: {x-kubernetes-int-or-string: true, pattern: ^a}
              map: {type: object, additionalProperties: {type: string, maxLength: 3}, x-kubernetes-map-type: atomic}
              free: {type: object, x-kubernetes-preserve-unknown-fields: true, x-kubernetes-embedded-resource: true}
              list:
                type: array
                minItems: 1
                maxItems: 9
                x-kubernetes-list-type: map
                x-kubernetes-list-map-keys: [name]
                items:
                  type: object
                  required: [name]
                  properties: {name: {type: string}, of: {type: integer}}
                  oneOf: [{required: [of]}, {properties: {name: {maxLength: 1}}}]
                  not: {required: [of]}
              set: {type: array, items: {type: string}, x-kubernetes-list-type: set, allOf: [{minItems: 1}], anyOf: [{maxItems: 3}]}
            x-kubernetes-validations:
            - {rule: self.text != 'b', message: no, messageExpression: self.text, reason: FieldValueForbidden, fieldPath: .text,
               optionalOldSelf: true}
";

/// What an API server adds, what no CRD can be without, and what is in the name of the CRD already.
const SAME_WITHOUT: [&str; 11] = [
    "/spec/group",
    "/spec/names/listKind",
    "/spec/names/plural",
    "/spec/names/singular",
    "/spec/versions/0/schema",
    "/spec/versions/0/schema/openAPIV3Schema",
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/items",
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/x-kubernetes-list-map-keys",
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/list/x-kubernetes-list-map-keys/0",
    "/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/set/items",
    "/spec/versions/0/storage",
];

#[test]
fn everything_that_a_crd_says_is_compared() {
    let whole: Value = serde_yaml::from_str(WHOLE).expect("a CRD");
    let mut pointers = Vec::new();
    pointers_of(&whole["spec"], "/spec", &mut pointers);
    assert!(pointers.len() > 120, "{}", pointers.len());
    let is_same = |pointer: &String| {
        let mut less = whole.clone();
        let (parent, key) = pointer.rsplit_once('/').expect("a pointer");
        match less.pointer_mut(parent).expect("a parent") {
            Value::Object(parent) => drop(parent.shift_remove(key)),
            Value::Array(parent) => drop(parent.remove(key.parse().expect("an index"))),
            _ => unreachable!("only these have children"),
        }
        let (whole, less) = ([whole.clone()], [less]);
        compare(&whole, &less).is_empty() && compare(&less, &whole).is_empty()
    };
    pointers.retain(is_same);
    pointers.sort();
    assert_eq!(pointers, SAME_WITHOUT);
}

fn pointers_of(value: &Value, pointer: &str, pointers: &mut Vec<String>) {
    let children: Vec<(String, &Value)> = match value {
        Value::Object(map) => map
            .iter()
            .map(|(key, value)| (key.clone(), value))
            .collect(),
        Value::Array(list) => list
            .iter()
            .enumerate()
            .map(|(at, value)| (at.to_string(), value))
            .collect(),
        _ => Vec::new(),
    };
    for (key, child) in children {
        let pointer = format!("{pointer}/{key}");
        pointers.push(pointer.clone());
        pointers_of(child, &pointer, pointers);
    }
}
