// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[test]
fn reads_the_notation_of_go() {
    let host = |text: &str| Ok(BindAddress::Host(text.to_owned()));
    for (text, expected) in [
        ("", Ok(BindAddress::Off)),
        ("0", Ok(BindAddress::Off)),
        (":8081", Ok(BindAddress::Everywhere(8081))),
        (":0", Ok(BindAddress::Everywhere(0))),
        ("127.0.0.1:8081", host("127.0.0.1:8081")),
        ("localhost:8081", host("localhost:8081")),
        ("[::1]:8081", host("[::1]:8081")),
    ] {
        assert_eq!(text.parse(), expected, "{text}");
    }
}

#[test]
fn refuses_invalid_addresses() {
    for text in ["8081", ":http", ":65536", "localhost:", "::1:8081", "-1"] {
        assert!(text.parse::<BindAddress>().is_err(), "{text}");
    }
}

#[test]
fn prints_what_it_read() {
    for text in ["0", ":8081", "[::1]:8081"] {
        assert_eq!(text.parse::<BindAddress>().unwrap().to_string(), text);
    }
}

#[test]
fn a_port_in_use_is_an_error() {
    let taken = BindAddress::Everywhere(0).listen().unwrap().unwrap();
    let port = taken.local_addr().unwrap().port();

    let error = BindAddress::Everywhere(port).listen().unwrap_err();

    assert_eq!(error.kind(), io::ErrorKind::AddrInUse);
}

#[test]
fn off_opens_no_socket() {
    assert!(BindAddress::Off.listen().unwrap().is_none());
}
