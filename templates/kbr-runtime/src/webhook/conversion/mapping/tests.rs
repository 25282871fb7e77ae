// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use kube::CustomResource;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;

/// A custom resource.
macro_rules! version {
    ($kind:literal, $spec:ident, $version:literal, $type:ty) => {
        #[derive(Clone, CustomResource, Debug, Default, Deserialize, JsonSchema, Serialize)]
        #[kube(group = "example.com", version = $version, kind = $kind)]
        struct $spec {
            size: $type,
        }
    };
}

version!("Hub", HubSpec, "v1", i32);
version!("Spoke", SpokeSpec, "v2", f64);

struct Unlucky;

impl Converter for Unlucky {
    type Hub = Hub;
    type Spoke = Spoke;

    fn to_hub(&self, _: Spoke) -> Hub {
        panic!("on purpose")
    }

    fn to_spoke(&self, hub: Hub) -> Spoke {
        let size = hub.spec.size.into();
        Spoke::new("", SpokeSpec { size })
    }
}

#[test]
fn an_unreadable_object_and_a_panic_are_errors() {
    let panics = Counter::default();
    let mapping = Mapping::of(Unlucky, panics.clone());
    let object =
        |kind: &str, size: Value| json!({"kind": kind, "metadata": {}, "spec": {"size": size}});

    let spoke = (mapping.hub.leave)(&object("Hub", json!(1))).unwrap();
    assert_eq!(spoke["spec"], json!({"size": 1}));
    let error = (mapping.hub.leave)(&object("Hub", json!("yes"))).unwrap_err();
    assert!(error.starts_with("spec.size: expected "), "{error}");
    let error = (mapping.spoke.leave)(&object("Spoke", json!(1))).unwrap_err();
    assert_eq!(error, "panic: on purpose");
    assert_eq!(panics.get(), 1);
}

#[test]
fn whole_numbers_are_written_as_the_api_server_does() {
    let mut value = json!({"a": [1.0, -3.0, 0.5, 1e300, -0.0, 9_007_199_254_740_991.0]});
    write_whole_numbers(&mut value);
    let expected = json!({"a": [1, -3, 0.5, 1e300, -0.0, 9_007_199_254_740_991_i64]});
    assert_eq!(value, expected);
    assert_eq!(value.to_string(), expected.to_string());
}
