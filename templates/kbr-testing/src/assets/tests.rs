// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

/// Tested without a server, since no server of another version is available.
#[test]
fn a_server_is_new_enough_from_the_version_of_the_types_on() {
    let (major, minor) = MINOR.split_once('.').unwrap();
    let (major, minor): (u32, u32) = (major.parse().unwrap(), minor.parse().unwrap());
    let is_new_enough = |major: u32, minor: String| {
        is_new_enough(&Info {
            major: major.to_string(),
            minor,
            ..Info::default()
        })
    };

    assert!(!is_new_enough(major, format!("{}", minor - 1)));
    assert!(!is_new_enough(major, format!("{}+", minor - 1)));
    assert!(!is_new_enough(major, "9".to_owned()));
    assert!(is_new_enough(major, format!("{minor}")));
    assert!(is_new_enough(major, format!("{minor}+")));
    assert!(is_new_enough(major, format!("{}", minor + 1)));
    assert!(is_new_enough(major + 1, "0".to_owned()));
}
