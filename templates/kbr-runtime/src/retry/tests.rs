// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::chain::chain;
use std::io;

#[derive(Debug, thiserror::Error)]
enum Custom {
    #[error("no zone: {0}")]
    Source(#[source] Retry),
    #[error(transparent)]
    Transparent(#[from] Retry),
    #[error("something else")]
    Other(#[source] io::Error),
}

fn never() -> Retry {
    Retry::never(io::Error::other("misspelt"))
}

#[test]
fn it_is_found_however_an_error_type_holds_it() {
    let hour = Duration::from_secs(3600);
    let hourly = || Retry::after(hour, "later");

    assert_eq!(stated(&never()), Some(Action::await_change()));
    assert_eq!(
        stated(&Custom::Source(never())),
        Some(Action::await_change())
    );
    assert_eq!(
        stated(&Custom::Transparent(hourly())),
        Some(Action::requeue(hour))
    );
    assert_eq!(stated(&Custom::Other(io::Error::other("later"))), None);
}

#[test]
fn the_outermost_counts() {
    let inner = Retry::after(Duration::from_secs(1), "later");
    assert_eq!(stated(&Retry::never(inner)), Some(Action::await_change()));
}

#[test]
fn it_adds_no_words_to_the_error() {
    assert_eq!(chain(&never()), "misspelt");
    assert_eq!(chain(&Custom::Transparent(never())), "misspelt");
    assert_eq!(chain(&Custom::Source(never())), "no zone: misspelt");
}
