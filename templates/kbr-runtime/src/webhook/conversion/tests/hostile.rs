// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Malicious annotations: the result must be an object of its version.

use std::collections::{BTreeMap, BTreeSet};

use kube::CustomResource;
use proptest::prelude::*;
use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::super::*;
use crate::webhook::{Converter, copy_fields};

const ANNOTATION: &str = "example.com/converted-fields";

mod v1 {
    use super::*;

    #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "example.com", version = "v1", kind = "Run", namespaced)]
    #[serde(rename_all = "camelCase")]
    pub struct RunSpec {
        #[schemars(length(min = 1))]
        pub schedule: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0))]
        pub deadline_seconds: Option<i64>,
        #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
        pub steps: BTreeMap<String, Vec<Step>>,
    }

    #[derive(Clone, Debug, Default, Deserialize, JsonSchema, Serialize)]
    pub struct Step {
        #[schemars(regex(pattern = "^[a-z]+$"))]
        pub name: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 1, max = 65535))]
        pub port: Option<u16>,
    }
}

mod v2 {
    use super::*;

    #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
    #[kube(group = "example.com", version = "v2", kind = "Run", namespaced)]
    #[serde(rename_all = "camelCase")]
    pub struct RunSpec {
        pub minute: String,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        #[schemars(range(min = 0))]
        pub deadline_seconds: Option<i64>,
        #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
        pub tags: BTreeSet<String>,
    }
}

struct Runs;

impl Converter for Runs {
    type Hub = v1::Run;
    type Spoke = v2::Run;

    fn to_hub(&self, spoke: v2::Run) -> v1::Run {
        assert_ne!(spoke.spec.minute, "13", "an unlucky number");
        let mut hub = v1::Run::new("", v1::RunSpec::default());
        copy_fields(&spoke, &mut hub);
        hub.spec.schedule = format!("{} *", spoke.spec.minute);
        hub
    }

    fn to_spoke(&self, hub: v1::Run) -> v2::Run {
        let mut spoke = v2::Run::new("", v2::RunSpec::default());
        copy_fields(&hub, &mut spoke);
        spoke.spec.minute = hub
            .spec
            .schedule
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned();
        spoke
    }
}

fn conversions() -> Conversions {
    let mut conversions = Conversions::default();
    conversions.add(Runs);
    conversions
}

fn convert(conversions: &Conversions, object: &Value, version: &str) -> Result<Value, String> {
    let object = serde_json::value::to_raw_value(object).unwrap();
    let converted = conversions.convert(
        &object,
        &format!("example.com/{version}"),
        &Watchdog::default(),
    )?;
    Ok(serde_json::from_str(converted.get()).unwrap())
}

fn object(version: &str, spec: Value, annotation: Option<String>) -> Value {
    let mut object = json!({
        "apiVersion": format!("example.com/{version}"),
        "kind": "Run",
        "metadata": {"name": "a", "namespace": "b", "uid": "u", "generation": 1},
        "spec": spec,
    });
    if let Some(annotation) = annotation {
        object["metadata"]["annotations"] = json!({ANNOTATION: annotation});
    }
    object
}

/// Whether `object` is read by its type, and allowed by its schema.
fn is_of<T: DeserializeOwned + kube::CustomResourceExt>(object: &Value) -> Result<(), String> {
    T::deserialize(object).map_err(|error| format!("{error}: {object}"))?;
    let errors = Schema::of::<T>().errors(object);
    let places = errors.pointers;
    places
        .is_empty()
        .then_some(())
        .ok_or(format!("{places:?}: {object}"))
}

fn carried(path: &str, from: Option<Value>, to: Value) -> String {
    let mut difference = json!({"path": path, "to": to});
    if let Some(from) = from {
        difference["from"] = from;
    }
    json!({"v1": [difference], "v2": [difference]}).to_string()
}

#[test]
fn an_annotation_cannot_bypass_the_schema_or_the_type() {
    let conversions = conversions();
    for (path, from, to) in [
        ("/spec/deadlineSeconds", None, json!(-5)),
        ("/spec/schedule", Some(json!("5 *")), json!(5)),
        ("/spec/schedule", Some(json!("5 *")), json!("")),
        ("/spec/steps", None, json!({"a": [{"name": "A"}]})),
        (
            "/spec/steps",
            None,
            json!({"a": [{"name": "a", "port": 70000}]}),
        ),
        ("/spec/steps", None, json!(null)),
        ("/spec", Some(json!({"schedule": "5 *"})), json!({})),
    ] {
        let v2 = object("v2", json!({"minute": "5"}), Some(carried(path, from, to)));
        let v1 = convert(&conversions, &v2, "v1").unwrap();
        assert_eq!(v1["spec"], json!({"schedule": "5 *"}), "{path}");
    }
}

#[test]
fn one_bad_value_in_an_annotation_does_not_take_the_good_ones_along() {
    let differences = json!([
        {"path": "/spec/schedule", "from": "5 *", "to": "5 @daily"},
        {"path": "/spec/deadlineSeconds", "to": -5},
        {"path": "/spec/steps", "to": {"a": [{"name": "a", "port": 1}]}},
    ]);
    let annotation = json!({"v1": differences}).to_string();
    let v2 = object("v2", json!({"minute": "5"}), Some(annotation));

    let v1 = convert(&conversions(), &v2, "v1").unwrap();

    let steps = json!({"a": [{"name": "a", "port": 1}]});
    assert_eq!(v1["spec"], json!({"schedule": "5 @daily", "steps": steps}));
}

/// Values that are often wrong, and sometimes right.
fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (-2..3_i64).prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        "(5 \\*|5|13|[a-zA~/]{0,2})".prop_map(Value::from),
        (90..140_usize)
            .prop_map(|depth| { (0..depth.min(120)).fold(json!(1), |value, _| json!([value])) }),
    ];
    leaf.prop_recursive(4, 24, 4, |value| {
        let names = "name|port|schedule|minute|steps|tags|deadlineSeconds|a";
        prop_oneof![
            prop::collection::vec(value.clone(), 0..3).prop_map(Value::Array),
            prop::collection::btree_map(names, value, 0..4)
                .prop_map(|fields| Value::Object(fields.into_iter().collect())),
        ]
    })
}

fn differences() -> impl Strategy<Value = Value> {
    let path =
        "(/spec(/(schedule|minute|deadlineSeconds|steps(/a)?|tags|x))?|/status|/[a~/]{0,2}|)";
    let from = prop::option::of(prop_oneof![
        Just(json!("5 *")),
        Just(json!("5")),
        Just(json!({"schedule": "5 *"})),
        Just(json!({"minute": "5"})),
        values(),
    ]);
    let difference = (path, from, prop::option::of(values())).prop_map(|(path, from, to)| {
        let mut difference = json!({"path": path});
        for (name, value) in [("from", from), ("to", to)] {
            if let Some(value) = value {
                difference[name] = value;
            }
        }
        difference
    });
    prop::collection::vec(difference, 0..5).prop_map(Value::Array)
}

fn wholes() -> impl Strategy<Value = Value> {
    let fields = prop::option::of(values());
    (prop::option::of(0..3_i64), fields).prop_map(|(generation, spec)| {
        json!({"generation": generation.unwrap_or(1), "fields": {"spec": spec}})
    })
}

fn annotations() -> impl Strategy<Value = String> {
    let note = || prop_oneof![4 => differences(), 2 => wholes(), 1 => values()];
    prop_oneof![
        8 => (note(), note()).prop_map(|(v1, v2)| json!({"v1": v1, "v2": v2}).to_string()),
        1 => values().prop_map(|value| value.to_string()),
        1 => ".{0,20}",
    ]
}

/// An `i64` cannot be read from 0.0.
#[test]
fn a_float_in_an_annotation_does_not_become_an_integer() {
    let note =
        json!({"fields": {"spec": {"deadlineSeconds": 0.0, "schedule": "5 *"}}, "generation": 1});
    let annotation = json!({"v1": note, "v2": []}).to_string();
    let hub = object("v1", json!({"schedule": "5 *"}), Some(annotation.clone()));
    let conversions = conversions();
    let spoke = convert(&conversions, &hub, "v2").unwrap();
    let back = convert(&conversions, &spoke, "v1").unwrap();
    is_of::<v1::Run>(&back).unwrap();
    // As written by somebody who knows only v2.
    let spec = json!({"minute": "5"});
    let spoke = object("v2", spec, Some(annotation));
    if let Ok(hub) = convert(&conversions, &spoke, "v1") {
        is_of::<v1::Run>(&hub).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

    /// A writer of one version cannot make an object that readers of another cannot read,
    /// whatever the annotation contains.
    #[test]
    fn no_annotation_makes_an_object_invalid(
        annotation in annotations(),
        deadline in prop::option::of(0..9_i64),
        minute in "5|7|13",
    ) {
        let conversions = conversions();
        let mut spec = json!({"schedule": format!("{minute} *")});
        if let Some(deadline) = deadline {
            spec["deadlineSeconds"] = json!(deadline);
        }
        let hub = object("v1", spec.clone(), Some(annotation.clone()));
        let spoke = convert(&conversions, &hub, "v2").unwrap();
        is_of::<v2::Run>(&spoke).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&spoke["metadata"]["uid"], "u");
        // It is written again by someone who knows nothing about this.
        let back = convert(&conversions, &spoke, "v1").map_err(TestCaseError::fail)?;
        is_of::<v1::Run>(&back).map_err(TestCaseError::fail)?;
        prop_assert_eq!(&back["spec"], &spec);

        spec["minute"] = json!(minute);
        spec.as_object_mut().unwrap().remove("schedule");
        let spoke = object("v2", spec, Some(annotation));
        match convert(&conversions, &spoke, "v1") {
            Ok(mut hub) => {
                is_of::<v1::Run>(&hub).map_err(TestCaseError::fail)?;
                // As the API server does, for fields that the schema lacks.
                let known = ["schedule", "deadlineSeconds", "steps"];
                let fields = hub["spec"].as_object_mut().unwrap();
                fields.retain(|name, _| known.contains(&&**name));
                let spoke = convert(&conversions, &hub, "v2").map_err(TestCaseError::fail)?;
                is_of::<v2::Run>(&spoke).map_err(TestCaseError::fail)?;
            }
            Err(message) => prop_assert!(message.starts_with("Run `b/a` cannot be"), "{}", message),
        }
    }
}
