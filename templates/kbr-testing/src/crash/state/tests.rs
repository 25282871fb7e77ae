// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use serde_json::json;

use super::*;

/// A ConfigMap of a run in `namespace`, which a Job owns.
fn map(namespace: &str, number: u32, data: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {
            "name": format!("map-{number}"),
            "generateName": "map-",
            "namespace": namespace,
            "uid": format!("0000-{number}"),
            "resourceVersion": number.to_string(),
            "creationTimestamp": format!("2026-11-26T10:00:{number}Z"),
            "managedFields": [{ "manager": "b", "time": format!("2026-11-26T10:00:{number}Z") }, { "manager": "a" }],
            "ownerReferences": [{ "kind": "Job", "name": "job", "uid": format!("job-of-{namespace}") }],
        },
        "data": { "text": data, "self": format!("map-{number}.{namespace}.svc"), "at": format!("2026-11-26T10:00:{number}Z") },
    })
}

fn job(namespace: &str) -> Value {
    let metadata = json!({ "name": "job", "uid": format!("job-of-{namespace}") });
    json!({ "apiVersion": "batch/v1", "kind": "Job", "metadata": metadata })
}

fn objects(objects: &[Value]) -> Objects {
    let listed = ["ConfigMap", "Job"].map(str::to_owned);
    Objects::new(objects.to_vec(), &listed.into())
}

#[test]
fn what_the_api_server_makes_up_does_not_differ() {
    let one = objects(&[job("test-1"), map("test-1", 11, "same")]);
    let two = objects(&[job("test-2"), map("test-2", 22, "same")]);

    let (one, two) = (one.comparable("test-1", &[]), two.comparable("test-2", &[]));

    assert_eq!(one.differences_from(&two), "");
    assert_eq!(one, two);
}

#[test]
fn addresses_and_ports_of_services_are_made_up() {
    let service = |address: &str, port: u32| {
        let ports = json!([{ "port": 80, "nodePort": port }]);
        json!({
            "apiVersion": "v1",
            "kind": "Service",
            "metadata": { "name": "web" },
            "spec": { "clusterIP": address, "clusterIPs": [address], "ports": ports },
        })
    };
    let comparable = |service: Value| Objects(vec![service]).comparable("test-1", &[]);

    assert_eq!(
        comparable(service("10.0.0.160", 30_000)),
        comparable(service("10.0.0.11", 30_001))
    );
    assert_ne!(
        comparable(service("10.0.0.160", 30_000)),
        comparable(service("None", 30_000))
    );
}

#[test]
fn the_order_of_conditions_means_nothing() {
    let object = |types: [&str; 2]| {
        let conditions = types.map(|name| json!({ "type": name, "status": "True" }));
        json!({
            "kind": "Captain",
            "metadata": { "name": "captain" },
            "status": { "conditions": conditions },
        })
    };
    let comparable = |types| Objects(vec![object(types)]).comparable("test-1", &[]);

    assert_eq!(
        comparable(["Ready", "Backup"]),
        comparable(["Backup", "Ready"])
    );
}

#[test]
fn a_difference_is_shown_as_lines_of_yaml() {
    let one = objects(&[job("test-1"), map("test-1", 11, "before")]);
    let two = objects(&[job("test-1"), map("test-1", 11, "after")]);

    let differences = two
        .comparable("test-1", &[])
        .differences_from(&one.comparable("test-1", &[]));

    assert!(
        differences.starts_with("ConfigMap map-*:\n"),
        "{differences}"
    );
    assert!(
        differences.contains("-   text: before\n+   text: after\n"),
        "{differences}"
    );
}

#[test]
fn an_object_too_much_is_counted() {
    let one = objects(&[job("test-1"), map("test-1", 11, "same")]);
    let two = objects(&[
        job("test-1"),
        map("test-1", 11, "same"),
        map("test-1", 12, "same"),
    ]);

    let differences = two
        .comparable("test-1", &[])
        .differences_from(&one.comparable("test-1", &[]));

    let title = "ConfigMap map-*: there should be one, but there are 2\n";
    assert!(differences.starts_with(title), "{differences}");
}

#[test]
fn what_the_garbage_collector_deletes_is_not_there() {
    assert!(
        objects(&[map("test-1", 11, "same")])
            .comparable("test-1", &[])
            .is_empty()
    );
    let listed = ["ConfigMap".to_owned()];
    let of_unknown = Objects::new(vec![map("test-1", 11, "same")], &listed.into());
    assert!(!of_unknown.comparable("test-1", &[]).is_empty());
}

#[test]
fn the_lines_around_a_difference_are_shown() {
    let old = "a\nb\nc\nd\ne\nf\n";
    let new = "a\nb\nc\nd\nE\nf\n";

    assert_eq!(
        lines::differences(old, new),
        "  ...\n  c\n  d\n- e\n+ E\n  f\n"
    );
    assert_eq!(lines::differences(old, old), "");
}

#[test]
fn a_new_version_alone_is_no_write_of_contents() {
    let at = |version: &str, data: &str| {
        let metadata = json!({ "name": "map", "uid": "1", "resourceVersion": version });
        objects(&[json!({ "kind": "ConfigMap", "metadata": metadata, "data": data })])
    };
    let before = at("1", "same");
    let written = |now: &Objects, written| Vec::from_iter(now.written_since(&before, written));

    assert_eq!(written(&before, Written::Version), [""; 0]);
    assert_eq!(written(&at("2", "same"), Written::Contents), [""; 0]);
    assert_eq!(
        written(&at("2", "same"), Written::Version),
        ["ConfigMap map"]
    );
    assert_eq!(
        written(&at("2", "other"), Written::Contents),
        ["ConfigMap map"]
    );
    assert_eq!(written(&objects(&[]), Written::Contents), ["ConfigMap map"]);
}

/// What has written the same before still owns it.
#[test]
fn a_predecessor_in_the_managed_fields_does_not_differ() {
    let expected = objects(&[job("a"), map("a", 1, "x")]).comparable("a", &[]);
    let mut with = map("a", 1, "x");
    let writers = with["metadata"]["managedFields"].as_array_mut().unwrap();
    writers.push(json!({ "manager": PREDECESSOR, "operation": "Update", "fieldsV1": {} }));
    assert_eq!(
        objects(&[job("a"), with.clone()]).comparable("a", &[]),
        expected
    );

    let writers = with["metadata"]["managedFields"].as_array_mut().unwrap();
    writers.push(json!({ "manager": "kubectl", "operation": "Update" }));
    assert_ne!(objects(&[job("a"), with]).comparable("a", &[]), expected);
}
