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
