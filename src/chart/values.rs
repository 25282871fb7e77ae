//! The values of the chart: one table, from which `values.yaml` and `values.schema.json` follow. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::manager::Settings;
use crate::yaml;

pub const CRDS: &str = "crds.enabled";
pub const KEEP_CRDS: &str = "crds.keep";
pub const METRICS: &str = "metrics.enabled";
pub const NETWORK_POLICY: &str = "networkPolicy.enabled";
pub const PROMETHEUS: &str = "prometheus.enabled";
pub const CERT_MANAGER: &str = "certManager.enabled";
pub const CA_BUNDLE: &str = "webhook.caBundle";

/// One value.
#[derive(Debug)]
pub struct Setting {
    /// Its key, or two keys with a dot between them.
    key: &'static str,
    /// What it does: lines of a comment.
    comment: &'static str,
    default: Value,
    schema: Value,
}

/// The values of a chart whose templates use the switches `used`.
pub fn all(settings: &Settings, used: &BTreeSet<&'static str>, is_monitored: bool) -> Vec<Setting> {
    let text = || json!({ "type": "string" });
    let switch = || json!({ "type": "boolean" });
    let map = || json!({ "type": "object" });
    let texts = || json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let named = || json!({ "type": "array", "items": { "type": "object", "required": ["name"] } });
    let setting = |key, comment, default, schema| Setting {
        key,
        comment,
        default,
        schema,
    };
    let all = vec![
        setting(
            "replicas",
            "How many managers run: one of them leads, the others are on standby.",
            settings.replicas.clone(),
            json!({ "type": "integer", "minimum": 0 }),
        ),
        setting(
            "image.repository",
            "The image of the manager, without its tag.",
            settings.repository.clone().into(),
            json!({ "type": "string", "minLength": 1 }),
        ),
        setting(
            "image.tag",
            "The tag. If it is empty, the appVersion of the chart.",
            "".into(),
            text(),
        ),
        setting(
            "image.pullPolicy",
            "When nodes pull the image: Always, IfNotPresent or Never.",
            settings.pull_policy.clone().into(),
            json!({ "enum": ["Always", "IfNotPresent", "Never"] }),
        ),
        setting(
            "imagePullSecrets",
            "The Secrets with which nodes pull the image, such as `[{name: registry}]`.",
            settings.pull_secrets.clone(),
            named(),
        ),
        setting(
            "extraArgs",
            "More flags of the manager, such as `[--log-level=debug]`.",
            json!([]),
            json!({ "type": "array", "items": { "type": "string" } }),
        ),
        setting(
            "extraEnv",
            "More environment variables of the manager, such as `[{name: A, value: b}]`.",
            json!([]),
            named(),
        ),
        setting(
            "resources",
            "What the manager requests of a node, and its limits.",
            settings.resources.clone(),
            map(),
        ),
        setting(
            "nodeSelector",
            "The labels of the nodes that managers run on.",
            settings.node_selector.clone(),
            texts(),
        ),
        setting(
            "tolerations",
            "The taints of nodes that managers tolerate.",
            settings.tolerations.clone(),
            json!({ "type": "array", "items": { "type": "object" } }),
        ),
        setting(
            "affinity",
            "Which nodes and pods managers run near to, or far from.",
            settings.affinity.clone(),
            map(),
        ),
        setting(
            "serviceAccount.annotations",
            "Annotations of the ServiceAccount of the manager, such as the role of a cloud.",
            settings.account_annotations.clone(),
            texts(),
        ),
        setting(
            CRDS,
            "Whether the chart contains the CRDs. A second release in the cluster must not.",
            true.into(),
            switch(),
        ),
        setting(
            KEEP_CRDS,
            "Whether the CRDs stay when the release is uninstalled. Without them, all their objects are deleted.",
            true.into(),
            switch(),
        ),
        setting(
            METRICS,
            "Whether the manager serves metrics, over HTTPS, to clients whose role allows it.",
            true.into(),
            switch(),
        ),
        setting(
            PROMETHEUS,
            "Whether the Prometheus Operator collects the metrics: a ServiceMonitor, whose CRD must exist.",
            is_monitored.into(),
            switch(),
        ),
        setting(
            NETWORK_POLICY,
            "Whether NetworkPolicies restrict who reaches the managers: namespaces with the label\n\
             `metrics: enabled` reach the metrics.",
            true.into(),
            switch(),
        ),
        setting(
            CERT_MANAGER,
            "Whether cert-manager, which must be installed, issues the certificates. Otherwise create the Secrets\n\
             that the Deployment mounts, and set `webhook.caBundle`.",
            true.into(),
            switch(),
        ),
        setting(
            CA_BUNDLE,
            "The CA with which the API server verifies the webhooks, as PEM in base64. Leave it empty with cert-manager.",
            "".into(),
            text(),
        ),
        setting(
            "nameOverride",
            "Replaces the name of the chart in labels and in the names of objects.",
            "".into(),
            text(),
        ),
        setting(
            "fullnameOverride",
            "The beginning of the names of all objects. If it is empty: the release and the chart.",
            "".into(),
            text(),
        ),
    ];
    let is_there = |setting: &Setting| match setting.key {
        KEEP_CRDS => used.contains(CRDS),
        CRDS | METRICS | PROMETHEUS | NETWORK_POLICY | CERT_MANAGER | CA_BUNDLE => {
            used.contains(setting.key)
        }
        _ => true,
    };
    all.into_iter().filter(is_there).collect()
}

/// The keys of a setting: its group, if it has one, and its own.
fn keys(setting: &Setting) -> (Option<&'static str>, &'static str) {
    match setting.key.split_once('.') {
        Some((group, key)) => (Some(group), key),
        None => (None, setting.key),
    }
}

/// `values.yaml`.
pub fn text(settings: &[Setting]) -> String {
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
pub fn schema(settings: &[Setting]) -> String {
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
