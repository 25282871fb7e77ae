// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

#[derive(Debug, serde::Deserialize)]
struct Server {
    #[allow(dead_code, reason = "only read")]
    ports: Vec<u16>,
}

#[test]
fn the_field_is_named_and_its_value_is_not() {
    let text = r#"{"ports": [80, "hunter2"]}"#;
    let of_text = read_text::<Server>(text).unwrap_err();
    let of_value = read_value::<Server>(&serde_json::from_str(text).unwrap()).unwrap_err();

    assert_eq!(of_text.to_string(), "ports[1]: expected u16");
    assert_eq!(of_value.to_string(), "ports[1]: expected u16");
    let of_all = read_text::<Server>("{}").unwrap_err();
    assert_eq!(of_all.to_string(), ".: missing field `ports`");
}

#[test]
fn an_error_that_does_not_say_what_it_expected_is_not_quoted() {
    let custom = without_value("`hunter2` is no number at line 1 column 7");
    assert_eq!(custom, "it does not fit");
}
