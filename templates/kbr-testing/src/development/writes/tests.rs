// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use http::Request;
use http::header::CONTENT_TYPE;
use serde_json::{Value, json};

use super::{Event, Write};

const CAPTAINS: &str = "/apis/crew.example.com/v1/namespaces/default/captains";
const TYPE: &str = "application/json";

fn write(method: &str, path: &str, content: &str) -> Option<Write> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .header(CONTENT_TYPE, content);
    let (head, ()) = request.body(()).expect("a request").into_parts();
    Write::of(&head)
}

fn captain(size: u32) -> Value {
    json!({ "kind": "Captain", "metadata": { "name": "a", "namespace": "default" }, "spec": { "size": size } })
}

#[test]
fn reads_and_what_nobody_looks_at_are_no_writes() {
    for (method, path) in [
        ("GET", CAPTAINS),
        ("POST", &format!("{CAPTAINS}?dryRun=All")),
        (
            "POST",
            "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
        ),
        ("PUT", "/apis/coordination.k8s.io/v1/namespaces/a/leases/b"),
        ("POST", "/api/v1/namespaces/a/events"),
        ("POST", "/apis/events.k8s.io/v1/namespaces/a/events"),
        ("POST", "/metrics"),
    ] {
        assert!(write(method, path, TYPE).is_none(), "{method} {path}");
    }
}

#[test]
fn a_write_names_its_verb_object_and_controller() {
    for (method, content, expected) in [
        ("PUT", TYPE, "update"),
        ("PATCH", "application/merge-patch+json", "patch"),
        ("PATCH", "application/apply-patch+yaml", "apply"),
    ] {
        let path = format!("{CAPTAINS}/a/status?force=true&fieldManager=fleet%2Fcaptain");
        let write = write(method, &path, content).expect("a write");
        let expected = Event::Wrote {
            verb: expected,
            object: "Captain default/a".to_owned(),
            subresource: Some("status".to_owned()),
            controller: Some("captain".to_owned()),
            owner: None,
            diff: vec!["~ spec.size: 1 -> 2".to_owned()],
        };
        let events = write.events(&captain(1), &Value::Null, &captain(2));
        assert_eq!(events, [expected]);
        assert_eq!(write.events(&captain(1), &Value::Null, &captain(1)), []);
    }
}

#[test]
fn what_is_created_is_shown_as_it_was_sent() {
    let write = write("POST", "/api/v1/namespaces/default/pods", TYPE).expect("a write");
    let owner = json!({ "kind": "Captain", "name": "a", "controller": true });
    let metadata = json!({ "generateName": "a-", "ownerReferences": [owner] });
    let sent = json!({ "kind": "Pod", "metadata": metadata, "spec": { "hostname": "a" } });
    let mut stored = sent.clone();
    stored["metadata"]["name"] = json!("a-1");
    stored["spec"]["restartPolicy"] = json!("Always");
    let expected = Event::Wrote {
        verb: "create",
        object: "Pod default/a-1".to_owned(),
        subresource: None,
        controller: None,
        owner: Some("default/a".to_owned()),
        diff: vec![
            "+ metadata.ownerReferences: [\"Captain a\"]".to_owned(),
            "+ spec.hostname: \"a\"".to_owned(),
        ],
    };
    assert_eq!(write.events(&Value::Null, &sent, &stored), [expected]);
}

#[test]
fn deletions_are_told_one_by_one() {
    let objects = |events: Vec<Event>| {
        let mut objects = Vec::new();
        for event in events {
            if let Event::Wrote {
                verb, object, diff, ..
            } = event
            {
                assert_eq!((verb, diff.len()), ("delete", 0));
                objects.push(object);
            }
        }
        objects
    };
    let one = write("DELETE", &format!("{CAPTAINS}/a"), TYPE).expect("a write");
    let status = json!({ "kind": "Status", "status": "Success" });
    for answer in [status, captain(1)] {
        let events = one.events(&captain(1), &Value::Null, &answer);
        assert_eq!(objects(events), ["Captain default/a"]);
    }
    let all = write("DELETE", CAPTAINS, TYPE).expect("a write");
    let item = |name| json!({ "metadata": { "name": name, "namespace": "default" } });
    let answer = json!({ "kind": "CaptainList", "items": [item("a"), item("b")] });
    let events = all.events(&Value::Null, &Value::Null, &answer);
    assert_eq!(objects(events), ["Captain default/a", "Captain default/b"]);
}

#[test]
fn a_token_is_not_shown() {
    let path = "/api/v1/namespaces/default/serviceaccounts/a/token";
    let write = write("POST", path, TYPE).expect("a write");
    let account = json!({ "kind": "ServiceAccount", "metadata": { "name": "a" } });
    let sent = json!({ "kind": "TokenRequest", "spec": { "audiences": ["b"] } });
    let mut answer = sent.clone();
    answer["status"] = json!({ "token": "hunter2" });
    let told = format!("{:?}", write.events(&account, &sent, &answer));
    assert!(
        told.contains("spec.audiences") && !told.contains("hunter2"),
        "{told}"
    );
}
