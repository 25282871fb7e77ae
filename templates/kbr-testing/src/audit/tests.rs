// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::fs;

fn line(id: &str, stage: &str, verb: &str) -> String {
    let event = json!({
        "auditID": id,
        "stage": stage,
        "requestURI": "/apis/batch/v1/namespaces/here/jobs/one/status",
        "verb": verb,
        "objectRef": {
            "apiGroup": "batch",
            "resource": "jobs",
            "subresource": "status",
            "namespace": "here",
            "name": "one",
        },
        "responseStatus": { "code": 200 },
    });
    format!("{event}\n")
}

#[test]
fn each_request_is_read_once_and_whole() {
    let folder = Folder::create().unwrap();
    let mut log = AuditLog::of(folder.path());
    assert_eq!(log.read_on().unwrap(), []);

    let write = |text: &str| fs::write(folder.path().join(LOG), text).unwrap();
    let first = line("1", "ResponseStarted", "watch") + &line("2", "ResponseComplete", "patch");
    let (begin, end) = first.split_at(first.len() - 10);
    write(begin);
    let watch = log.read_on().unwrap();
    write(&format!(
        "{begin}{end}{}",
        line("1", "ResponseComplete", "watch")
    ));
    let patch = log.read_on().unwrap();

    assert_eq!(watch.len(), 1);
    assert_eq!(watch[0].verb, "watch");
    let expected = AuditedRequest {
        verb: "patch".to_owned(),
        group: "batch".to_owned(),
        resource: "jobs/status".to_owned(),
        namespace: Some("here".to_owned()),
        name: Some("one".to_owned()),
        url: "/apis/batch/v1/namespaces/here/jobs/one/status".to_owned(),
        code: 200,
        message: String::new(),
        user_agent: String::new(),
    };
    assert_eq!(patch, [expected]);
}

#[test]
fn the_field_manager_of_a_write_is_in_its_url() {
    let manager_in = |url: &str| {
        let mut event: Value =
            serde_json::from_str(&line("1", "ResponseComplete", "patch")).unwrap();
        event["requestURI"] = url.into();
        let request = AuditedRequest::of(&event);
        request.field_manager().zip(request.controller())
    };

    for (manager, written) in [("web", "web"), ("shop/web", "shop%2Fweb")] {
        let url = format!("/api/v1/pods/a?force=true&fieldManager={written}");
        let expected = (manager.to_owned(), "web".to_owned());
        assert_eq!(manager_in(&url), Some(expected));
    }
    assert_eq!(manager_in("/api/v1/pods/fieldManager=web"), None);
    assert_eq!(manager_in("/api/v1/pods?limit=1"), None);
}

#[test]
fn a_refusal_without_a_message_says_what_was_refused() {
    let mut event: Value = serde_json::from_str(&line("1", "ResponseComplete", "patch")).unwrap();
    event["responseStatus"] = json!({ "code": 403 });
    assert_eq!(AuditedRequest::of(&event).message, "");

    event["annotations"] = json!({ "authorization.k8s.io/decision": "forbid" });
    let message = AuditedRequest::of(&event).message;
    assert_eq!(
        message,
        r#"it cannot patch resource "jobs/status" in API group "batch""#
    );

    event["responseStatus"]["message"] = "as it was said".into();
    assert_eq!(AuditedRequest::of(&event).message, "as it was said");
}
