// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which schedules the models try: `KBR_SCHEDULES` is their number, and `KBR_SEED` the seed of the first one.
//!
//! kbr's own tests set the seed to that of the commit, so that each commit tries other schedules.

use std::ops::Range;

/// The seeds of the schedules of this run: `default` of them, unless the environment says otherwise.
pub(crate) fn seeds(default: u64) -> Range<u64> {
    let first = number("KBR_SEED", 1);
    first..first + number("KBR_SCHEDULES", default)
}

fn number(variable: &str, default: u64) -> u64 {
    let value = std::env::var(variable).ok();
    value.map_or(default, |value| value.parse().unwrap())
}

/// The command that repeats these schedules of a test.
pub(crate) fn again(seeds: &Range<u64>, test: &str) -> String {
    format!(
        "repeat it with: cd templates/kbr-runtime && KBR_SEED={} KBR_SCHEDULES={} cargo test --lib --all-features {test}",
        seeds.start,
        seeds.end - seeds.start
    )
}
