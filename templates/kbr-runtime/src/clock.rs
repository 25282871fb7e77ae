// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What time it is, for whatever happens on a schedule.
//!
//! A reconcile asks the manager's clock and not the system's, so that a test can set the time and
//! need not wait for it.

use futures::{Stream, StreamExt, stream};
use k8s_openapi::jiff::Timestamp;
use tokio::sync::watch;

/// Tells the time. Clones tell the same time.
#[derive(Clone, Debug, Default)]
pub struct Clock(Option<watch::Receiver<Timestamp>>);

/// Sets the time of the clock that it came with.
#[derive(Debug)]
pub struct ClockSetter(watch::Sender<Timestamp>);

impl Clock {
    /// The system's clock.
    #[must_use]
    pub fn system() -> Self {
        Self(None)
    }

    /// A clock that stands at `time` until it is set.
    #[must_use]
    pub fn manual(time: Timestamp) -> (Self, ClockSetter) {
        let (setter, clock) = watch::channel(time);
        (Self(Some(clock)), ClockSetter(setter))
    }

    /// The time now.
    #[must_use]
    pub fn now(&self) -> Timestamp {
        match &self.0 {
            Some(time) => *time.borrow(),
            None => Timestamp::now(),
        }
    }

    /// An item each time that a [`ClockSetter`] sets this clock; the system's has none.
    ///
    /// For [`kube::runtime::Controller::reconcile_all_on`]: what is due then is not asleep.
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
    /// Sets the time, forwards or back.
    pub fn set(&self, time: Timestamp) {
        self.0.send_replace(time);
    }
}

#[cfg(test)]
mod tests;
