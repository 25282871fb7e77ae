// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn errors_are_worded_as_the_api_server_words_them() {
    let f = FieldPath::new("f");
    for (error, reason, expected) in [
        (
            FieldError::required(&f, ""),
            "FieldValueRequired",
            "f: Required value",
        ),
        (
            FieldError::required(&f, "for a reason"),
            "FieldValueRequired",
            "f: Required value: for a reason",
        ),
        (
            FieldError::invalid(&FieldPath::new("spec").child("schedule"), "a", "must be b"),
            "FieldValueInvalid",
            r#"spec.schedule: Invalid value: "a": must be b"#,
        ),
        (
            FieldError::invalid(&f, -1, "must be positive"),
            "FieldValueInvalid",
            "f: Invalid value: -1: must be positive",
        ),
        (
            FieldError::type_invalid(&f, true, "must be text"),
            "FieldValueTypeInvalid",
            "f: Invalid value: true: must be text",
        ),
        (
            FieldError::not_supported(&f, "x", &["a", "b"]),
            "FieldValueNotSupported",
            r#"f: Unsupported value: "x": supported values: "a", "b""#,
        ),
        (
            FieldError::forbidden(&f, "not today"),
            "FieldValueForbidden",
            "f: Forbidden: not today",
        ),
        (
            FieldError::duplicate(&f.index(1), "x"),
            "FieldValueDuplicate",
            r#"f[1]: Duplicate value: "x""#,
        ),
        (
            FieldError::not_found(&f, "x"),
            "FieldValueNotFound",
            r#"f: Not found: "x""#,
        ),
        (
            FieldError::too_long(&f, 52),
            "FieldValueTooLong",
            "f: Too long: may not be more than 52 bytes",
        ),
        (
            FieldError::too_many(&f, 2, 1),
            "FieldValueTooMany",
            "f: Too many: 2: must have at most 1 item",
        ),
    ] {
        assert_eq!(
            (error.reason, error.to_string().as_str()),
            (reason, expected)
        );
    }
}

#[test]
fn only_an_error_refuses() {
    let mut outcome = ValidationOutcome::default();
    outcome.warn("careful");
    assert!(outcome.is_allowed());

    outcome.deny(FieldError::forbidden(&FieldPath::new("f"), ""));
    assert!(!outcome.is_allowed());
    assert_eq!(
        ValidationOutcome::from_iter(outcome.errors.clone()).errors,
        outcome.errors
    );
}

#[test]
fn a_path_is_a_pointer_too() {
    let spec = FieldPath::new("spec");
    let key = spec.child("items").index(2).key("a.b/c~");
    assert_eq!(key.pointer(), "/spec/items/2/a.b~1c~0");
    assert_eq!(FieldPath::new("spec.schedule").pointer(), "/spec/schedule");
    assert_eq!(spec.child("a.b").pointer(), "/spec/a/b");
}
