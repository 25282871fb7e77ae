// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::flags::split;
use std::ffi::OsStr;

fn names(value: &str) -> Vec<String> {
    split(Some(OsStr::new(value)))
}

#[test]
fn namespaces_are_separated_by_commas() {
    assert_eq!(names("a"), ["a"]);
    assert_eq!(names("a,b-1"), ["a", "b-1"]);
    assert!(check(&names("a,b-1")).is_ok());
}

#[test]
fn an_empty_value_is_refused_with_an_example() {
    for value in [None, Some(OsStr::new(""))] {
        let error = check(&split(value)).unwrap_err().to_string();
        assert!(
            error.starts_with("`WATCH_NAMESPACE` is not set: "),
            "{error}"
        );
        assert!(error.contains("such as `a,b`"), "{error}");
    }
}

#[test]
fn an_invalid_name_is_refused_and_quoted() {
    let long = "a".repeat(64);
    for (value, bad) in [
        ("a,", ""),
        ("a, b", " b"),
        ("a.b", "a.b"),
        ("A", "A"),
        ("*", "*"),
        ("a,-b", "-b"),
        (&long, &long),
    ] {
        let error = check(&names(value)).unwrap_err().to_string();
        assert!(
            error.contains(&format!("has `{bad}`, which cannot")),
            "{error}"
        );
    }
}

#[test]
fn a_repeated_name_is_refused() {
    let error = check(&names("a,b,a")).unwrap_err().to_string();
    assert!(error.contains("has `a` twice"), "{error}");
}
