// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The certificate of the webhooks is renewed while they are called, on new connections.

use std::time::Duration;

use crate::env;

#[path = "../../examples/measure/client.rs"]
mod client;
#[path = "../../examples/measure/renewals.rs"]
mod renewals;

/// Ten times the promised time.
const PATIENCE: Duration = Duration::from_secs(10);

#[test]
fn no_review_fails_while_the_certificate_is_renewed_and_each_is_served() {
    let seen = renewals::renew(env(), 4, PATIENCE).unwrap();

    assert!(seen.failures.is_empty(), "{:?}", seen.failures);
    let are_served = seen.served.iter().all(Option::is_some);
    assert!(
        are_served,
        "{:?} after {} reviews",
        seen.served, seen.reviews
    );
}
