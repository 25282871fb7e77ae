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

fn answer() -> kube::Error {
    let status = kube::core::Status {
        code: 409,
        message: "it was changed".to_owned(),
        reason: "Conflict".to_owned(),
        ..kube::core::Status::default()
    };
    kube::Error::Api(status.boxed())
}

#[derive(Debug, thiserror::Error)]
enum Write {
    #[error("could not write")]
    Plain(#[source] kube::Error),
    #[error("could not write: {0}")]
    Quoting(#[source] kube::Error),
}

#[test]
fn a_response_of_the_api_server_is_shown_as_its_message() {
    assert_eq!(chain(&answer()), "it was changed");
    for error in [Write::Plain(answer()), Write::Quoting(answer())] {
        assert_eq!(chain(&error), "could not write: it was changed");
    }
}
