// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The current time, for everything that happens on a schedule.
//!
//! A reconcile uses the manager's clock and not the system clock, so that a test can set the time instead
//! of waiting.

mod boot_time;

use futures::{Stream, StreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;

pub(crate) use boot_time::BootTime;

/// Tells the time: that of the system clock, or in a test the time that the test sets. Clones share it.
///
/// ```
/// use k8s_openapi::jiff::Timestamp;
/// use kbr_runtime::Clock;
///
/// let noon: Timestamp = "2026-03-02T12:00:00Z".parse().unwrap();
/// let (clock, setter) = Clock::manual(noon);
/// assert_eq!(clock.now(), noon);
///
/// let one: Timestamp = "2026-03-02T13:00:00Z".parse().unwrap();
/// setter.set(one);
/// assert_eq!(clock.now(), one);
/// ```
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<watch::Receiver<Timestamp>>);

/// Sets the time of a [`Clock::manual`].
#[derive(Debug)]
pub struct ClockSetter(watch::Sender<Timestamp>);

impl Clock {
    /// The system clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stays at `time` until the [`ClockSetter`] sets it.
    #[must_use]
    pub fn manual(time: Timestamp) -> (Self, ClockSetter) {
        let (setter, clock) = watch::channel(time);
        (Self(Some(clock)), ClockSetter(setter))
    }

    /// The current time.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(time) => *time.borrow(),
            None => Timestamp::now(),
        }
    }

    /// Whether this is the system clock.
    pub(crate) fn is_system(&self) -> bool {
        self.0.is_none()
    }

    /// Yields an item each time a [`ClockSetter`] sets this clock, and none for the system clock.
    ///
    /// Pass it to [`Controller::reconcile_all_on`](crate::Controller::reconcile_all_on): an object that
    /// waits with [`Action::requeue`](crate::Action::requeue) waits in real time,
    /// and would miss a change of this clock.
    pub fn changes(&self) -> impl Stream<Item = ()> + Send + Sync + use<> {
        let changes = |mut clock: watch::Receiver<Timestamp>| {
            clock.mark_unchanged();
            stream::unfold(clock, |mut clock| async {
                clock.changed().await.ok().map(|()| ((), clock))
            })
        };
        stream::iter(self.0.clone())
            .flat_map(changes)
            .chain(stream::pending())
    }
}

impl ClockSetter {
    /// Sets the time, forward or back.
    pub fn set(&self, time: Timestamp) {
        self.0.send_replace(time);
    }
}

#[cfg(test)]
mod tests;
