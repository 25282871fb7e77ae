// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A clock that keeps running while the machine is suspended.
//!
//! [`std::time::Instant`] stops then, and a process that resumes must know that its Lease has expired.

use std::ops::Add;
use std::time::Duration;

/// A time on that clock. On Linux it is the time since boot. On other systems it is an `Instant`, which
/// stops while the machine is suspended.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct BootTime(pub(crate) Duration);

impl BootTime {
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        Self(time.try_into().unwrap_or_default())
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Self {
        use std::sync::LazyLock;
        use std::time::Instant;

        static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(FIRST.elapsed())
    }

    /// How long it is until then; zero if it is past.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }
}

impl Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}
