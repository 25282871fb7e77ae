// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use serde_json::json;

struct Unlucky;

impl Converter for Unlucky {
    type Hub = ConfigMap;
    type Spoke = Secret;

    fn to_hub(&self, _: Secret) -> ConfigMap {
        panic!("on purpose")
    }

    fn to_spoke(&self, hub: ConfigMap) -> Secret {
        Secret {
            immutable: hub.immutable,
            ..Secret::default()
        }
    }
}

#[test]
fn what_cannot_be_read_and_what_panics_is_an_error() {
    let mapping = Mapping::of(Unlucky);
    let object = |kind: &str, immutable: Value| json!({"apiVersion": "v1", "kind": kind, "metadata": {}, "immutable": immutable});

    let spoke = (mapping.to_spoke)(&object("ConfigMap", json!(true)));
    assert_eq!(spoke, Ok(object("Secret", json!(true))));
    let error = (mapping.to_spoke)(&object("ConfigMap", json!("yes"))).unwrap_err();
    assert!(error.contains("invalid type"), "{error}");
    let error = (mapping.to_hub)(&object("Secret", json!(true))).unwrap_err();
    assert_eq!(error, "panic: on purpose");
}

#[test]
fn whole_numbers_are_written_as_the_api_server_does() {
    let mut value = json!({"a": [1.0, -3.0, 0.5, 1e300, -0.0, 9_007_199_254_740_991.0]});
    write_whole_numbers(&mut value);
    let expected = json!({"a": [1, -3, 0.5, 1e300, -0.0, 9_007_199_254_740_991_i64]});
    assert_eq!(value, expected);
    assert_eq!(value.to_string(), expected.to_string());
}
