// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Limits of texts.

use super::*;

fn check_one(text: &str) -> Result<(), String> {
    check([text])
}

fn nested(levels: usize) -> String {
    format!("{}{}", "[".repeat(levels), "]".repeat(levels))
}

#[test]
fn too_many_levels_are_refused() {
    assert_eq!(check_one(&nested(DEEPEST - 1)), Ok(()));
    let message = check_one(&nested(129)).unwrap_err();
    assert!(message.starts_with("it has 130 levels"), "{message}");
}

#[test]
fn levels_that_end_and_brackets_in_strings_do_not_count() {
    assert_eq!(check_one(&format!("[{}1]", "[],{},".repeat(1000))), Ok(()));
    let text = serde_json::to_string(&["\"[{\\".repeat(200)]).unwrap();
    assert_eq!(check_one(&text), Ok(()));
}

/// The text of such objects is short, but the parsed objects are not.
#[test]
fn too_much_memory_is_refused() {
    let many = |count: usize| format!("[{}0]", r#"{"":0},"#.repeat(count));
    assert_eq!(check_one(&many(5_000)), Ok(()));
    let message = check_one(&many(200_000)).unwrap_err();
    assert!(message.contains("MiB of memory"), "{message}");
    let text = format!("\"{}\"", "a".repeat(3 << 20));
    assert_eq!(check_one(&text), Ok(()));
}
