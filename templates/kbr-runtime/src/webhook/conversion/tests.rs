// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Reviews and their answers, with converters of types.

mod hostile;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::core::ApiResource;
use kube::{CustomResourceExt, Resource};
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::*;

/// All versions have this schema.
fn crd(version: &str) -> CustomResourceDefinition {
    let schema = json!({"type": "object", "properties": {"old": {"type": "number", "minimum": 0}}});
    let crd = json!({
        "spec": {
            "group": "example.com",
            "names": {"kind": "Job", "plural": "jobs"},
            "scope": "Namespaced",
            "versions": [{
                "name": version, "served": true, "storage": true,
                "schema": {"openAPIV3Schema": schema},
            }],
        },
    });
    serde_json::from_value(crd).unwrap()
}

/// A kind of one version, as `CustomResource` would derive it.
macro_rules! version {
    ($name:ident, $version:literal, $($field:ident: $type:ty),*) => {
        #[derive(Clone, Debug, Default, Deserialize, Serialize)]
        #[serde(rename_all = "camelCase")]
        struct $name {
            metadata: ObjectMeta,
            $(
                #[serde(default, skip_serializing_if = "Option::is_none")]
                $field: Option<$type>,
            )*
        }

        impl Resource for $name {
            type DynamicType = ();
            type Scope = kube::core::NamespaceResourceScope;

            fn kind(_: &()) -> std::borrow::Cow<'_, str> {
                "Job".into()
            }

            fn group(_: &()) -> std::borrow::Cow<'_, str> {
                "example.com".into()
            }

            fn version(_: &()) -> std::borrow::Cow<'_, str> {
                $version.into()
            }

            fn plural(_: &()) -> std::borrow::Cow<'_, str> {
                "jobs".into()
            }

            fn meta(&self) -> &ObjectMeta {
                &self.metadata
            }

            fn meta_mut(&mut self) -> &mut ObjectMeta {
                &mut self.metadata
            }
        }

        impl CustomResourceExt for $name {
            fn crd() -> CustomResourceDefinition {
                crd($version)
            }

            fn crd_name() -> &'static str {
                "jobs.example.com"
            }

            fn api_resource() -> ApiResource {
                ApiResource::erase::<Self>(&())
            }

            fn shortnames() -> &'static [&'static str] {
                &[]
            }
        }
    };
}

version!(Hub, "v1", both: i64, old: f64);
version!(Spoke, "v2", both: i64, new: bool);
version!(Other, "v3", both: String);

struct Copying;

impl Converter for Copying {
    type Hub = Hub;
    type Spoke = Spoke;

    fn to_hub(&self, spoke: Spoke) -> Hub {
        assert_ne!(spoke.both, Some(13), "an unlucky number");
        let mut hub = Hub::default();
        copy_fields(&spoke, &mut hub);
        hub
    }

    fn to_spoke(&self, hub: Hub) -> Spoke {
        let mut spoke = Spoke::default();
        copy_fields(&hub, &mut spoke);
        spoke
    }
}

/// Another converter between the same two versions, and converters between others.
struct Wrong<H, S>(std::marker::PhantomData<(H, S)>);

impl<H, S> Converter for Wrong<H, S>
where
    H: Resource<DynamicType = ()>
        + CustomResourceExt
        + Default
        + serde::de::DeserializeOwned
        + Serialize,
    S: Resource<DynamicType = ()>
        + CustomResourceExt
        + Default
        + serde::de::DeserializeOwned
        + Serialize,
    H: Send + Sync + 'static,
    S: Send + Sync + 'static,
{
    type Hub = H;
    type Spoke = S;

    fn to_hub(&self, _: S) -> H {
        H::default()
    }

    fn to_spoke(&self, _: H) -> S {
        S::default()
    }
}

fn conversions() -> Conversions {
    let mut conversions = Conversions::default();
    assert!(conversions.is_empty());
    conversions.add(Copying);
    conversions.add(Wrong::<Hub, Other>(std::marker::PhantomData));
    assert!(!conversions.is_empty());
    conversions
}

/// An object of `version` that has these fields.
fn object(version: &str, fields: Value) -> Value {
    let mut object = fields;
    object["apiVersion"] = json!(format!("example.com/{version}"));
    object["kind"] = json!("Job");
    object["metadata"] =
        json!({"name": "a", "namespace": "b", "uid": "u", "managedFields": [{"odd": 1}]});
    object
}

fn ask(desired: &str, objects: Value) -> Value {
    let review = json!({
        "apiVersion": REVIEW_VERSION,
        "kind": REVIEW_KIND,
        "request": {"uid": "1-2", "desiredAPIVersion": desired, "objects": objects},
    });
    let answer = conversions().answer(review.to_string().as_bytes(), &Watchdog::default());
    let answer: Value = serde_json::from_slice(&answer.unwrap()).unwrap();
    assert_eq!(answer["apiVersion"], REVIEW_VERSION);
    assert_eq!(answer["kind"], REVIEW_KIND);
    assert_eq!(answer["response"]["uid"], "1-2");
    answer["response"].clone()
}

fn convert(desired: &str, object: &Value) -> Value {
    let response = ask(desired, json!([object]));
    assert_eq!(response["result"], json!({"status": "Success"}));
    response["convertedObjects"][0].clone()
}

#[test]
fn each_object_is_answered_in_its_order() {
    let [first, second] = [1, 2].map(|both| object("v1", json!({"both": both})));
    let same = object("v2", json!({"anything": null}));

    let response = ask("example.com/v2", json!([first, same, second]));

    let [first, second] = [1, 2].map(|both| object("v2", json!({"both": both})));
    assert_eq!(response["convertedObjects"], json!([first, same, second]));
    assert_eq!(response["result"], json!({"status": "Success"}));
    let none = ask("example.com/v2", json!([]));
    assert_eq!(none["convertedObjects"], json!([]));
}

#[test]
fn everything_comes_back_from_every_version() {
    let fields = json!({"both": i64::MAX, "old": 0.1, "new": true, "unknown": {"a": [null]}});
    let v1 = object("v1", fields);
    for version in ["v2", "v3"] {
        let there = convert(&format!("example.com/{version}"), &v1);
        assert_eq!(there["apiVersion"], format!("example.com/{version}"));
        assert_eq!(convert("example.com/v1", &there), v1);
    }
    let v2 = object("v2", json!({"both": 1, "new": true}));
    let v3 = convert("example.com/v3", &v2);
    assert_eq!(convert("example.com/v2", &v3), v2);
}

#[test]
fn a_failed_conversion_to_the_hub_names_the_object_and_the_field() {
    let failed = |fields: Value| {
        let response = ask(
            "example.com/v1",
            json!([object("v2", json!({})), object("v2", fields)]),
        );
        assert_eq!(response["result"]["status"], "Failed");
        assert_eq!(response["convertedObjects"], json!([]));
        response["result"]["message"].as_str().unwrap().to_owned()
    };
    assert_eq!(
        failed(json!({"both": "text"})),
        "Job `b/a` cannot be converted from `example.com/v2` to `example.com/v1`: both: \
         expected i64"
    );
    let message = failed(json!({"both": 13, "new": true}));
    assert!(message.contains("`: panic: "), "{message}");
    assert!(message.contains("an unlucky number"), "{message}");
}

/// One object that cannot be read would break every list that it is in.
#[test]
fn an_object_that_cannot_be_converted_from_the_hub_is_returned_nevertheless() {
    for fields in [
        json!({"both": "text", "old": 0.5}),
        json!({"both": 13, "old": 0.5}),
    ] {
        let hub = object("v1", fields);
        let spoke = convert("example.com/v2", &hub);
        assert_eq!(spoke["both"], hub["both"]);
        assert_eq!(convert("example.com/v1", &spoke), hub);
    }
}

/// Neither breaks a list of the spoke.
#[test]
fn one_object_that_is_too_deep_or_too_large_does_not_break_a_list() {
    let lists = ["[".repeat(130), "]".repeat(130)].concat();
    let maps = format!("[{}0]", r#"{"":0},"#.repeat(100_000));
    for value in [lists, maps] {
        let odd = object("v1", json!({"deep": "?"})).to_string();
        let odd = odd.replace(r#""?""#, &value);
        let good = object("v1", json!({"both": 1}));
        let review = format!(
            r#"{{"apiVersion":"{REVIEW_VERSION}","kind":"{REVIEW_KIND}","request":{{"uid":"1","desiredAPIVersion":"example.com/v2","objects":[{odd},{good}]}}}}"#
        );
        let answer = conversions()
            .answer(review.as_bytes(), &Watchdog::default())
            .unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(r#""status":"Success""#), "{answer:.300}");
        assert!(answer.contains(r#""both":1"#), "{answer:.300}");

        let review = review
            .replace("/v2", "/v0")
            .replace("/v1\",\"both", "/v2\",\"both");
        let review = review
            .replace("/v1\",\"deep", "/v2\",\"deep")
            .replace("/v0", "/v1");
        let answer = conversions()
            .answer(review.as_bytes(), &Watchdog::default())
            .unwrap();
        let answer = String::from_utf8(answer).unwrap();
        assert!(answer.contains(r#""status":"Failed""#), "{answer:.300}");
        assert!(
            answer.contains("Job `b/a` cannot be converted"),
            "{answer:.300}"
        );
        assert!(answer.contains("can be converted\""), "{answer:.300}");
    }
}

#[test]
fn an_unknown_version_or_kind_fails_with_the_name_of_the_object() {
    let known = object("v1", json!({}));
    let mut other_kind = known.clone();
    other_kind["kind"] = json!("Pod");
    for (desired, failing, named) in [
        ("example.com/v4", &known, "Job `b/a` cannot"),
        ("example.org/v2", &known, "Job `b/a` cannot"),
        ("v2", &known, "Job `b/a` cannot"),
        ("example.com/v2", &other_kind, "Pod `b/a` cannot"),
        (
            "example.com/v2",
            &json!({}),
            "an object without a kind `` cannot",
        ),
        ("a/b", &json!(1), "an object without a kind `` cannot"),
    ] {
        let response = ask(desired, json!([failing]));
        assert_eq!(response["result"]["status"], "Failed");
        assert_eq!(response["convertedObjects"], json!([]));
        let message = response["result"]["message"].as_str().unwrap();
        assert!(message.starts_with(named), "{message}");
        assert!(message.contains(&format!("to `{desired}`")), "{message}");
    }
}

#[test]
fn a_body_that_is_no_review_is_refused() {
    let refused = |review: &str| {
        conversions()
            .answer(review.as_bytes(), &Watchdog::default())
            .unwrap_err()
    };

    assert!(refused("").starts_with("not a review: "));
    assert!(refused("[]").starts_with("not a review: "));
    let foreign = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "request": {"uid": "", "desiredAPIVersion": "", "objects": []},
    });
    assert_eq!(
        refused(&foreign.to_string()),
        "not a ConversionReview of apiextensions.k8s.io/v1: AdmissionReview of admission.k8s.io/v1"
    );
}

#[test]
#[should_panic(expected = "Job.example.com has two converters for one version")]
fn a_pair_has_one_converter() {
    conversions().add(Copying);
}

#[test]
#[should_panic(expected = "Job.example.com has two hubs")]
fn a_kind_has_one_hub() {
    conversions().add(Wrong::<Spoke, Other>(std::marker::PhantomData));
}
