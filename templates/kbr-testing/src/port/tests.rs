// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn a_port_is_chosen_once_until_it_is_dropped() {
    let first = ReservedPort::choose().unwrap();
    let other = ReservedPort::choose().unwrap();
    let number = first.number;
    let second = ReservedPort::first_free([number, number]);
    assert!(matches!(second, Err(TestEnvError::NoPort(_))));

    // As the operator does much later.
    let listener = TcpListener::bind((LOOPBACK, number)).unwrap();
    drop(first);
    let third = ReservedPort::first_free([number, number]);
    assert!(matches!(third, Err(TestEnvError::NoPort(_))));
    drop(listener);

    let candidates = [other.number, number];
    assert_eq!(ReservedPort::first_free(candidates).unwrap().number, number);
}
