// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use http::HeaderValue;
use tokio::sync::mpsc::error::TryRecvError;

use super::*;
use crate::logging::tests::logged;

fn headers(values: &[&str]) -> HeaderMap {
    let values = values.iter().map(|value| HeaderValue::from_str(value));
    values.map(|value| (WARNING, value.unwrap())).collect()
}

#[test]
fn each_text_is_logged_once_in_a_while_and_counted_each_time() {
    let warnings = Warnings::default();
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_time()
        .start_paused(true)
        .build()
        .unwrap();
    let lines = logged("info".into(), || {
        runtime.block_on(async {
            let two = headers(&[
                r#"299 - "unknown field \"spec.replica\"""#,
                r#"299 - "v1 is deprecated" "Sat, 28 Nov 2026 10:00:00 GMT""#,
            ]);
            warnings.note("GET", &two);
            warnings.note("PATCH", &two);
            tokio::time::advance(REMINDER).await;
            warnings.note("GET", &headers(&[r#"299 - "v1 is deprecated""#]));
        });
    });

    let texts: Vec<_> = lines.iter().map(|line| &line["warning"]).collect();
    let expected = [
        r#"unknown field "spec.replica""#,
        "v1 is deprecated",
        "v1 is deprecated",
    ];
    assert_eq!(texts, expected);
    assert_eq!(warnings.count.get(), 5);
}

#[test]
fn what_is_no_warning_is_left_out_and_texts_are_not_kept_without_end() {
    let warnings = Warnings::default();
    warnings.note("GET", &headers(&["299", "299 - \"open", "299 - \"\\", ""]));
    assert_eq!(warnings.count.get(), 0);
    for number in 0..2 * MOST {
        warnings.note("GET", &headers(&[&format!("299 - \"{number}\"")]));
    }
    assert_eq!(lock(&warnings.logged).len(), MOST);
}

#[test]
fn a_test_is_told_of_each_warning_about_a_write() {
    let warnings = Warnings::default();
    let one = headers(&[r#"299 - "v1 is deprecated""#]);
    warnings.note("PATCH", &one);

    let mut told = warnings.of_writes();
    warnings.note("GET", &one);
    assert_eq!(told.try_recv(), Err(TryRecvError::Empty));
    for method in ["PATCH", "POST"] {
        warnings.note(method, &one);
        assert_eq!(told.try_recv().as_deref(), Ok("v1 is deprecated"));
    }
}
