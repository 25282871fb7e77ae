//! The guide's table of controller-gen's markers: its spellings are those of the types here, and for each marker
//! the API server does what the row promises.

mod kinds;
mod table;
mod types;

use serde_json::{Value, json};

use self::types::Marked;
use super::install;
use crate::support::Run;
use crate::support::api_server::api_server;

/// What the API server does with a value.
enum Outcome {
    /// It stores the value unchanged.
    Taken,
    /// It stores another value.
    Becomes(Value),
    /// It stores no value.
    LeftOut,
    /// It refuses the value, with these words in the message.
    Refused(&'static str),
}

use Outcome::{Becomes, LeftOut, Refused, Taken};

/// A marker, the field of [`types::MarkedSpec`] with the same meaning, a value, and the outcome for that value.
type Case = (&'static str, &'static str, Value, Outcome);

fn bounds() -> Vec<Case> {
    let few = json!({ "a": "", "b": "" });
    let many = json!({ "a": "", "b": "", "c": "" });
    vec![
        (
            "+kubebuilder:validation:Maximum",
            "maximum",
            json!(10),
            Taken,
        ),
        (
            "+kubebuilder:validation:Maximum",
            "maximum",
            json!(11),
            Refused(
                "spec.maximum: Invalid value: 11: spec.maximum in body should be less than or equal to 10",
            ),
        ),
        (
            "+kubebuilder:validation:Minimum",
            "minimum",
            json!(1),
            Taken,
        ),
        (
            "+kubebuilder:validation:Minimum",
            "minimum",
            json!(0),
            Refused(
                "spec.minimum: Invalid value: 0: spec.minimum in body should be greater than or equal to 1",
            ),
        ),
        (
            "+kubebuilder:validation:ExclusiveMaximum",
            "below",
            json!(9),
            Taken,
        ),
        (
            "+kubebuilder:validation:ExclusiveMaximum",
            "below",
            json!(10),
            Refused("spec.below: Invalid value: 10: spec.below in body should be less than 10"),
        ),
        (
            "+kubebuilder:validation:ExclusiveMinimum",
            "above",
            json!(1),
            Taken,
        ),
        (
            "+kubebuilder:validation:ExclusiveMinimum",
            "above",
            json!(0),
            Refused("spec.above in body should be greater than 0"),
        ),
        (
            "+kubebuilder:validation:MultipleOf",
            "fives",
            json!(15),
            Taken,
        ),
        (
            "+kubebuilder:validation:MultipleOf",
            "fives",
            json!(7),
            Refused("spec.fives in body should be a multiple of 5"),
        ),
        (
            "+kubebuilder:validation:MaxProperties",
            "fewKeys",
            few.clone(),
            Taken,
        ),
        (
            "+kubebuilder:validation:MaxProperties",
            "fewKeys",
            many.clone(),
            Refused("spec.fewKeys: Too many: 3: must have at most 2 items"),
        ),
        (
            "+kubebuilder:validation:MinProperties",
            "someKeys",
            few.clone(),
            Taken,
        ),
        (
            "+kubebuilder:validation:MinProperties",
            "someKeys",
            json!({}),
            Refused("spec.someKeys in body should have at least 1 properties"),
        ),
        (
            "+kubebuilder:validation:MaxLength",
            "short",
            json!("äöü"),
            Taken,
        ),
        (
            "+kubebuilder:validation:MaxLength",
            "short",
            json!("abcd"),
            Refused("spec.short: Too long: may not be more than 3 bytes"),
        ),
        (
            "+kubebuilder:validation:MinLength",
            "long",
            json!("abc"),
            Taken,
        ),
        (
            "+kubebuilder:validation:MinLength",
            "long",
            json!("ab"),
            Refused("spec.long in body should be at least 3 chars long"),
        ),
        (
            "+kubebuilder:validation:Pattern",
            "lower",
            json!("abc"),
            Taken,
        ),
        (
            "+kubebuilder:validation:Pattern",
            "lower",
            json!("Abc"),
            Refused("spec.lower in body should match '^[a-z]+$'"),
        ),
        (
            "+kubebuilder:validation:MaxItems",
            "few",
            json!([1, 2]),
            Taken,
        ),
        (
            "+kubebuilder:validation:MaxItems",
            "few",
            json!([1, 2, 3]),
            Refused("spec.few: Too many: 3: must have at most 2 items"),
        ),
        (
            "+kubebuilder:validation:MinItems",
            "some",
            json!([1]),
            Taken,
        ),
        (
            "+kubebuilder:validation:MinItems",
            "some",
            json!([]),
            Refused("spec.some in body should have at least 1 items"),
        ),
        (
            "+kubebuilder:validation:UniqueItems",
            "unique",
            json!(["b", "a"]),
            Taken,
        ),
        (
            "+kubebuilder:validation:UniqueItems",
            "unique",
            json!(["a", "a"]),
            Refused("spec.unique[1]: Duplicate value: \"a\""),
        ),
    ]
}

fn values() -> Vec<Case> {
    let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" }, "spec": { "x": 1 } });
    vec![
        ("+kubebuilder:validation:Enum", "mode", json!("Fast"), Taken),
        (
            "+kubebuilder:validation:Enum",
            "mode",
            json!("Fastest"),
            Refused(
                "spec.mode: Unsupported value: \"Fastest\": supported values: \"Fast\", \"Slow\"",
            ),
        ),
        ("+enum", "mode", json!("Slow"), Taken),
        (
            "+enum",
            "mode",
            json!("slow"),
            Refused("spec.mode: Unsupported value: \"slow\""),
        ),
        ("+k8s:enum", "mode", json!("Slow"), Taken),
        (
            "+k8s:enum",
            "mode",
            json!(""),
            Refused("spec.mode: Unsupported value: \"\""),
        ),
        ("+kubebuilder:validation:Enum", "power", json!(4), Taken),
        (
            "+kubebuilder:validation:Enum",
            "power",
            json!(3),
            Refused("spec.power: Unsupported value: 3: supported values: \"1\", \"2\", \"4\""),
        ),
        (
            "+kubebuilder:validation:Format",
            "moment",
            json!("2026-01-01T00:00:00Z"),
            Taken,
        ),
        (
            "+kubebuilder:validation:Format",
            "moment",
            json!("today"),
            Refused("spec.moment in body must be of type date-time: \"today\""),
        ),
        (
            "+kubebuilder:validation:Type",
            "numberInQuotes",
            json!("1"),
            Taken,
        ),
        (
            "+kubebuilder:validation:Type",
            "numberInQuotes",
            json!(1),
            Refused("spec.numberInQuotes in body must be of type string: \"integer\""),
        ),
        (
            "+kubebuilder:pruning:PreserveUnknownFields",
            "anything",
            json!({ "a": [1] }),
            Taken,
        ),
        (
            "+kubebuilder:validation:XPreserveUnknownFields",
            "anything",
            json!("a"),
            Taken,
        ),
        (
            "+kubebuilder:validation:EmbeddedResource",
            "object",
            pod.clone(),
            Taken,
        ),
        (
            "+kubebuilder:validation:EmbeddedResource",
            "object",
            json!({ "apiVersion": "v1" }),
            Refused("spec.object.kind: Required value"),
        ),
        (
            "+kubebuilder:validation:XEmbeddedResource",
            "object",
            pod,
            Taken,
        ),
        (
            "+kubebuilder:validation:XEmbeddedResource",
            "object",
            json!({ "kind": "Pod" }),
            Refused("spec.object.apiVersion: Required value"),
        ),
        (
            "+kubebuilder:validation:XIntOrString",
            "port",
            json!("http"),
            Taken,
        ),
        (
            "+kubebuilder:validation:XIntOrString",
            "port",
            json!(80),
            Taken,
        ),
        (
            "+kubebuilder:validation:XIntOrString",
            "port",
            json!(true),
            Refused("spec.port"),
        ),
        (
            "+kubebuilder:validation:XValidation",
            "range",
            json!({ "min": 1, "max": 2 }),
            Taken,
        ),
        (
            "+kubebuilder:validation:XValidation",
            "range",
            json!({ "min": 3, "max": 2 }),
            Refused("spec.range.min: Invalid value: min is above 2"),
        ),
        (
            "+kubebuilder:validation:Schemaless",
            "schemaless",
            json!({ "min": 3, "more": 1 }),
            Taken,
        ),
        (
            "+kubebuilder:validation:AtMostOneOf",
            "atMostOne",
            json!({}),
            Taken,
        ),
        (
            "+kubebuilder:validation:AtMostOneOf",
            "atMostOne",
            json!({ "b": 1 }),
            Taken,
        ),
        (
            "+kubebuilder:validation:AtMostOneOf",
            "atMostOne",
            json!({ "a": 1, "b": 1 }),
            Refused("spec.atMostOne: Invalid value: at most one of a and b"),
        ),
        (
            "+kubebuilder:validation:ExactlyOneOf",
            "exactlyOne",
            json!({ "a": 1 }),
            Taken,
        ),
        (
            "+kubebuilder:validation:ExactlyOneOf",
            "exactlyOne",
            json!({}),
            Refused("spec.exactlyOne: Invalid value: exactly one of a and b"),
        ),
        (
            "+kubebuilder:validation:ExactlyOneOf",
            "exactlyOne",
            json!({ "a": 1, "b": 1 }),
            Refused("spec.exactlyOne: Invalid value: exactly one of a and b"),
        ),
        (
            "+kubebuilder:validation:ExactlyOneOf",
            "source",
            json!({ "git": {} }),
            Taken,
        ),
        (
            "+kubebuilder:validation:ExactlyOneOf",
            "source",
            json!({ "git": {}, "http": {} }),
            Refused("\"spec.source\" must validate one and only one schema"),
        ),
        (
            "+kubebuilder:validation:AtLeastOneOf",
            "atLeastOne",
            json!({ "a": 1, "b": 1 }),
            Taken,
        ),
        (
            "+kubebuilder:validation:AtLeastOneOf",
            "atLeastOne",
            json!({}),
            Refused("spec.atLeastOne: Invalid value: at least one of a and b"),
        ),
    ]
}

fn presence() -> Vec<Case> {
    vec![
        (
            "+kubebuilder:validation:Required",
            "named",
            json!({ "value": 1 }),
            Refused("spec.named.name: Required value"),
        ),
        (
            "+required",
            "named",
            json!({}),
            Refused("spec.named.name: Required value"),
        ),
        ("+k8s:required", "named", json!({ "name": "" }), Taken),
        (
            "+k8s:required",
            "named",
            json!({ "name": null }),
            Refused("spec.named.name: Required value"),
        ),
        (
            "+kubebuilder:validation:Optional",
            "mayBeLeftOut",
            json!("a"),
            Taken,
        ),
        ("+optional", "mayBeLeftOut", Value::Null, LeftOut),
        ("+k8s:optional", "mayBeLeftOut", Value::Null, LeftOut),
        ("+nullable", "mayBeNull", Value::Null, Taken),
        ("+kubebuilder:default", "defaulted", json!(4), Taken),
        ("+default", "defaulted", Value::Null, Becomes(json!(3))),
    ]
}

fn items() -> Vec<Case> {
    let embedded = json!([{ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "a" } }]);
    let of_items = [
        (
            "MultipleOf",
            "fives",
            json!([5, 10]),
            json!([5, 7]),
            "spec.items.fives[1] in body should be a multiple of 5",
        ),
        (
            "ExclusiveMaximum",
            "below",
            json!([9]),
            json!([10]),
            "spec.items.below[0] in body should be less than 10",
        ),
        (
            "ExclusiveMinimum",
            "above",
            json!([1]),
            json!([0]),
            "spec.items.above[0] in body should be greater than 0",
        ),
        (
            "MaxProperties",
            "fewKeys",
            json!([{}]),
            json!([{ "a": "", "b": "", "c": "" }]),
            "spec.items.fewKeys[0]: Too many: 3: must have at most 2 items",
        ),
        (
            "MinProperties",
            "someKeys",
            json!([{ "a": "" }]),
            json!([{}]),
            "spec.items.someKeys[0] in body should have at least 1 properties",
        ),
        (
            "Format",
            "moments",
            json!(["2026-01-01T00:00:00Z"]),
            json!(["x"]),
            "must be of type date-time: \"x\"",
        ),
        (
            "Type",
            "texts",
            json!(["1"]),
            json!([1]),
            "must be of type string: \"integer\"",
        ),
        (
            "XPreserveUnknownFields",
            "anything",
            json!([{ "a": 1 }, 2]),
            Value::Null,
            "",
        ),
        (
            "XEmbeddedResource",
            "objects",
            embedded,
            json!([{}]),
            "spec.items.objects[0].kind: Required value",
        ),
        (
            "XValidation",
            "rules",
            json!([2, 4]),
            json!([2, 3]),
            "spec.items.rules[1]: Invalid value: 3: it is odd",
        ),
        (
            "UniqueItems",
            "sets",
            json!([["a"], ["a"]]),
            json!([["a", "a"]]),
            "spec.items.sets[0][1]: Duplicate value",
        ),
        (
            "Enum",
            "modes",
            json!(["Fast"]),
            json!(["fast"]),
            "spec.items.modes[0]: Unsupported value: \"fast\"",
        ),
        (
            "XIntOrString",
            "ports",
            json!([80, "http"]),
            json!([[]]),
            "spec.items.ports[0]",
        ),
    ];
    let inner = [
        (
            "MaxLength",
            "words",
            json!(["abc"]),
            json!(["abcd"]),
            "spec.words[0]: Too long",
        ),
        (
            "MinLength",
            "words",
            json!(["ab"]),
            json!(["a"]),
            "spec.words[0] in body should be at least 2 chars long",
        ),
        (
            "Pattern",
            "words",
            json!([]),
            json!(["AB"]),
            "spec.words[0] in body should match '^[a-z]+$'",
        ),
        (
            "Maximum",
            "numbers",
            json!([10]),
            json!([1, 11]),
            "spec.numbers[1] in body should be less than or equal to 10",
        ),
        (
            "Minimum",
            "numbers",
            json!([1]),
            json!([0]),
            "spec.numbers[0] in body should be greater than or equal to 1",
        ),
        (
            "MaxItems",
            "lists",
            json!([[1, 2]]),
            json!([[1, 2, 3]]),
            "spec.lists[0]: Too many: 3: must have at most 2 items",
        ),
        (
            "MinItems",
            "lists",
            json!([[1]]),
            json!([[]]),
            "spec.lists[0] in body should have at least 1 items",
        ),
    ];
    let mut cases = Vec::new();
    let mut add = |marker: &str, field, good: Value, bad: Option<Value>, words| {
        let marker: &'static str = format!("+kubebuilder:validation:items:{marker}").leak();
        cases.push((marker, field, good, Taken));
        cases.extend(bad.map(|bad| (marker, field, bad, Refused(words))));
    };
    for (marker, field, good, bad, words) in of_items {
        let bad = (!bad.is_null()).then(|| json!({ field: bad }));
        add(marker, "items", json!({ field: good }), bad, words);
    }
    for (marker, field, good, bad, words) in inner {
        add(marker, field, good, Some(bad), words);
    }
    cases
}

fn cases() -> Vec<Case> {
    [bounds(), values(), presence(), items()]
        .into_iter()
        .flatten()
        .collect()
}

fn object(name: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "crds.example.com/v1",
        "kind": "Marked",
        "metadata": { "name": name, "namespace": "default" },
        "spec": spec,
    })
}

fn kubectl(line: &str) -> Run {
    api_server().kubectl(line, "")
}

fn create(object: &Value) -> Run {
    api_server().kubectl("create -f -", &object.to_string())
}

/// One test for all rows, since they share a kind. Every row that fails is listed.
#[test]
fn the_api_server_does_what_each_row_says() {
    install::<Marked>();
    let mut wrong = fields();
    for (marker, check) in kinds::CHECKS {
        if std::panic::catch_unwind(check).is_err() {
            wrong.push(format!("{marker}: see its panic above"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Describes each case whose outcome is not the expected one.
fn fields() -> Vec<String> {
    let cases = cases();
    let name = |at: usize| format!("case-{at}");
    let objects: Vec<String> = cases
        .iter()
        .enumerate()
        .map(|(at, (_, field, value, _))| object(&name(at), &json!({ *field: value })).to_string())
        .collect();
    let created = api_server().kubectl("create -f -", &objects.join("\n---\n"));
    let stored = kubectl("get markedthings -o json").success().stdout;
    let stored: Value = serde_json::from_str(&stored).expect("JSON");
    let stored = stored["items"].as_array().expect("a list");
    let refusals: Vec<&str> = created.stderr.split("Marked.crds.example.com ").collect();
    let mut wrong = Vec::new();
    for (at, (marker, field, value, outcome)) in cases.iter().enumerate() {
        let name = name(at);
        let found = stored.iter().find(|one| one["metadata"]["name"] == *name);
        let becomes = found.map(|one| one["spec"].get(field));
        let mut refusals = refusals.iter();
        let refusal = refusals.find(|text| text.starts_with(&format!("{name:?}")));
        let is_right = match outcome {
            Refused(words) => found.is_none() && refusal.is_some_and(|text| text.contains(words)),
            Taken => becomes == Some(Some(value)),
            Becomes(other) => becomes == Some(Some(other)),
            LeftOut => becomes == Some(None),
        };
        if !is_right {
            wrong.push(format!(
                "{marker}: {field}: {value} is {becomes:?}, {refusal:?}"
            ));
        }
    }
    wrong
}
