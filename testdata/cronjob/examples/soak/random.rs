// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reproducible random numbers from a seed: SplitMix64, by Steele, Lea and Flood.

use std::ops::RangeInclusive;

pub struct Random(u64);

impl Random {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    pub fn between(&mut self, range: RangeInclusive<u64>) -> u64 {
        range.start() + self.next() % (range.end() - range.start() + 1)
    }

    /// Returns true in one of `cases` cases.
    pub fn one_in(&mut self, cases: u64) -> bool {
        self.between(1..=cases) == 1
    }
}
