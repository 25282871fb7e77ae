// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::ConfigMap;

fn object(version: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some("sample".to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    object
}

#[test]
fn an_object_is_outdated_until_what_was_written_shows() {
    let expectations = Expectations::default();
    assert!(expectations.satisfied_by(&object("9")));

    expectations.expect(&object("10"));

    assert!(!expectations.satisfied_by(&object("9")));
    assert!(expectations.satisfied_by(&object("10")));
    // Caught up once, nothing is remembered.
    assert!(expectations.satisfied_by(&object("9")));
}

#[test]
fn versions_that_are_no_numbers_are_never_newer() {
    let expectations = Expectations::default();
    expectations.expect(&object("b"));

    assert!(expectations.satisfied_by(&object("a")));
}
