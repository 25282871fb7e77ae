// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The content of a Lease, and how it changes when the Lease is acquired, renewed or released.
//!
//! The fields mean the same as in client-go, so that `kubectl get lease` and candidates in Go can read them.
//! The times in them are written for people: they are from other machines, and never compared with ours.

use std::time::Duration;

use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;

use crate::clock::BootTime;

/// How long a Lease is valid that does not say so; client-go's default.
const DURATION: Duration = Duration::from_secs(15);

/// A Lease as it was last seen.
#[derive(Debug, Default)]
pub(super) struct Record {
    lease: Lease,
    /// Since when its holder has not changed it, by our own clock.
    since: BootTime,
    /// Until when a deleted Lease was valid. Its holder may not know yet that it was deleted.
    not_before: BootTime,
}

impl Record {
    /// Records the Lease as it is now. Only what its holder writes proves that it is alive: somebody may add
    /// an annotation to the Lease of a process that has ended.
    pub(super) fn see(&mut self, lease: Lease) {
        if self.lease.metadata.uid != lease.metadata.uid {
            self.not_before = self.ends();
        }
        if shows_life(&self.lease, &lease) {
            self.since = BootTime::now();
        }
        self.lease = lease;
    }

    pub(super) fn version(&self) -> Option<&str> {
        self.lease.metadata.resource_version.as_deref()
    }

    /// The holder; `None` if there is none.
    pub(super) fn holder(&self) -> Option<&str> {
        let holder = self.lease.spec.as_ref()?.holder_identity.as_deref();
        holder.filter(|holder| !holder.is_empty())
    }

    /// Until when another process holds it as far as is known; `None` if `identity` may take it at once.
    pub(super) fn expires(&self, identity: &str) -> Option<BootTime> {
        if self.holder() == Some(identity) {
            return None;
        }
        let until = self.ends().max(self.not_before);
        (BootTime::now() < until).then_some(until)
    }

    /// Until when its holder may believe that it holds the Lease.
    fn ends(&self) -> BootTime {
        if self.holder().is_none() {
            return self.not_before;
        }
        let spec = self.lease.spec.as_ref();
        let seconds = spec.and_then(|spec| spec.lease_duration_seconds);
        let seconds = seconds.and_then(|seconds| u64::try_from(seconds).ok());
        self.since + seconds.map_or(DURATION, Duration::from_secs)
    }

    /// The Lease as `identity` acquires or renews it, with the version that was seen: the API server refuses it if
    /// there is a newer one.
    /// It is valid for `duration`, rounded up to whole seconds.
    pub(super) fn taken(&self, identity: &str, now: Timestamp, duration: Duration) -> Lease {
        let is_renewal = self.holder() == Some(identity);
        let seconds = duration.as_secs() + u64::from(duration.subsec_nanos() > 0);
        let mut lease = self.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        let acquired = spec.acquire_time.take().filter(|_| is_renewal);
        spec.acquire_time = acquired.or(Some(MicroTime(now)));
        spec.renew_time = Some(MicroTime(now));
        spec.holder_identity = Some(identity.to_owned());
        spec.lease_duration_seconds = Some(i32::try_from(seconds).unwrap_or(i32::MAX));
        *spec.lease_transitions.get_or_insert_default() += i32::from(!is_renewal);
        lease
    }

    /// The Lease without a holder, as client-go leaves it.
    pub(super) fn released(&self, now: Timestamp) -> Lease {
        let mut lease = self.lease.clone();
        let spec = lease.spec.get_or_insert_default();
        spec.holder_identity = Some(String::new());
        spec.lease_duration_seconds = Some(1);
        spec.acquire_time = Some(MicroTime(now));
        spec.renew_time = Some(MicroTime(now));
        lease
    }
}

/// Whether the Lease has been acquired, renewed, released or recreated in the meantime.
fn shows_life(before: &Lease, now: &Lease) -> bool {
    let record = |lease: &Lease| {
        let spec = lease.spec.clone().unwrap_or_default();
        let times = (spec.renew_time, spec.lease_transitions);
        (lease.metadata.uid.clone(), spec.holder_identity, times)
    };
    record(before) != record(now)
}

#[cfg(test)]
mod tests;
