// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests. The clocks of other machines make no difference.

use super::*;
use k8s_openapi::api::coordination::v1::LeaseSpec;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use k8s_openapi::jiff::SignedDuration;

fn lease(uid: &str, holder: &str, renewed: Timestamp) -> Lease {
    Lease {
        metadata: ObjectMeta {
            uid: Some(uid.to_owned()),
            ..ObjectMeta::default()
        },
        spec: Some(LeaseSpec {
            holder_identity: Some(holder.to_owned()),
            lease_duration_seconds: Some(20),
            renew_time: Some(MicroTime(renewed)),
            ..LeaseSpec::default()
        }),
    }
}

/// As if the record had been seen this long ago.
fn seen_ago(record: &mut Record, time: Duration) {
    record.since = BootTime(BootTime::now().0.saturating_sub(time));
}

#[test]
fn the_lease_of_another_expires_when_it_has_not_changed_for_its_duration() {
    let now = Timestamp::now();
    for skew in [-600, 0, 600] {
        let renewed = now + SignedDuration::from_secs(skew);
        let mut record = Record::default();
        record.see(lease("1", "other", renewed));
        let left = record.expires("me").unwrap().left();
        assert!(left > Duration::from_secs(19), "{left:?}");

        seen_ago(&mut record, Duration::from_secs(19));
        // Seeing it again is not a sign of life.
        record.see(lease("1", "other", renewed));
        assert!(record.expires("me").is_some());
        seen_ago(&mut record, Duration::from_secs(20));
        assert_eq!(record.expires("me"), None);

        record.see(lease("1", "other", renewed + SignedDuration::from_secs(2)));
        assert!(record.expires("me").is_some());
    }
}

/// Anybody may write annotations, and the fields that only people read.
#[test]
fn only_the_holder_can_prolong_its_lease() {
    let mut record = Record::default();
    let mut lease = lease("1", "other", Timestamp::now());
    record.see(lease.clone());
    seen_ago(&mut record, Duration::from_secs(20));
    assert_eq!(record.expires("me"), None);

    lease.metadata.resource_version = Some("2".to_owned());
    lease.metadata.annotations = Some([("a".to_owned(), "b".to_owned())].into());
    lease.spec.as_mut().unwrap().preferred_holder = Some("me".to_owned());
    record.see(lease);

    assert_eq!(record.expires("me"), None);
    // It is written with the version that was seen last.
    assert_eq!(record.version(), Some("2"));
}

#[test]
fn a_lease_without_a_holder_or_of_ones_own_is_free() {
    let mut record = Record::default();
    record.see(lease("1", "", Timestamp::now()));
    assert_eq!(record.expires("me"), None);
    record.see(lease("1", "me", Timestamp::now()));
    assert_eq!(record.expires("me"), None);
    assert!(record.expires("other").is_some());
}

/// The holder of the deleted Lease may not know yet that it was deleted.
#[test]
fn a_recreated_lease_is_free_when_the_old_one_has_expired() {
    let mut record = Record::default();
    record.see(lease("1", "other", Timestamp::now()));
    record.see(lease("2", "", Timestamp::now()));
    assert!(record.expires("me").is_some());

    let mut record = Record::default();
    record.see(lease("1", "other", Timestamp::now()));
    seen_ago(&mut record, Duration::from_secs(20));
    record.see(lease("2", "", Timestamp::now()));
    assert_eq!(record.expires("me"), None);
}

#[test]
fn a_lease_is_acquired_and_released_as_client_go_does() {
    let (before, now) = (Timestamp::UNIX_EPOCH, Timestamp::now());
    let mut record = Record::default();
    record.see(lease("1", "other", before));

    let taken = record.taken("me", now, DURATION);
    let spec = taken.spec.clone().unwrap();
    assert_eq!(spec.holder_identity.as_deref(), Some("me"));
    assert_eq!(spec.lease_duration_seconds, Some(15));
    assert_eq!(spec.lease_transitions, Some(1));
    assert_eq!(spec.acquire_time, Some(MicroTime(now)));
    assert_eq!(spec.renew_time, Some(MicroTime(now)));

    record.see(taken);
    let later = now + SignedDuration::from_secs(2);
    let renewed = record.taken("me", later, DURATION).spec.unwrap();
    assert_eq!(renewed.lease_transitions, Some(1));
    assert_eq!(renewed.acquire_time, Some(MicroTime(now)));
    assert_eq!(renewed.renew_time, Some(MicroTime(later)));

    let longer = record.taken("me", later, Duration::from_millis(20_001));
    assert_eq!(longer.spec.unwrap().lease_duration_seconds, Some(21));

    let released = record.released(later).spec.unwrap();
    assert_eq!(released.holder_identity.as_deref(), Some(""));
    assert_eq!(released.lease_duration_seconds, Some(1));
    assert_eq!(released.lease_transitions, Some(1));
}
