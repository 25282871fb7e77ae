//! Which fields become metrics, under which names.

use super::*;

/// A kind in two versions; only the older one, which is stored, has a status.
fn widgets() -> CrdDocument {
    let condition = json!({
        "type": "object",
        "properties": { "type": { "type": "string" }, "status": { "type": "string" } },
    });
    let status = json!({
        "conditions": { "type": "array", "items": condition },
        "phase": { "type": "string", "enum": ["Pending", "Ready", null], "description": "How far\nit is. Or was.\n\nMore." },
        "readyReplicas": { "type": "integer", "description": "Pods that answer." },
        "lastHTTPCall": { "type": "string", "format": "date-time" },
        "message": { "type": "string" },
        "nodes": { "type": "array", "items": { "type": "string" } },
        "ratio": { "type": "number" },
        "[a=b]": { "type": "integer" },
        "ready_replicas": { "type": "integer" },
    });
    let spec = json!({
        "mode": { "type": "string", "enum": ["Fast", "Slow"] },
        "replicas": { "type": "integer" },
        "suspend": { "type": "boolean" },
        "template": { "type": "object", "properties": { "number": { "type": "integer" } } },
    });
    let schema = json!({ "properties": {
        "spec": { "type": "object", "properties": spec },
        "status": { "type": "object", "properties": status },
    }});
    CrdDocument {
        group: "shop.example.com".to_owned(),
        kind: "Widget".to_owned(),
        plural: "widgets".to_owned(),
        document: json!({ "spec": { "scope": "Namespaced", "versions": [
            { "name": "v2", "served": true, "storage": false, "schema": { "openAPIV3Schema": {} } },
            { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } },
        ]}}),
        foreign: std::collections::BTreeMap::new(),
    }
}

fn read(crds: &[CrdDocument]) -> Value {
    let text = file(crds, |crd| format!("shop_{}", crd.kind.to_lowercase())).expect("a kind");
    serde_yaml::from_str(&text).expect("YAML")
}

#[test]
fn each_kind_of_field_has_its_metric() {
    let read = read(&[widgets()]);
    let resource = &read["spec"]["resources"][0];
    let metrics = resource["metrics"].as_array().expect("metrics");
    let line = |metric: &Value| {
        let each = &metric["each"];
        let of = each.get("gauge").or(each.get("stateSet")).expect("one");
        let path = of["path"].as_array().expect("a path");
        let path: Vec<_> = path.iter().filter_map(Value::as_str).collect();
        let (name, how) = (&metric["name"], &each["type"]);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let list = of.get("list").map(ToString::to_string).unwrap_or_default();
        format!("{} {} {} {list}", text(name), text(how), path.join("."))
    };
    let lines: Vec<String> = metrics.iter().map(line).collect();
    let lines: Vec<&str> = lines.iter().map(|line| line.trim_end()).collect();
    assert_eq!(
        lines,
        [
            "created Gauge metadata.creationTimestamp",
            "deletion_timestamp Gauge metadata.deletionTimestamp",
            "metadata_generation Gauge metadata.generation",
            "spec_replicas Gauge spec.replicas",
            "spec_suspend Gauge spec.suspend",
            r#"status_condition StateSet status.conditions ["True","False","Unknown"]"#,
            r#"status_phase StateSet status.phase ["Pending","Ready"]"#,
            "status_ready_replicas Gauge status.readyReplicas",
            "status_last_http_call Gauge status.lastHTTPCall",
            "status_ratio Gauge status.ratio",
        ]
    );
    assert_eq!(metrics[6]["help"], "status.phase: How far it is");
    assert_eq!(metrics[6]["each"]["stateSet"]["labelName"], "phase");
    let labels = json!({ "name": ["metadata", "name"], "namespace": ["metadata", "namespace"] });
    assert_eq!(resource["labelsFromPath"], labels);
    assert_eq!(resource["groupVersionKind"]["version"], "v1");
    assert_eq!(resource["metricNamePrefix"], "shop_widget");
}

#[test]
fn a_cluster_scoped_kind_has_no_label_for_a_namespace() {
    let mut crd = widgets();
    crd.document["spec"]["scope"] = json!("Cluster");
    let labels = &read(&[crd])["spec"]["resources"][0]["labelsFromPath"];
    assert_eq!(labels, &json!({ "name": ["metadata", "name"] }));
}

#[test]
fn a_version_that_is_not_served_is_not_read() {
    let mut crd = widgets();
    crd.document["spec"]["versions"][1]["served"] = json!(false);
    let read = read(&[crd]);
    let resource = &read["spec"]["resources"][0];
    assert_eq!(resource["groupVersionKind"]["version"], "v2");

    let mut crd = widgets();
    for version in 0..2 {
        crd.document["spec"]["versions"][version]["served"] = json!(false);
    }
    assert_eq!(file(&[crd], |_| String::new()), None);
    assert_eq!(file(&[], |_| String::new()), None);
}

#[test]
fn words_of_a_name_are_separated() {
    for (name, snake) in [
        ("readyReplicas", "ready_replicas"),
        ("lastHTTPCall", "last_http_call"),
        ("podIPs", "pod_i_ps"),
        ("URL", "url"),
        ("v2", "v2"),
        ("a-b.c", "a_b_c"),
        ("já", "j_"),
    ] {
        assert_eq!(snake_case(name), snake);
    }
}
