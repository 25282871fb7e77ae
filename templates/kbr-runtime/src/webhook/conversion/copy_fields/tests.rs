// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Types with common fields, and types without.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{Container, PodSpec, PodTemplateSpec};
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};

use super::*;

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct One {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_one: Option<bool>,
    typed: u8,
    policy: OnePolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    nested: Option<Nested<String>>,
    items: Vec<Nested<String>>,
    template: PodTemplateSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Two {
    name: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    only_two: Option<bool>,
    typed: String,
    policy: TwoPolicy,
    #[serde(skip_serializing_if = "Option::is_none")]
    nested: Option<Nested<Option<i64>>>,
    items: Vec<Nested<Option<i64>>>,
    template: PodTemplateSpec,
}

#[derive(Clone, Debug, Default, Deserialize, PartialEq, Serialize)]
struct Nested<T: Default + PartialEq> {
    same: i32,
    #[serde(skip_serializing_if = "is_default", default)]
    value: T,
    deep: BTreeMap<String, i32>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
enum OnePolicy {
    #[default]
    Both,
    First,
}

#[derive(Clone, Copy, Debug, Default, Deserialize, PartialEq, Serialize)]
enum TwoPolicy {
    #[default]
    Second,
    Both,
}

fn nested(value: &str) -> Nested<String> {
    Nested {
        same: 3,
        value: value.to_owned(),
        deep: BTreeMap::from([("a".to_owned(), 1)]),
    }
}

fn template() -> PodTemplateSpec {
    let mut container = Container {
        name: "main".to_owned(),
        ..Container::default()
    };
    let resources = container.resources.get_or_insert_default();
    let requests = resources.requests.get_or_insert_default();
    requests.insert("cpu".to_owned(), Quantity("100m".to_owned()));
    PodTemplateSpec {
        metadata: Some(ObjectMeta {
            generation: Some(3),
            ..ObjectMeta::default()
        }),
        spec: Some(PodSpec {
            containers: vec![container],
            ..PodSpec::default()
        }),
    }
}

fn one() -> One {
    One {
        name: "a".to_owned(),
        only_one: Some(true),
        typed: 1,
        policy: OnePolicy::First,
        nested: Some(nested("text")),
        items: vec![nested("text")],
        template: template(),
    }
}

#[test]
fn equal_types_are_equal_afterwards() {
    let mut target = One::default();
    copy_fields(&one(), &mut target);
    assert_eq!(target, one());
}

#[test]
fn fields_of_only_one_type_and_unreadable_fields_stay() {
    let mut target = Two {
        only_two: Some(true),
        typed: "stays".to_owned(),
        nested: Some(Nested {
            same: 0,
            value: Some(7),
            deep: BTreeMap::new(),
        }),
        ..Two::default()
    };
    copy_fields(&one(), &mut target);

    let expected = Two {
        name: "a".to_owned(),
        only_two: Some(true),
        typed: "stays".to_owned(),
        policy: TwoPolicy::Second,
        nested: Some(Nested {
            same: 3,
            value: Some(7),
            deep: BTreeMap::from([("a".to_owned(), 1)]),
        }),
        // A list is not taken apart.
        items: Vec::new(),
        template: template(),
    };
    assert_eq!(target, expected);
}

#[test]
fn variants_and_lists_that_both_know_are_copied() {
    let source = One {
        policy: OnePolicy::Both,
        items: vec![nested("")],
        ..One::default()
    };
    let mut target = Two::default();
    copy_fields(&source, &mut target);
    assert_eq!(target.policy, TwoPolicy::Both);
    assert_eq!(target.items[0].deep, source.items[0].deep);
}

/// As a converter does it, with all of an object.
#[test]
fn objects_are_copied_with_their_status() {
    #[derive(Debug, Default, Deserialize, PartialEq, Serialize)]
    struct Object<S> {
        metadata: ObjectMeta,
        spec: S,
        #[serde(skip_serializing_if = "Option::is_none")]
        status: Option<BTreeMap<String, i32>>,
    }
    let status = BTreeMap::from([("runs".to_owned(), 1)]);
    let source = Object {
        metadata: ObjectMeta {
            name: Some("a".to_owned()),
            ..ObjectMeta::default()
        },
        spec: one(),
        status: Some(status.clone()),
    };
    let mut target = Object::<Two>::default();
    copy_fields(&source, &mut target);
    assert_eq!(target.metadata, source.metadata);
    assert_eq!(target.status, Some(status));
    assert_eq!(target.spec.template, template());
    assert_eq!(target.spec.typed, "");
}

#[test]
fn values_that_are_no_structures_are_left_alone() {
    let mut target = 1;
    copy_fields(&2, &mut target);
    assert_eq!(target, 1);
    copy_fields(&one(), &mut target);
    assert_eq!(target, 1);
}
