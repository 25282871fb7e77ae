// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;

use super::*;

#[test]
fn an_object_with_the_annotation_is_held_until_it_is_deleted() {
    let mut object = ConfigMap::default();
    assert!(!is_held(&object));
    let annotations = object.annotations_mut();
    annotations.insert("kbr-dev/paused".to_owned(), "false".to_owned());
    assert!(!is_held(&object));
    let annotations = object.annotations_mut();
    annotations.insert("kbr-dev/paused".to_owned(), "true".to_owned());
    assert!(is_held(&object));
    object.metadata.deletion_timestamp = Some(Time(Timestamp::now()));
    assert!(!is_held(&object));
}
