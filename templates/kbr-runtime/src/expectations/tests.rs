// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::ConfigMap;

fn object(uid: &str, version: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some("sample".to_owned());
    object.metadata.uid = Some(uid.to_owned());
    object.metadata.resource_version = Some(version.to_owned());
    object
}

#[test]
fn an_object_is_stale_until_the_write_shows() {
    let expectations = Expectations::default();
    assert!(expectations.satisfied_by(&object("a", "9")));

    expectations.expect(&object("a", "10"));

    assert!(!expectations.satisfied_by(&object("a", "9")));
    assert!(expectations.satisfied_by(&object("a", "10")));
    // Once the watch has caught up, nothing is remembered.
    assert!(expectations.satisfied_by(&object("a", "9")));
}

#[test]
fn versions_that_are_not_numbers_are_never_newer() {
    let expectations = Expectations::default();
    expectations.expect(&object("a", "b"));

    assert!(expectations.satisfied_by(&object("a", "a")));
}

#[test]
fn a_recreated_object_is_a_different_one() {
    let expectations = Expectations::default();
    expectations.expect(&object("a", "10"));

    assert!(expectations.satisfied_by(&object("b", "9")));
}

#[test]
fn a_write_that_never_shows_is_forgotten() {
    let expectations = Expectations::default();
    expectations.expect(&object("a", "10"));
    expectations.expect(&object("gone", "11"));
    let long_ago = || Instant::now().checked_sub(PATIENCE).unwrap();
    for written in expectations.written.lock().unwrap().values_mut() {
        written.at = long_ago();
    }

    assert!(expectations.satisfied_by(&object("a", "9")));
    expectations.expect(&object("b", "12"));
    assert_eq!(expectations.written.lock().unwrap().len(), 1);
}
