//! The names of a chart's objects: different in each release, and never too long.

use std::collections::BTreeSet;

use serde_json::Value;

use super::{Chart, name_of};

/// Kind and name of each object that belongs to one release.
fn names(objects: &[Value]) -> BTreeSet<(String, String)> {
    let own = objects.iter();
    let own = own.filter(|object| object["kind"] != "CustomResourceDefinition");
    own.map(|object| {
        let kind = object["kind"].as_str().expect("a kind").to_owned();
        (kind, name_of(object).to_owned())
    })
    .collect()
}

/// Asserts that what objects refer to exists in the same release.
fn assert_complete(objects: &[Value]) {
    let names = names(objects);
    let has = |kind: &str, name: &Value| {
        let name = name.as_str().expect("a name").to_owned();
        assert!(
            names.contains(&(kind.to_owned(), name.clone())),
            "no {kind} {name}"
        );
    };
    let texts = serde_json::to_string(objects).expect("JSON");
    for object in objects {
        let spec = &object["spec"];
        match object["kind"].as_str().expect("a kind") {
            "ClusterRoleBinding" | "RoleBinding" => {
                has(
                    object["roleRef"]["kind"].as_str().expect("a kind"),
                    &object["roleRef"]["name"],
                );
                has("ServiceAccount", &object["subjects"][0]["name"]);
            }
            "Deployment" => {
                let pod = &spec["template"]["spec"];
                has("ServiceAccount", &pod["serviceAccountName"]);
                for volume in pod["volumes"].as_array().expect("volumes") {
                    let secret = volume["secret"]["secretName"].as_str().expect("a Secret");
                    let issued = format!(r#""secretName":"{secret}""#);
                    assert!(texts.matches(&issued).count() > 1, "nobody issues {secret}");
                }
            }
            "MutatingWebhookConfiguration" | "ValidatingWebhookConfiguration" => {
                has(
                    "Service",
                    &object["webhooks"][0]["clientConfig"]["service"]["name"],
                );
            }
            "CustomResourceDefinition" if spec["conversion"].is_object() => {
                let client = &spec["conversion"]["webhook"]["clientConfig"];
                has("Service", &client["service"]["name"]);
            }
            "Certificate" => has("Issuer", &spec["issuerRef"]["name"]),
            "Role" if object["rules"][0]["resources"][0] == "leases" => {
                let lease = &object["rules"][1]["resourceNames"][0];
                has("Deployment", lease);
                let variable = format!(r#""name":"LEADER_ELECTION_ID","value":{lease}"#);
                assert!(texts.contains(&variable), "{variable}");
            }
            _ => {}
        }
    }
}

#[test]
fn releases_of_one_namespace_share_no_name() {
    let long = |last: char| format!("{}{last}", "a".repeat(52));
    for name in ["cronjob", "multigroup", "namespaced", "multiversion"] {
        let chart = Chart::of(name);
        let mut taken = BTreeSet::new();
        let suffixed = format!("x-{name}");
        for release in ["x", &suffixed, name, &long('x'), &long('y'), "7"] {
            let objects = chart.rendered(release, "one", &[]);
            assert_complete(&objects);
            for (kind, name) in names(&objects) {
                assert!(name.len() <= 63, "{name}");
                let is_plain = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
                assert!(name.chars().all(is_plain) && !name.ends_with('-'), "{name}");
                assert!(
                    taken.insert((kind, name.clone())),
                    "{release}: {name} twice"
                );
            }
        }
    }
}

/// Each selects its own pods.
#[test]
fn selectors_know_the_release() {
    let chart = Chart::of("cronjob");
    let objects = chart.rendered("x", "one", &["--set", "prometheus.enabled=true"]);
    let mut selectors = 0;
    for object in &objects {
        for pointer in [
            "/spec/selector/matchLabels",
            "/spec/podSelector/matchLabels",
            "/spec/template/metadata/labels",
            "/spec/template/spec/topologySpreadConstraints/0/labelSelector/matchLabels",
            "/spec/selector",
        ] {
            let labels = object.pointer(pointer);
            let labels = labels
                .filter(|it| it.get("matchLabels").is_none() && it.get("control-plane").is_some());
            if let Some(labels) = labels {
                assert_eq!(labels["app.kubernetes.io/instance"], "x", "{object:#}");
                selectors += 1;
            }
        }
    }
    // Deployment (3), disruption budget, two Services, two policies, monitor.
    assert_eq!(selectors, 9);
}

#[test]
fn the_beginning_of_the_names_can_be_chosen() {
    let chart = Chart::of("cronjob");
    for (arguments, name) in [
        (
            vec!["--set", "fullnameOverride=other"],
            "other-webhook-service",
        ),
        (
            vec!["--set", "nameOverride=other"],
            "x-other-webhook-service",
        ),
        (vec![], "x-cronjob-webhook-service"),
    ] {
        let objects = chart.rendered("x", "one", &arguments);
        assert_complete(&objects);
        assert!(
            names(&objects).contains(&("Service".to_owned(), name.to_owned())),
            "{name}"
        );
    }
}
