// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::api_server::ApiServer;
use crate::handle::tests::context;
use crate::logging::tests::logged;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use std::io::{Read, Write};
use std::net::TcpListener;

#[test]
fn the_condition_is_found_in_any_kind_that_has_it() {
    let with = |status| condition(&json!({ "metadata": {}, "status": status }));

    assert_eq!(condition(&json!({ "data": {} })), None);
    assert_eq!(with(json!({ "conditions": "none" })), None);
    let ready = json!({ "type": "Ready", "status": "True", "reason": "Done" });
    assert_eq!(with(json!({ "conditions": [ready] })), None);
    for (status, expected) in [("True", true), ("False", false), ("Unknown", false)] {
        let paused = json!({ "type": "Paused", "status": status });
        let conditions = json!({ "conditions": [ready, paused] });
        assert_eq!(with(conditions), Some(expected));
    }
}

/// An API server that gives each request this response, and how many requests it has had.
fn answering(code: u16, status: &serde_json::Value) -> (Client, Arc<Mutex<usize>>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let (count, body) = (Arc::new(Mutex::new(0)), status.to_string());
    let counted = count.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read(&mut [0; 8192]).unwrap();
            *counted.lock().unwrap() += 1;
            let length = body.len();
            let head = format!("HTTP/1.1 {code} A\r\ncontent-length: {length}\r\n");
            let _ = write!(stream, "{head}connection: close\r\n\r\n{body}");
        }
    });
    let config = kube::Config::new(format!("http://{address}").parse().unwrap());
    (ApiServer::new(config).client().unwrap(), count)
}

/// Calls `pass` twice for a paused object with this response. Returns whether each call failed, how many
/// requests there were, and what was logged as a warning.
fn paused(code: u16, status: serde_json::Value) -> ([bool; 2], usize, Vec<serde_json::Value>) {
    let mut failed = [false; 2];
    let mut count = 0;
    let mut lines = logged("warn".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            crate::client::install_tls_provider();
            let (client, requests) = answering(code, &status);
            let pause = Pause::<ConfigMap>::new("example.com/paused");
            let context = context(crate::cache::tests::empty(), client);
            let mut object = ConfigMap::default();
            object.metadata.name = Some("sample".to_owned());
            object.metadata.namespace = Some("default".to_owned());
            let value = "true".to_owned();
            object
                .annotations_mut()
                .insert("example.com/paused".to_owned(), value);
            let object = Arc::new(object);
            for failed in &mut failed {
                match pause.pass(&context, object.clone()).await {
                    Ok(object) => assert_eq!(object, None),
                    Err(_) => *failed = true,
                }
            }
            count = *requests.lock().unwrap();
        });
    });
    lines.retain(|line| {
        line["message"]
            .as_str()
            .unwrap()
            .starts_with("the condition")
    });
    (failed, count, lines)
}

fn refusal(
    code: u16,
    reason: &str,
    message: &str,
    details: serde_json::Value,
) -> serde_json::Value {
    json!({
        "kind": "Status", "apiVersion": "v1", "status": "Failure",
        "code": code, "reason": reason, "message": message, "details": details,
    })
}

#[test]
fn a_kind_that_has_no_place_for_the_condition_is_asked_once() {
    let missing = refusal(404, "NotFound", "the server could not find it", json!({}));
    let schema =
        "failed to create typed patch object: .status.conditions: field not declared in schema";
    let undeclared = refusal(500, "InternalError", schema, json!({}));
    for status in [missing, undeclared] {
        let code = status["code"].as_u64().unwrap().try_into().unwrap();
        assert_eq!(paused(code, status), ([false, false], 1, vec![]));
    }
}

#[test]
fn a_deleted_object_says_nothing_about_its_kind() {
    let gone = refusal(404, "NotFound", "gone", json!({ "name": "sample" }));
    assert_eq!(paused(404, gone), ([false, false], 2, vec![]));
}

#[test]
fn a_refusal_that_may_be_temporary_is_an_error() {
    let changed = refusal(409, "Conflict", "the object has been modified", json!({}));
    assert_eq!(paused(409, changed), ([true, true], 2, vec![]));
    let late = refusal(503, "ServiceUnavailable", "later", json!({}));
    assert_eq!(paused(503, late), ([true, true], 2, vec![]));
}

#[test]
fn a_refused_condition_does_not_keep_an_object_from_being_paused() {
    let forbidden = refusal(403, "Forbidden", "no patch of configmaps/status", json!({}));
    let (failed, _, lines) = paused(403, forbidden);
    assert_eq!(failed, [false, false]);
    assert_eq!(lines[0]["error"], "no patch of configmaps/status");
    let cause = json!({ "reason": "FieldManagerConflict", "field": ".status.conditions" });
    let taken = refusal(
        409,
        "Conflict",
        "it is another's",
        json!({ "causes": [cause] }),
    );
    let (failed, _, lines) = paused(409, taken);
    assert_eq!(failed, [false, false]);
    assert_eq!(lines.len(), 2);
}

/// By an operator that had another name, or another implementation: the condition is what [`Pause`] is for. A list that is
/// a single field is the controller's.
#[test]
fn a_condition_of_another_field_manager_is_taken_over() {
    let conflict = |field: &str| {
        let cause = json!({ "reason": "FieldManagerConflict", "field": field });
        let details = json!({ "causes": [cause] });
        paused(409, refusal(409, "Conflict", "it is another's", details)).1
    };
    // Each of the two attempts is repeated with force.
    assert_eq!(conflict(r#".status.conditions[type="Paused"].status"#), 4);
    assert_eq!(conflict(".status.conditions"), 2);
}

/// Otherwise it would be written at each reconcile, and each write would trigger the next.
#[test]
fn a_condition_that_the_type_does_not_show_is_written_once() {
    let written = json!({
        "apiVersion": "v1", "kind": "ConfigMap",
        "metadata": { "name": "sample", "namespace": "default" },
    });
    let (failed, count, lines) = paused(200, written);
    assert_eq!((failed, count), ([false, false], 1));
    assert_eq!(lines.len(), 1);
}
