//! The `CustomResourceStateMetrics` with which kube-state-metrics makes metrics of the project's
//! objects, from the schemas of the CRDs.
//!
//! The metrics cover the fields directly in `spec` and `status` of a kind's stored version; deeper
//! fields are for dashboards that somebody writes manually.
//!
//! Source of the format: kube-state-metrics 2.18, `docs/metrics/extend/customresourcestate-metrics.md`;
//! a script runs that program on the file. Pure: CRDs in, a document out.

#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use serde_json::{Value, json};

use super::crd::CrdDocument;
use super::json::{fields_of, is_true, list_of, text_of};
use crate::article::article;
use crate::yaml;

/// Fields that do not exist yet are not errors that kube-state-metrics should log for each object.
const LOG_LEVEL_OF_ERRORS: u8 = 5;

/// How to use the file, which is not for `kubectl apply`.
const HOW: &str = "\
# kube-state-metrics serves metrics of these objects if it is started with the content of this file in
# `--custom-resource-state-config`, or its path in `--custom-resource-state-config-file`. Its ServiceAccount
# needs the viewer role of each kind, and `list` and `watch` on CustomResourceDefinitions.
";

/// The text of the file for all kinds, or `None` if none is served.
///
/// `prefix` returns the prefix of the names of a kind's metrics.
pub(crate) fn file(
    crds: &[CrdDocument],
    prefix: impl Fn(&CrdDocument) -> String,
) -> Option<String> {
    let served = crds.iter().filter_map(|crd| resource(crd, &prefix(crd)));
    let resources: Vec<Value> = served.collect();
    (!resources.is_empty()).then(|| {
        let document =
            json!({ "kind": "CustomResourceStateMetrics", "spec": { "resources": resources } });
        format!("{}{HOW}{}", super::header(), yaml::write(&document))
    })
}

/// The metrics of one kind, read in its stored version if that is served, or in another served one.
fn resource(crd: &CrdDocument, prefix: &str) -> Option<Value> {
    let versions = list_of(&crd.document, "/spec/versions").iter();
    let mut served = versions.filter(|version| is_true(version, "served"));
    let stored = served.clone().find(|version| is_true(version, "storage"));
    let version = stored.or_else(|| served.next())?;
    let mut labels = json!({ "name": ["metadata", "name"] });
    if crd.document["spec"]["scope"] == "Namespaced" {
        labels["namespace"] = json!(["metadata", "namespace"]);
    }
    Some(json!({
        "groupVersionKind": { "group": crd.group, "version": version["name"], "kind": crd.kind },
        "metricNamePrefix": snake_case(prefix),
        "labelsFromPath": labels,
        "errorLogV": LOG_LEVEL_OF_ERRORS,
        "metrics": metrics(&crd.kind, &version["schema"]["openAPIV3Schema"]),
    }))
}

fn metrics(kind: &str, schema: &Value) -> Vec<Value> {
    let a = article(kind);
    let created = format!("Unix time at which {a} {kind} was created");
    let deleted = format!(
        "Unix time at which the deletion of {a} {kind} was requested, while it still exists"
    );
    let generation = format!("metadata.generation of {a} {kind}");
    let of_metadata = |name: &str, field: &str, help: &str| gauge(name, ["metadata", field], help);
    let mut metrics = vec![
        of_metadata("created", "creationTimestamp", &created),
        of_metadata("deletion_timestamp", "deletionTimestamp", &deleted),
        of_metadata("metadata_generation", "generation", &generation),
    ];
    let mut names = BTreeSet::new();
    for part in ["spec", "status"] {
        for (field, schema) in fields_of(&schema["properties"][part]) {
            let name = match (part, field.as_str()) {
                ("status", "conditions") => "status_condition".to_owned(),
                _ => format!("{part}_{}", snake_case(field)),
            };
            let metric = metric(&name, [part, field], schema);
            metrics.extend(metric.filter(|_| names.insert(name)));
        }
    }
    metrics
}

/// The metric of one field, if there is one.
fn metric(name: &str, path: [&str; 2], schema: &Value) -> Option<Value> {
    let [part, field] = path;
    // kube-state-metrics takes parts of a path such as `[a=b]` for a search.
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    if !field.chars().all(is_plain) {
        return None;
    }
    let help = help(path, schema);
    match (part, text_of(schema, "type")) {
        (_, "integer" | "boolean") | ("status", "number") => Some(gauge(name, path, &help)),
        ("status", "string") if schema["format"] == "date-time" => {
            Some(gauge(name, path, &format!("Unix time. {help}")))
        }
        ("status", "string") => {
            let values = schema["enum"].as_array()?.iter().filter_map(Value::as_str);
            let label = json!({
                "path": path, "labelName": snake_case(field), "list": values.collect::<Vec<_>>(),
            });
            Some(state_set(name, &help, label))
        }
        ("status", "array") => {
            let condition = &schema["items"]["properties"];
            let is_text = |field: &str| condition[field]["type"] == "string";
            (name == "status_condition" && is_text("type") && is_text("status")).then(|| {
                let states = json!({
                    "path": path, "labelsFromPath": { "condition": ["type"] },
                    "labelName": "status", "valueFrom": ["status"],
                    "list": ["True", "False", "Unknown"],
                });
                state_set(name, &help, states)
            })
        }
        _ => None,
    }
}

fn gauge(name: &str, path: [&str; 2], help: &str) -> Value {
    json!({ "name": name, "help": help, "each": { "type": "Gauge", "gauge": { "path": path } } })
}

fn state_set(name: &str, help: &str, states: Value) -> Value {
    json!({ "name": name, "help": help, "each": { "type": "StateSet", "stateSet": states } })
}

/// The path, and the first sentence of the description.
fn help(path: [&str; 2], schema: &Value) -> String {
    let field = path.join(".");
    let lines = text_of(schema, "description").trim().lines();
    let paragraph = lines.take_while(|line| !line.trim().is_empty());
    let words: Vec<&str> = paragraph.flat_map(str::split_whitespace).collect();
    let line = words.join(" ");
    let first = line.split(". ").next().unwrap_or_default();
    match first.trim_end_matches('.') {
        "" => field,
        sentence => format!("{field}: {sentence}"),
    }
}

/// `readyReplicas` as `ready_replicas`, with only the characters that Prometheus allows in names.
fn snake_case(name: &str) -> String {
    let chars: Vec<char> = name.chars().collect();
    let mut snake = String::with_capacity(name.len() + 4);
    for (at, &c) in chars.iter().enumerate() {
        let is_lower = |at: usize| chars.get(at).is_some_and(|c| !c.is_ascii_uppercase());
        let begins_word = c.is_ascii_uppercase()
            && at > 0
            && chars[at - 1].is_ascii_alphanumeric()
            && (is_lower(at - 1) || chars.get(at + 1).is_some_and(char::is_ascii_lowercase));
        if begins_word {
            snake.push('_');
        }
        snake.push(if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        });
    }
    snake
}
