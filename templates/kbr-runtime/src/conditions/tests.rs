// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

fn ready(status: ConditionStatus, second: i64) -> Condition {
    Condition {
        last_transition_time: at(second),
        ..new("Ready", status, "Reason", Some(1), at(0).0)
    }
}

fn at(second: i64) -> Time {
    Time(Timestamp::from_second(second).unwrap())
}

#[test]
fn adds_a_condition_of_a_new_type() {
    let mut conditions = vec![new(
        "Available",
        ConditionStatus::True,
        "Reason",
        None,
        at(0).0,
    )];

    assert!(set(&mut conditions, ready(ConditionStatus::True, 10)));
    assert_eq!(conditions.len(), 2);
    assert_eq!(conditions[0].type_, "Available");
    assert_eq!(conditions[1], ready(ConditionStatus::True, 10));
}

#[test]
fn the_same_condition_later_changes_nothing() {
    let mut conditions = vec![ready(ConditionStatus::True, 10)];

    assert!(!set(&mut conditions, ready(ConditionStatus::True, 20)));
    assert_eq!(conditions, [ready(ConditionStatus::True, 10)]);
}

#[test]
fn another_status_is_a_transition() {
    let mut conditions = vec![ready(ConditionStatus::True, 10)];

    assert!(set(&mut conditions, ready(ConditionStatus::False, 20)));
    assert_eq!(conditions, [ready(ConditionStatus::False, 20)]);
}

#[test]
fn another_reason_message_or_generation_is_a_change_but_no_transition() {
    let with = |change: fn(&mut Condition)| {
        let mut condition = ready(ConditionStatus::Unknown, 20);
        change(&mut condition);
        condition
    };
    for condition in [
        with(|c| c.reason = "Other".to_owned()),
        with(|c| c.message = "other".to_owned()),
        with(|c| c.observed_generation = Some(2)),
    ] {
        let mut conditions = vec![ready(ConditionStatus::Unknown, 10)];

        assert!(set(&mut conditions, condition.clone()));
        let expected = Condition {
            last_transition_time: at(10),
            ..condition
        };
        assert_eq!(conditions, [expected]);
    }
}

#[test]
fn a_new_condition_holds_since_now_and_is_found_by_its_type() {
    let now = at(7).0;
    let conditions = [new("Ready", ConditionStatus::True, "Reason", None, now)];

    let found = find(&conditions, "Ready").unwrap();
    assert_eq!(found.last_transition_time, at(7));
    assert_eq!(find(&conditions, "Available"), None);
}

#[test]
fn conditions_are_selected_by_their_types() {
    let other = new("Other", ConditionStatus::True, "Reason", None, at(7).0);
    let conditions = [other, ready(ConditionStatus::True, 7)];

    assert_eq!(
        of_types(&conditions, &["Ready", "Degraded"]),
        conditions[1..]
    );
    assert_eq!(of_types(&conditions, &[]), []);
}
