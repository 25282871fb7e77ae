// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use std::io;

use super::*;

#[derive(Debug, thiserror::Error)]
#[error("outer")]
struct Outer(#[source] Middle);

#[derive(Debug, thiserror::Error)]
#[error("middle: {0}")]
struct Middle(#[source] io::Error);

#[test]
fn a_chain_names_every_cause_once() {
    let error = Outer(Middle(io::Error::other("inner")));

    assert_eq!(chain(&error), "outer: middle: inner");
}
