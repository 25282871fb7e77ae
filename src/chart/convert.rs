//! Objects as templates of the chart. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value, json};

use super::text::{self, INDENT};
use super::values;
use crate::kustomize::{Object, items, mark};
use crate::layout;
use crate::manifests::json::visit;
use crate::names::objects;

const NAME_LABEL: &str = "app.kubernetes.io/name";
/// The kind of an object with alerts.
const ALERTS: &str = "PrometheusRule";
const MANAGED_BY_LABEL: &str = "app.kubernetes.io/managed-by";

/// The templates of all objects.
#[derive(Debug, Default)]
pub(super) struct Converted {
    /// Text by path in the chart.
    pub(crate) files: BTreeMap<String, String>,
    /// The values that decide whether there are objects.
    pub(crate) used: BTreeSet<&'static str>,
}

pub(super) fn templates(objects: Vec<Object>, project: &str) -> Converted {
    let mut converted = Converted::default();
    for object in objects {
        let path = path(&object.file);
        let values = values_of(&object);
        let value = converted_object(object, project, &mut converted.used);
        let text = text::template(&value, project);
        let file = converted.files.entry(path).or_default();
        let separator = if file.is_empty() && values.is_empty() {
            ""
        } else {
            "---\n"
        };
        let text = match condition(&values) {
            Some(condition) => {
                format!("{{{{- if {condition} }}}}\n{separator}{text}{{{{- end }}}}\n")
            }
            None => format!("{separator}{text}"),
        };
        file.push_str(&text);
        converted.used.extend(values);
    }
    converted
}

/// The path in the chart of the template with the objects of a file.
fn path(file: &str) -> String {
    let path = match file.strip_prefix(layout::CRD_BASES) {
        Some(name) => format!("crd/{name}"),
        None => file.strip_prefix(layout::CONFIG).unwrap_or(file).to_owned(),
    };
    format!("templates/{path}")
}

/// The values on which an object depends.
fn values_of(object: &Object) -> Vec<&'static str> {
    let is_for_metrics = object.name.starts_with("metrics-")
        || [objects::METRICS_SERVICE, objects::METRICS_POLICY].contains(&object.name.as_str());
    let own = match (object.group(), object.kind()) {
        (_, "CustomResourceDefinition") => Some(values::CRDS),
        ("cert-manager.io", _) => Some(values::CERT_MANAGER),
        ("", "ServiceAccount") if object.name == objects::MANAGER => Some(values::ACCOUNT),
        (_, "NetworkPolicy") => Some(values::NETWORK_POLICY),
        ("monitoring.coreos.com", kind) => {
            let alerts = (kind == ALERTS).then_some(values::ALERTS);
            let monitored = [values::METRICS, values::PROMETHEUS];
            return monitored.into_iter().chain(alerts).collect();
        }
        _ if object.is_in(layout::GRAFANA) => Some(values::GRAFANA),
        _ => None,
    };
    let metrics = is_for_metrics.then_some(values::METRICS);
    metrics.into_iter().chain(own).collect()
}

/// The condition that all of these values are true.
fn condition(values: &[&str]) -> Option<String> {
    let values: Vec<String> = values.iter().map(|it| format!(".Values.{it}")).collect();
    match &values[..] {
        [] => None,
        [one] => Some(one.clone()),
        several => Some(format!("and {}", several.join(" "))),
    }
}

fn converted_object(object: Object, project: &str, used: &mut BTreeSet<&'static str>) -> Value {
    let is_crd = object.kind() == "CustomResourceDefinition";
    let is_webhook = object.kind().ends_with("WebhookConfiguration");
    let is_alerts = object.kind() == ALERTS;
    let mut value = object.value;
    let metadata = value["metadata"].take();
    // Otherwise the managers write their CA.
    let is_injected = metadata["annotations"]
        .get(objects::CA_ANNOTATION)
        .is_some();
    if !is_crd {
        selectors(&mut value, project);
    }
    if is_alerts {
        alerts(&mut value, project);
    }
    if is_webhook && is_injected {
        let clients = items(&mut value, "webhooks").filter_map(|it| it.get_mut("clientConfig"));
        for client in clients {
            used.insert(values::CA_BUNDLE);
            ca_bundle(client);
        }
    }
    if is_injected && let Some(client) = value.pointer_mut("/spec/conversion/webhook/clientConfig")
    {
        used.insert(values::CA_BUNDLE);
        ca_bundle(client);
    }
    value["metadata"] = with_labels(metadata, project);
    annotations(&mut value["metadata"], is_crd);
    value
}

/// Adds the release to each selector, and to the labels that it selects.
pub(super) fn selectors(value: &mut Value, project: &str) {
    visit(value, &mut |value| {
        if let Value::Object(map) = value
            && map.get(NAME_LABEL).is_some_and(|name| name == project)
        {
            let included = include("selectorLabels", project);
            *map = replaced(std::mem::take(map), NAME_LABEL, &included);
        }
    });
}

/// Makes what alerts ask for, and say, follow the name label, which the ServiceMonitor makes the job of the metrics, and
/// the names of roles and of the namespace.
fn alerts(value: &mut Value, project: &str) {
    let job = |name: &str| format!("job=\"{name}\"");
    visit(value, &mut |value| match value {
        Value::String(text) => {
            *text = text.replace(&job(project), &job(text::CHART_NAME));
            *text = text.replace(&format!("{project}-system"), mark::NAMESPACE);
            for role in [objects::METRICS_READER, objects::LEADER_ELECTION_ROLE] {
                *text = text.replace(&objects::deployed(project, role), &mark::name(role));
            }
        }
        Value::Object(map) => {
            if let Some(job) = map.get_mut("job").filter(|job| *job == project) {
                *job = text::CHART_NAME.into();
            }
        }
        _ => {}
    });
}

/// Lines that include a named template of the chart.
fn include(template: &str, project: &str) -> String {
    text::lines(&format!(
        "{{{{- include \"{project}.{template}\" $ | nindent {INDENT} }}}}"
    ))
}

/// The map with another entry in the place of `key`.
fn replaced(map: Map<String, Value>, key: &str, entry: &str) -> Map<String, Value> {
    let pairs = map.into_iter();
    let pairs = pairs.map(|(name, value)| {
        if name == key {
            (entry.to_owned(), Value::Null)
        } else {
            (name, value)
        }
    });
    pairs.collect()
}

/// The metadata with the labels of the chart instead of kustomize's.
fn with_labels(mut metadata: Value, project: &str) -> Value {
    let labels = metadata["labels"].take();
    let mut all = Map::from_iter([(include("labels", project), Value::Null)]);
    let own = match labels {
        Value::Object(labels) => labels,
        _ => Map::new(),
    };
    all.extend(own.into_iter().filter(|(key, value)| {
        let is_replaced = (key == NAME_LABEL && value == project)
            || (key == MANAGED_BY_LABEL && value == "kustomize");
        !is_replaced
    }));
    metadata["labels"] = all.into();
    metadata
}

/// Adds the annotations that depend on values.
fn annotations(metadata: &mut Value, is_crd: bool) {
    let mut annotations = match metadata["annotations"].take() {
        Value::Object(annotations) => annotations,
        _ => Map::new(),
    };
    let with = |value: &str, key: &str, annotation: &Value| {
        text::when(&format!(".Values.{value}"), &json!({ key: annotation }))
    };
    if let Some(certificate) = annotations.get(objects::CA_ANNOTATION) {
        let entry = with(values::CERT_MANAGER, objects::CA_ANNOTATION, certificate);
        annotations = replaced(annotations, objects::CA_ANNOTATION, &entry);
    }
    if is_crd {
        let entry = with(values::KEEP_CRDS, "helm.sh/resource-policy", &"keep".into());
        annotations.insert(entry, Value::Null);
    }
    match (annotations.is_empty(), metadata.as_object_mut()) {
        (true, Some(metadata)) => drop(metadata.shift_remove("annotations")),
        _ => metadata["annotations"] = annotations.into(),
    }
}

/// Lets a value set the CA of a webhook.
fn ca_bundle(client: &mut Value) {
    let bundle = format!(
        "{{{{- with .Values.{} }}}}\ncaBundle: {{{{ . | quote }}}}\n{{{{- end }}}}",
        values::CA_BUNDLE
    );
    if let Value::Object(client) = client {
        client.insert(text::lines(&bundle), Value::Null);
    }
}
