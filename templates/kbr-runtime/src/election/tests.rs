// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests. Candidates with a real API server are tested in a project.

use super::*;

fn flags(id: &str, namespace: &str) -> Flags {
    Flags {
        leader_elect: true,
        leader_election_id: Some(id.to_owned()),
        leader_election_namespace: Some(namespace.to_owned()),
        ..Flags::default()
    }
}

#[test]
fn names_that_the_api_server_would_refuse_are_refused() {
    for id in ["a", "1a2b3c4d.example.com", "a-1.b"] {
        assert!(Settings::of(&flags(id, "default")).is_ok(), "{id}");
    }
    let long = "a".repeat(254);
    for id in ["", "A", "a_b", "-a", "a-", ".a", "a..b", "a/b", &long] {
        let error = Settings::of(&flags(id, "default")).unwrap_err();
        assert!(
            error.to_string().starts_with("`--leader-election-id` "),
            "{id}: {error}"
        );
    }
    for namespace in ["", "a.b", "A"] {
        let error = Settings::of(&flags("a", namespace)).unwrap_err();
        assert!(
            error.to_string().contains("namespace"),
            "{namespace}: {error}"
        );
    }
}

#[test]
fn without_the_flag_there_is_no_election() {
    let flags = Flags {
        leader_elect: false,
        ..flags("A", "A")
    };
    assert!(Settings::of(&flags).unwrap().is_none());
}
