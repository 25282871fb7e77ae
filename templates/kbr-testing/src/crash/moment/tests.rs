// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use http::Request;

use super::*;

pub(in super::super) fn moment(what: Asked, nth: usize) -> Moment {
    let takes_over = false;
    Moment {
        what,
        nth,
        takes_over,
    }
}

fn asked(method: &str, path: &str, body: &str) -> Option<String> {
    let request = Request::builder()
        .method(method)
        .uri(path)
        .body(())
        .unwrap();
    let (head, ()) = request.into_parts();
    let known = |name: &str| (name == "web-x7k2p").then(|| "web-*".to_owned());
    let what = Asked::of(&head, body.as_bytes(), known)?;
    Some(moment(what, 1).to_string())
}

#[test]
fn a_request_is_named_by_verb_resource_and_name() {
    let jobs = "/apis/batch/v1/namespaces/test/jobs";
    let one = format!("{jobs}/web-1");
    let generated = format!("{jobs}/web-x7k2p/status?fieldManager=web");

    assert_eq!(
        asked("POST", jobs, r#"{"metadata":{"name":"web-1"}}"#).unwrap(),
        "create jobs.batch web-1"
    );
    assert_eq!(
        asked("POST", jobs, r#"{"metadata":{"generateName":"web-"}}"#).unwrap(),
        "create jobs.batch web-*"
    );
    assert_eq!(asked("PUT", &one, "").unwrap(), "update jobs.batch web-1");
    assert_eq!(
        asked("PATCH", &generated, "").unwrap(),
        "patch jobs.batch/status web-*"
    );
    assert_eq!(
        asked("DELETE", "/api/v1/namespaces/test/pods/a", "").unwrap(),
        "delete pods a"
    );
    let event = r#"{"metadata":{"name":"web.18eb90b0ed9a37e7"}}"#;
    assert_eq!(
        asked(
            "POST",
            "/apis/events.k8s.io/v1/namespaces/test/events",
            event
        )
        .unwrap(),
        "create events.events.k8s.io *"
    );
    assert_eq!(
        asked("DELETE", "/api/v1/namespaces/test", "").unwrap(),
        "delete namespaces test"
    );
}

#[test]
fn a_read_has_fewer_faults() {
    let pods = "/api/v1/namespaces/test/pods";
    assert_eq!(asked("GET", pods, "").unwrap(), "list pods *");
    let one = format!("{pods}/a");
    assert_eq!(asked("GET", &one, "").unwrap(), "get pods a");

    let faults = |verb| {
        let (resource, name) = ("pods".to_owned(), "a".to_owned());
        let what = Asked {
            verb,
            resource,
            name,
        };
        moment(what, 1).faults().collect::<Vec<_>>()
    };
    assert!(!faults("get").contains(&Fault::AnswerLost));
    assert_eq!(faults("patch"), Fault::OF_WRITES);
}

#[test]
fn renewals_of_a_lease_are_left_out() {
    assert_eq!(asked("GET", "/readyz", ""), None);
    let lease = "/apis/coordination.k8s.io/v1/namespaces/system/leases/web";
    assert_eq!(asked("PUT", lease, "{}"), None);
}

#[test]
fn a_later_request_of_the_same_kind_has_a_number() {
    let what = Asked {
        verb: "create",
        resource: "pods".to_owned(),
        name: "a".to_owned(),
    };

    assert_eq!(moment(what, 2).to_string(), "create pods a (2)");
}

/// An update changes nothing in what an apply removes later, and Kubernetes' own statuses have several writers.
#[test]
fn fields_are_written_before_where_the_operator_takes_them_over() {
    let faults = |content: &str, path: &str, children| {
        let request = Request::patch(path).header(CONTENT_TYPE, content);
        let (head, ()) = request.body(()).unwrap().into_parts();
        let moment = Moment {
            what: Asked::of(&head, b"", |_| None).unwrap(),
            nth: 1,
            takes_over: Asked::takes_over(&head, children),
        };
        moment.faults().any(|fault| fault == Fault::WrittenBefore)
    };
    let apply = "application/apply-patch+yaml";
    let own = "/apis/example.com/v1/namespaces/a/ships/b";
    let (status, child) = (
        format!("{own}/status"),
        "/apis/apps/v1/namespaces/a/deployments/b",
    );

    assert!(faults(apply, &status, false));
    assert!(!faults(apply, child, false));
    assert!(faults(apply, child, true));
    assert!(!faults(apply, &format!("{child}/status"), true));
    assert!(!faults("application/merge-patch+json", &status, true));
}
