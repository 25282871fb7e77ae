// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

const COPIES: usize = 5;

fn of(json: &str, depth: usize) -> usize {
    let copies = COPIES;
    let most = usize::MAX;
    let parsing = Parsing {
        depth,
        copies,
        most,
    };
    weight(json.as_bytes(), parsing)
}

/// `count` times `item`, in a list.
fn list(item: &str, count: usize) -> String {
    format!("[{}]", vec![item; count].join(","))
}

#[test]
fn small_values_weigh_far_more_than_their_text() {
    let fields: Vec<_> = (0..1000).map(|field| format!(r#""{field}":0"#)).collect();
    for (json, least) in [
        (list(r#"{"":0}"#, 1000), 640 * COPIES * 1000),
        (list("[]", 1000), 200 * COPIES * 1000),
        (list("0", 1000), 90 * COPIES * 1000),
        (format!("{{{}}}", fields.join(",")), 190 * COPIES * 1000),
    ] {
        let (weight, start) = (of(&json, 0), &json[..20]);
        assert!(weight > least, "{start}: {weight}, at least {least}");
        assert!(weight < 2 * least, "{start}: {weight}, at least {least}");
    }
}

#[test]
fn a_string_weighs_its_length_whatever_its_content() {
    let plain = of(&list(&format!(r#""{}""#, "a".repeat(30_000)), 1), 0);
    let hostile = of(
        &list(&format!(r#""{}""#, r#"{[\",\\"#.repeat(30_000 / 7)), 1),
        0,
    );
    assert!(plain.abs_diff(hostile) < 100 * COPIES, "{plain}, {hostile}");
    assert!(plain < COPIES * 31_000, "{plain}");
}

#[test]
fn the_largest_of_the_parts_parsed_in_turn_counts() {
    let small = list("{}", 100);
    let page = |count| {
        let objects = vec![format!(r#"{{"a":{small}}}"#); count].join(",");
        format!(r#"{{"request":{{"objects":[{objects}]}}}}"#)
    };
    let (one, all) = (of(&page(1), 3), of(&page(500), 3));
    assert!(one > 100 * OBJECT, "{one}");
    assert!(all < one + 500 * 2 * ADDED, "{one}, {all}");
    assert!(of(&page(500), 0) > 400 * one);
}

#[test]
fn unclosed_text_is_weighed_as_well() {
    let json = list(r#"{"":0}"#, 1000);
    let cut = &json[..json.len() - 1];
    assert!(of(cut, 0) > 1000 * OBJECT);
    // Depth alone takes nothing.
    assert!(of(&"[".repeat(1 << 20), 0) < 1 << 20);
    assert_eq!(of("]]}}", 0), 0);
}

#[test]
fn a_part_too_large_to_be_parsed_weighs_no_more_than_its_text() {
    let json = list(&list("{}", 100_000), 1);
    let parsing = Parsing {
        depth: 1,
        copies: COPIES,
        most: 1 << 20,
    };

    assert!(weight(json.as_bytes(), parsing) < COPIES * (json.len() + (1 << 20)) + (1 << 16));
    assert!(of(&json, 1) > 100 << 20);
}
