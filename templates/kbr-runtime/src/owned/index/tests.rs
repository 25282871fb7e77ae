// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};

/// An object that the Secret `x` controls.
fn object() -> ConfigMap {
    let mut owner = Secret::default();
    owner.metadata.name = Some("x".to_owned());
    owner.metadata.uid = Some("x".to_owned());
    let mut object = ConfigMap::default();
    object.metadata.uid = Some("a".to_owned());
    object.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
    object
}

fn controller_after(change: fn(&mut Vec<OwnerReference>)) -> Option<String> {
    let mut object = object();
    change(object.owner_references_mut());
    controller::<Secret>(&object.metadata)
}

#[test]
fn the_owner_of_an_object_is_its_controller_of_that_kind() {
    let x = Some("x".to_owned());
    assert_eq!(controller_after(|_| ()), x);
    assert_eq!(
        controller_after(|owners| owners[0].api_version = "v2".to_owned()),
        x
    );
    let another = |owners: &mut Vec<OwnerReference>| {
        let another = OwnerReference {
            uid: "another".to_owned(),
            controller: None,
            ..owners[0].clone()
        };
        owners.insert(0, another);
    };
    assert_eq!(controller_after(another), x);

    assert_eq!(controller_after(Vec::clear), None);
    assert_eq!(controller_after(|owners| owners[0].controller = None), None);
    assert_eq!(
        controller_after(|owners| owners[0].kind = "Other".to_owned()),
        None
    );
    assert_eq!(
        controller_after(|owners| owners[0].api_version = "other/v1".to_owned()),
        None
    );
}

#[test]
fn an_owner_is_triggered_whatever_version_its_reference_has() {
    let mut object = object();
    object.owner_references_mut()[0].api_version = "v2".to_owned();

    let owners = owners::<Secret>(&object.metadata, &());

    assert_eq!(owners, [ObjectRef::new("x")]);
}

#[test]
fn a_removed_object_leaves_nothing_behind() {
    let mut index = Index::default();
    index.insert::<Secret>(object());

    assert!(index.remove("a").is_some());

    assert!(index.by_owner.is_empty() && index.owners.is_empty());
    assert!(index.remove("a").is_none());
}
