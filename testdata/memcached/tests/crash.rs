// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! `make test-crash`: wherever the operator dies or one of its requests fails, the objects become the same.
//!
//! Each scenario runs once without a fault, and then again for each request of the operator and each fault. This takes
//! long if there are many, so it is not part of a plain `cargo test`. `.may_differ` leaves a field out of the comparison.

use std::process::ExitCode;

use kbr_testing::Crash;

/// Objects that are created, changed and deleted. The file of the same name in `tests/crash`, if there is one, says what
/// they are changed to.
const SAMPLES: &[&str] = &[
    "config/samples/memcached_v1_memcached.yaml",
    // +kbr:scaffold:crash-samples
];

fn main() -> ExitCode {
    let operator = env!("CARGO_BIN_EXE_memcached");
    Crash::new(env!("CARGO_MANIFEST_DIR"), operator)
        .samples(SAMPLES)
        .run()
}
