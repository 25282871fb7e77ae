// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

fn pool(names: &[&str]) -> Pool {
    Pool {
        granted: Vec::new(),
        names: names.iter().map(|name| (*name).to_owned()).collect(),
        taken: AtomicUsize::new(0),
    }
}

#[test]
fn each_is_taken_once() {
    let pool = pool(&["a", "b"]);

    assert_eq!([pool.take(), pool.take()], ["a", "b"]);
    assert_eq!(pool.names(), ["a", "b"]);
}

#[test]
#[should_panic(
    expected = "all 2 namespaces that the operator watches are taken: start the environment with more, \
                with `TestEnv::builder(..).namespaces(4)`"
)]
fn when_all_are_taken_the_message_says_how_to_create_more() {
    let pool = pool(&["a", "b"]);
    for _ in 0..3 {
        pool.take();
    }
}

#[test]
fn the_deployment_says_what_is_watched() {
    let of = |variable: Value| {
        let other = json!({ "name": "OTHER", "value": "x" });
        watched(Some(&json!({ "env": [other, variable] })), "own")
    };
    let named = |value: &str| of(json!({ "name": "WATCH_NAMESPACE", "value": value }));
    let field = json!({ "fieldRef": { "fieldPath": "metadata.namespace" } });

    assert_eq!(
        of(json!({ "name": "WATCH_NAMESPACE", "valueFrom": field })),
        ["own"]
    );
    assert_eq!(named("a"), ["a"]);
    assert_eq!(named("b,a"), ["b", "a"]);
    assert_eq!(named("b,own,a"), ["own", "b", "a"]);
    assert_eq!(of(json!({ "name": "ELSE", "value": "a" })), [""; 0]);
    assert_eq!(watched(None, "own"), [""; 0]);
}
