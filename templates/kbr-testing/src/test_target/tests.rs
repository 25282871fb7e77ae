// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Cargo's build messages are read correctly, and a failed build is an error.

use super::*;

/// What cargo 1.95 writes for a package `it` with the test target `it`, shortened.
const MESSAGES: &str = r#"{"reason":"compiler-artifact","target":{"kind":["lib"],"crate_types":["lib"],"name":"it","test":true},"executable":null,"fresh":true}
{"reason":"compiler-artifact","target":{"kind":["bin"],"crate_types":["bin"],"name":"it","test":true},"executable":"/target/debug/it","fresh":true}
not a message
{"reason":"compiler-artifact","target":{"kind":["test"],"crate_types":["bin"],"name":"other","test":true},"executable":"/target/debug/deps/other-1","fresh":true}
{"reason":"compiler-artifact","target":{"kind":["test"],"crate_types":["bin"],"name":"it","test":true},"executable":"/target/debug/deps/it-2","fresh":true}
{"reason":"build-finished","success":true}
"#;

#[test]
fn the_binary_is_that_of_the_test_target() {
    let binary = executable(MESSAGES, "it");

    assert_eq!(binary, Some("/target/debug/deps/it-2".into()));
    assert_eq!(executable(MESSAGES, "third"), None);
}

#[test]
fn a_missing_target_cannot_be_built() {
    let error = build(Path::new(env!("CARGO_MANIFEST_DIR")), "absent").unwrap_err();

    assert_eq!(
        error.to_string(),
        "could not build the test target `absent`: cargo ended with exit status: 101"
    );
}
