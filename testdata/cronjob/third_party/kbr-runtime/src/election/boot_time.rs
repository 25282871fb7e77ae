// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Time since the machine was started.
//!
//! It goes on while the machine is suspended, which that of [`std::time::Instant`] does not: whoever
//! wakes up must know that its Lease has expired. No clock of another machine is compared with it.

use std::time::Duration;

/// A point in that time. Other systems than Linux have only the clock that stops in suspend.
#[derive(Clone, Copy, Debug, Default, Eq, Ord, PartialEq, PartialOrd)]
pub(crate) struct BootTime(Duration);

impl BootTime {
    #[cfg(target_os = "linux")]
    pub(crate) fn now() -> Self {
        let time = rustix::time::clock_gettime(rustix::time::ClockId::Boottime);
        let seconds = u64::try_from(time.tv_sec).unwrap_or_default();
        let nanoseconds = u32::try_from(time.tv_nsec).unwrap_or_default();
        Self(Duration::new(seconds, nanoseconds))
    }

    #[cfg(not(target_os = "linux"))]
    pub(crate) fn now() -> Self {
        use std::sync::LazyLock;
        use std::time::Instant;

        static FIRST: LazyLock<Instant> = LazyLock::new(Instant::now);
        Self(FIRST.elapsed())
    }

    #[cfg(test)]
    pub(super) fn before(self, time: Duration) -> Self {
        Self(self.0.saturating_sub(time))
    }

    /// How long it is until then; zero if it is past.
    pub(crate) fn left(self) -> Duration {
        self.0.saturating_sub(Self::now().0)
    }
}

impl std::ops::Add<Duration> for BootTime {
    type Output = Self;

    fn add(self, time: Duration) -> Self {
        Self(self.0.saturating_add(time))
    }
}
