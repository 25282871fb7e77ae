// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use k8s_openapi::api::core::v1::ConfigMap;

use super::*;

const SECRET: &str = "apiVersion: v1\nkind: Secret\nmetadata:\n  name: password\n";
const MAP: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: map\n";

fn named(text: &str) -> Result<(Option<String>, usize), String> {
    let (map, others) = split_text::<ConfigMap>(text)?;
    Ok((map.metadata.name, others.len()))
}

#[test]
fn the_document_of_the_type_is_read_whatever_else_the_file_has() {
    let map = Some("map".to_owned());

    assert_eq!(named(MAP), Ok((map.clone(), 0)));
    assert_eq!(named(&format!("---\n{MAP}---\n")), Ok((map.clone(), 0)));
    assert_eq!(named(&format!("{SECRET}---\n{MAP}")), Ok((map.clone(), 1)));
    let both = format!("{MAP}---\n{SECRET}---\n{}", MAP.replace("map", "second"));
    assert_eq!(named(&both), Ok((map, 2)));
}

#[test]
fn a_file_without_an_object_of_the_type_says_what_it_has() {
    let message = "it has 2 documents, of which one must have the kind `ConfigMap`; they have: Secret, Secret";
    assert_eq!(
        named(&format!("{SECRET}---\n{SECRET}")),
        Err(message.to_owned())
    );

    let wrong = MAP.replace("name: map", "name: [1]");
    let error = named(&format!("{SECRET}---\n{wrong}")).unwrap_err();
    assert!(error.starts_with("ConfigMap: invalid type"), "{error}");
}

#[test]
fn a_type_that_has_no_kind_needs_a_file_of_its_own() {
    let dynamic = split_text::<kube::api::DynamicObject>;
    assert!(dynamic(MAP).is_ok());
    let message = "it has 2 documents, and a `DynamicObject` may be any of them: read the type of the object, or give \
                   the object a file of its own";
    let both = dynamic(&format!("{SECRET}---\n{MAP}"));
    assert_eq!(both.map(drop), Err(message.to_owned()));
}
