// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

fn status(value: Value) -> Status {
    serde_json::from_value(value).unwrap()
}

#[test]
fn unknown_fields_are_told_one_by_one() {
    let refused = status(json!({
        "status": "Failure", "code": 400, "reason": "BadRequest",
        "message": "A in version \"v1\" cannot be handled as a A: strict decoding error: unknown field \"spec.a\", unknown field \"spec.b[0].c\"",
    }));
    let fields: Vec<_> = misfits(&refused).into_iter().map(|it| it.0).collect();
    assert_eq!(fields, ["spec.a", "spec.b[0].c"]);
}

#[test]
fn what_the_schema_refuses_is_told_with_the_reason() {
    let refused = status(json!({
        "status": "Failure", "code": 422, "reason": "Invalid", "message": "A is invalid",
        "details": { "causes": [{ "reason": "FieldValueRequired", "message": "Required value", "field": "spec.rank" }] },
    }));
    let expected = [("spec.rank".to_owned(), "Required value".to_owned())];
    assert_eq!(misfits(&refused), expected);
}

#[test]
fn a_webhook_that_does_not_answer_is_no_misfit() {
    let refused = status(json!({
        "status": "Failure", "code": 500, "reason": "InternalError",
        "message": "failed calling webhook", "details": { "causes": [{ "message": "connection refused" }] },
    }));
    assert_eq!(misfits(&refused), []);
}
