//! The values of the chart: one table, from which `values.yaml` and `values.schema.json` follow. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::manager::Settings;
use crate::layout;
use crate::yaml;

pub(super) const ACCOUNT: &str = "serviceAccount.enabled";
pub(super) const CRDS: &str = "crds.enabled";
pub(super) const KEEP_CRDS: &str = "crds.keep";
pub(super) const METRICS: &str = "metrics.enabled";
pub(super) const NETWORK_POLICY: &str = "networkPolicy.enabled";
pub(super) const PROMETHEUS: &str = "prometheus.enabled";
pub(super) const ALERTS: &str = "prometheus.alerts";
pub(super) const GRAFANA: &str = "grafana.enabled";
pub(super) const CERT_MANAGER: &str = "certManager.enabled";
pub(super) const CA_BUNDLE: &str = "webhook.caBundle";

/// The values that decide whether there are objects.
const SWITCHES: [&str; 8] = [
    ACCOUNT,
    ALERTS,
    CERT_MANAGER,
    CRDS,
    GRAFANA,
    METRICS,
    NETWORK_POLICY,
    PROMETHEUS,
];

/// One value.
#[derive(Debug)]
pub(super) struct Setting {
    /// Its key, or two keys with a dot between them.
    key: &'static str,
    /// What it does: lines of a comment.
    comment: &'static str,
    default: Value,
    schema: Value,
}

const BOOLEAN: &str = r#"{ "type": "boolean" }"#;
const TEXT: &str = r#"{ "type": "string" }"#;
const PORT: &str = r#"{ "type": "integer", "minimum": 1, "maximum": 65535 }"#;
const TEXTS: &str = r#"{ "type": "array", "items": { "type": "string" } }"#;
const PAIRS: &str = r#"{ "type": "object", "additionalProperties": { "type": "string" } }"#;
const MAP: &str = r#"{ "type": "object" }"#;
const MAPS: &str = r#"{ "type": "array", "items": { "type": "object" } }"#;
const NAMED: &str = r#"{ "type": "array", "items": { "type": "object", "required": ["name"] } }"#;

/// Key, schema and comment of each value, in the order of `values.yaml`.
const TABLE: [(&str, &str, &str); 39] = [
    (
        "replicas",
        r#"{ "type": "integer", "minimum": 0 }"#,
        "How many managers run: one of them leads, the others are on standby.",
    ),
    (
        "image.repository",
        r#"{ "type": "string", "minLength": 1 }"#,
        "The image of the manager, without its tag.",
    ),
    (
        "image.tag",
        TEXT,
        "The tag. If it is empty, the appVersion of the chart.",
    ),
    (
        "image.pullPolicy",
        r#"{ "enum": ["Always", "IfNotPresent", "Never"] }"#,
        "When nodes pull the image: Always, IfNotPresent or Never.",
    ),
    (
        "imagePullSecrets",
        NAMED,
        "The Secrets with which nodes pull the image, such as `[{name: registry}]`.",
    ),
    (
        "extraArgs",
        TEXTS,
        "More flags of the manager, such as `[--log-level=debug]`.",
    ),
    (
        "extraEnv",
        NAMED,
        "More environment variables of the manager, such as `[{name: A, value: b}]`.",
    ),
    (
        "extraVolumes",
        NAMED,
        "More volumes of the pods, such as `[{name: a, configMap: {name: b}}]`.",
    ),
    (
        "extraVolumeMounts",
        NAMED,
        "Where the manager mounts them, such as `[{name: a, mountPath: /a}]`.",
    ),
    (
        "resources",
        MAP,
        "What the manager requests of a node, and its limits.",
    ),
    (
        "nodeSelector",
        PAIRS,
        "The labels of the nodes that managers run on.",
    ),
    (
        "tolerations",
        MAPS,
        "The taints of nodes that managers tolerate.",
    ),
    (
        "affinity",
        MAP,
        "Which nodes and pods managers run near to, or far from.",
    ),
    (
        "topologySpreadConstraints",
        MAPS,
        "How managers are spread over nodes and zones, in place of what the template has.",
    ),
    (
        "priorityClassName",
        TEXT,
        "The class of the pods that decides who is evicted first.",
    ),
    (
        "hostNetwork",
        BOOLEAN,
        "Whether managers use the network of their node, such as where the control plane reaches no pod.",
    ),
    (
        "terminationGracePeriodSeconds",
        r#"{ "type": "integer", "minimum": 0 }"#,
        "How long a manager may take to stop, in seconds.",
    ),
    (
        "strategy",
        MAP,
        "How managers are replaced, in place of what the template has.",
    ),
    (
        "deployment.annotations",
        PAIRS,
        "More annotations of the Deployment.",
    ),
    ("deployment.labels", PAIRS, "More labels of the Deployment."),
    ("pod.annotations", PAIRS, "More annotations of the pods."),
    ("pod.labels", PAIRS, "More labels of the pods."),
    (
        "healthProbe.port",
        PORT,
        "The port of the pods for their probes.",
    ),
    (
        ACCOUNT,
        BOOLEAN,
        "Whether the chart contains the ServiceAccount of the manager. Otherwise it must exist.",
    ),
    (
        "serviceAccount.name",
        TEXT,
        "Its name. If it is empty, that of the Deployment.",
    ),
    (
        "serviceAccount.annotations",
        PAIRS,
        "Its annotations, such as the role of a cloud.",
    ),
    (
        CRDS,
        BOOLEAN,
        "Whether the chart contains the CRDs. A second release in the cluster must not.",
    ),
    (
        KEEP_CRDS,
        BOOLEAN,
        "Whether the CRDs stay when the release is uninstalled. Without them, all their objects are deleted.",
    ),
    (
        METRICS,
        BOOLEAN,
        "Whether the manager serves metrics, over HTTPS, to clients whose role allows it.",
    ),
    (
        "metrics.port",
        PORT,
        "The port of the pods and of the Service for metrics.",
    ),
    (
        PROMETHEUS,
        BOOLEAN,
        "Whether the Prometheus Operator collects the metrics: a ServiceMonitor, whose CRD must exist.",
    ),
    (
        ALERTS,
        BOOLEAN,
        "Whether there are also alerts: a PrometheusRule.",
    ),
    (
        GRAFANA,
        BOOLEAN,
        "Whether there are dashboards: a ConfigMap, which Grafana's sidecar loads because of its label.",
    ),
    (
        NETWORK_POLICY,
        BOOLEAN,
        "Whether NetworkPolicies restrict who reaches the managers: namespaces with the label\n\
         `metrics: enabled` reach the metrics.",
    ),
    (
        CERT_MANAGER,
        BOOLEAN,
        "Whether cert-manager, which must be installed, issues the certificates. Otherwise create the Secrets\n\
         that the Deployment mounts, and set `webhook.caBundle`.",
    ),
    ("webhook.port", PORT, "The port of the pods for webhooks."),
    (
        CA_BUNDLE,
        TEXT,
        "The CA with which the API server verifies the webhooks, as PEM in base64. Leave it empty with cert-manager.",
    ),
    (
        "nameOverride",
        TEXT,
        "Replaces the name of the chart in labels and in the names of objects.",
    ),
    (
        "fullnameOverride",
        TEXT,
        "The beginning of the names of all objects. If it is empty: the release and the chart.",
    ),
];

/// The values of a chart whose templates use the switches `used`.
///
/// `enabled` are the folders that `config/default` contains although they are optional.
pub(super) fn all(
    settings: &Settings,
    used: &BTreeSet<&'static str>,
    enabled: &BTreeSet<&'static str>,
) -> Vec<Setting> {
    let is_there = |key: &str| match key {
        KEEP_CRDS => used.contains(CRDS),
        _ if SWITCHES.contains(&key) || key == CA_BUNDLE => used.contains(key),
        _ => !key.ends_with(".port") || settings.defaults.contains_key(key),
    };
    let default = |key: &str, schema: &Value| match key {
        "image.repository" => settings.repository.clone().into(),
        PROMETHEUS => enabled.contains(layout::PROMETHEUS).into(),
        GRAFANA => enabled.contains(layout::GRAFANA).into(),
        _ if SWITCHES.contains(&key) || key == KEEP_CRDS => true.into(),
        _ => match settings.defaults.get(key) {
            Some(default) => default.clone(),
            None => empty(schema),
        },
    };
    let all = TABLE.into_iter().filter(|(key, ..)| is_there(key));
    all.map(|(key, schema, comment)| {
        let schema = serde_json::from_str(schema).unwrap_or_default();
        Setting {
            key,
            comment,
            default: default(key, &schema),
            schema,
        }
    })
    .collect()
}

/// The value of a type that is empty.
fn empty(schema: &Value) -> Value {
    match schema["type"].as_str() {
        Some("array") => json!([]),
        Some("boolean") => json!(false),
        Some("object") => json!({}),
        _ => json!(""),
    }
}

/// The keys of a setting: its group, if it has one, and its own.
fn keys(setting: &Setting) -> (Option<&'static str>, &'static str) {
    match setting.key.split_once('.') {
        Some((group, key)) => (Some(group), key),
        None => (None, setting.key),
    }
}

/// `values.yaml`.
pub(super) fn text(settings: &[Setting]) -> String {
    let mut text = String::new();
    let mut previous = None;
    for setting in settings {
        let (group, key) = keys(setting);
        if !text.is_empty() && (group.is_none() || group != previous) {
            text.push('\n');
        }
        if group != previous
            && let Some(group) = group
        {
            text += &format!("{group}:\n");
        }
        previous = group;
        let value = yaml::write(&json!({ key: setting.default }));
        let comment = setting.comment.lines().map(|line| format!("# {line}"));
        let lines = comment.chain(value.lines().map(str::to_owned));
        let indent = if group.is_some() { "  " } else { "" };
        for line in lines {
            text += &format!("{indent}{line}\n");
        }
    }
    text
}

/// `values.schema.json`: no value of another type, and no other value.
pub(super) fn schema(settings: &[Setting]) -> String {
    let object = |properties: Map<String, Value>| {
        json!({
            "type": "object",
            "additionalProperties": false,
            "properties": properties,
        })
    };
    let mut properties = Map::new();
    for setting in settings {
        let (group, key) = keys(setting);
        let mut schema = setting.schema.clone();
        schema["description"] = setting.comment.replace('\n', " ").into();
        match group {
            Some(group) => {
                let of_group = properties
                    .entry(group)
                    .or_insert_with(|| object(Map::new()));
                of_group["properties"][key] = schema;
            }
            None => drop(properties.insert(key.to_owned(), schema)),
        }
    }
    // Helm adds it to the values of a chart in another chart.
    properties.insert("global".to_owned(), json!({ "type": "object" }));
    let mut schema = object(properties);
    schema["$schema"] = "http://json-schema.org/draft-07/schema#".into();
    format!("{schema:#}\n")
}
