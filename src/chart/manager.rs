//! The operator's Deployment and ServiceAccount, and its ports: what values change in them. Pure.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::convert::selectors;
use super::text::{self, INDENT};
use super::values::METRICS;
use crate::kustomize::{KustomizeError, Object, container, items, manager};
use crate::manifests::json::text_of;
use crate::names::{objects, split_image};

/// What `config/` has where values change it.
#[derive(Debug, Default)]
pub(super) struct Settings {
    pub(crate) repository: String,
    pub(crate) tag: String,
    /// The defaults of values, by their keys. A value that is not there is empty in `config/`.
    pub(crate) defaults: BTreeMap<&'static str, Value>,
}

/// The fields of the pod that have values of the same names.
const OF_POD: [&str; 6] = [
    "affinity",
    "hostNetwork",
    "imagePullSecrets",
    "nodeSelector",
    "priorityClassName",
    "tolerations",
];

const GRACE: &str = "terminationGracePeriodSeconds";

/// The values of ports, each with the flag in which the manager is told it.
const PORTS: [(&str, &str); 3] = [
    ("healthProbe.port", "--health-probe-bind-address="),
    ("metrics.port", "--metrics-bind-address="),
    ("webhook.port", "--webhook-port="),
];

/// Makes what values change in the objects read them, and returns what was there.
pub(super) fn convert(objects: &mut [Object], project: &str) -> Result<Settings, KustomizeError> {
    let mut settings = Settings {
        defaults: of_kubernetes(),
        ..Settings::default()
    };
    account(objects, project, &mut settings);
    ports(objects, &mut settings)?;
    let at = manager(objects)?;
    let deployment = &mut objects[at].value;
    for (place, of) in [
        ("/metadata", "deployment"),
        ("/spec/template/metadata", "pod"),
    ] {
        for key in ["annotations", "labels"] {
            if let Some(metadata) = deployment.pointer_mut(place) {
                more_entries(metadata, key, &format!("{of}.{key}"));
            }
        }
    }
    let spec = &mut deployment["spec"];
    let replicas = inline("replicas", "replicas");
    settings.exchange(spec, "replicas", "replicas", replicas);
    or_own(spec, "strategy", "strategy");

    let pod = &mut spec["template"]["spec"];
    let spread = "topologySpreadConstraints";
    selectors(&mut pod[spread], project);
    or_own(pod, spread, spread);
    for key in OF_POD {
        settings.exchange(pod, key, key, with(key, key));
    }
    // 0 means something.
    let grace = text::lines(&format!(
        "{{{{- if not (kindIs \"invalid\" .Values.{GRACE}) }}}}\n{GRACE}: {{{{ .Values.{GRACE} }}}}\n{{{{- end }}}}"
    ));
    settings.exchange(pod, GRACE, GRACE, (grace, Value::Null));
    metrics(pod, "volumes", "name");
    more_items(pod, "volumes", "extraVolumes");

    let manager = container(deployment).ok_or(KustomizeError::Manager { found: 0 })?;
    let image = text_of(manager, "image").to_owned();
    let (repository, tag) = split_image(&image);
    settings.repository = repository.to_owned();
    settings.tag = tag.unwrap_or_default().to_owned();
    manager["image"] = text::inline(&format!("{{{{ include \"{project}.image\" . | quote }}}}"));
    let policy = inline("imagePullPolicy", "image.pullPolicy");
    settings.exchange(manager, "imagePullPolicy", "image.pullPolicy", policy);
    let resources = with("resources", "resources");
    settings.exchange(manager, "resources", "resources", resources);
    metrics(manager, "args", "");
    metrics(manager, "ports", "name");
    metrics(manager, "volumeMounts", "name");
    more_items(manager, "args", "extraArgs");
    more_items(manager, "env", "extraEnv");
    more_items(manager, "volumeMounts", "extraVolumeMounts");
    Ok(settings)
}

/// What the API server sets in a Deployment without these fields.
fn of_kubernetes() -> BTreeMap<&'static str, Value> {
    BTreeMap::from([
        ("image.pullPolicy", json!("IfNotPresent")),
        ("replicas", json!(1)),
        ("terminationGracePeriodSeconds", json!(30)),
    ])
}

impl Settings {
    /// Puts another entry in the place of a key, or at the end, and remembers the value of the key as the default of a
    /// value of the chart.
    fn exchange(&mut self, map: &mut Value, key: &str, value: &'static str, new: (String, Value)) {
        let old = exchanged(map, key, vec![new]);
        self.defaults.extend(old.map(|old| (value, old)));
    }
}

/// Lets values give the ServiceAccount annotations, and another name wherever it is named.
fn account(objects: &mut [Object], project: &str, settings: &mut Settings) {
    let name = text::inline(&format!(
        "{{{{ include \"{project}.serviceAccountName\" $ | quote }}}}"
    ));
    let mut accounts = objects.iter_mut();
    let account = accounts.find(|it| it.kind() == "ServiceAccount" && it.name == objects::MANAGER);
    let Some(account) = account else { return };
    let metadata = &mut account.value["metadata"];
    let value = "serviceAccount.annotations";
    settings.exchange(metadata, "annotations", value, with(value, "annotations"));
    let own = std::mem::replace(&mut metadata["name"], name.clone());
    for object in objects.iter_mut() {
        for subject in items(&mut object.value, "subjects") {
            if subject["kind"] == "ServiceAccount" && subject["name"] == own {
                subject["name"] = name.clone();
            }
        }
        let of_pod = object
            .value
            .pointer_mut("/spec/template/spec/serviceAccountName");
        for of_pod in of_pod.into_iter().filter(|it| **it == own) {
            *of_pod = name.clone();
        }
    }
}

/// Lets values change the ports that the flags of the manager have, wherever these are.
fn ports(objects: &mut [Object], settings: &mut Settings) -> Result<(), KustomizeError> {
    let at = manager(objects)?;
    for (value, flag) in PORTS {
        let Some(manager) = container(&mut objects[at].value) else {
            continue;
        };
        let mut port = None;
        for argument in items(manager, "args") {
            let text = argument.as_str().filter(|text| text.starts_with(flag));
            let Some(text) = text else { continue };
            let before = text.trim_end_matches(|c: char| c.is_ascii_digit());
            port = text[before.len()..]
                .parse::<u16>()
                .ok()
                .filter(|it| *it > 0);
            if port.is_some() {
                *argument = format!("{before}{}", text::value(value)).into();
            }
        }
        let Some(port) = port else { continue };
        settings.defaults.insert(value, port.into());
        let number = text::inline(&format!("{{{{ $.Values.{value} }}}}"));
        let same = |of: &mut Value, keys: &[&str]| {
            for key in keys {
                if of[*key] == port {
                    of[*key] = number.clone();
                }
            }
        };
        items(manager, "ports").for_each(|item| same(item, &["containerPort"]));
        for object in objects.iter_mut().filter(|object| is_for_manager(object)) {
            let spec = &mut object.value["spec"];
            items(spec, "ports").for_each(|item| same(item, &["port", "targetPort"]));
            for rule in items(spec, "ingress") {
                items(rule, "ports").for_each(|item| same(item, &["port"]));
            }
        }
    }
    Ok(())
}

/// Whether it is a Service or a NetworkPolicy that selects the manager's pods.
fn is_for_manager(object: &Object) -> bool {
    let selector = match object.kind() {
        "Service" => "/spec/selector",
        "NetworkPolicy" => "/spec/podSelector/matchLabels",
        _ => return false,
    };
    let selector = object.value.pointer(selector);
    selector.is_some_and(|labels| labels[objects::MANAGER_LABEL] == objects::MANAGER)
}

/// Puts other entries in the place of a key, or at the end, and returns the value of the key, if it has one.
fn exchanged(map: &mut Value, key: &str, new: Vec<(String, Value)>) -> Option<Value> {
    let Value::Object(map) = map else {
        return None;
    };
    let (mut found, mut new) = (None, Some(new));
    let old = std::mem::take(map).into_iter();
    for (name, value) in old {
        if name == key {
            found = Some(value);
            map.extend(new.take().into_iter().flatten());
        } else {
            drop(map.insert(name, value))
        }
    }
    map.extend(new.into_iter().flatten());
    found.filter(|value| !value.is_null())
}

/// Lets a value replace a field, which otherwise is as in `config/`. As a default of the value, Helm would merge the field
/// with what a user writes.
fn or_own(map: &mut Value, key: &str, value: &str) {
    let mut new = vec![with(value, key)];
    if let Some(own) = map.get(key).filter(|own| !own.is_null()) {
        let own = text::when(&format!("not .Values.{value}"), &json!({ key: own }));
        new.push((own, Value::Null));
    }
    drop(exchanged(map, key, new));
}

/// A key with a value of the chart.
fn inline(key: &str, value: &str) -> (String, Value) {
    let text = text::inline(&format!("{{{{ .Values.{value} }}}}"));
    (key.to_owned(), text)
}

/// A key that is there if a value is not empty.
fn with(value: &str, key: &str) -> (String, Value) {
    let lines = text::lines(&format!(
        "{{{{- with .Values.{value} }}}}\n{key}:\n  {{{{- toYaml . | nindent {INDENT}+2 }}}}\n{{{{- end }}}}"
    ));
    (lines, Value::Null)
}

/// What a value adds to a list or a map.
fn more(value: &str) -> String {
    text::lines(&format!(
        "{{{{- with .Values.{value} }}}}\n{{{{- toYaml . | nindent {INDENT} }}}}\n{{{{- end }}}}"
    ))
}

/// Lets a value add entries to a map.
fn more_entries(of: &mut Value, key: &str, value: &str) {
    match &mut of[key] {
        Value::Object(map) if !map.is_empty() => drop(map.insert(more(value), Value::Null)),
        _ => drop(exchanged(of, key, vec![with(value, key)])),
    }
}

/// Lets a value add items to a list.
fn more_items(of: &mut Value, key: &str, value: &str) {
    match &mut of[key] {
        Value::Array(list) if !list.is_empty() => list.push(more(value).into()),
        _ => or_own(of, key, value),
    }
}

/// Makes the items of a list that are about metrics depend on the value; `key` is the key of their names, if they are
/// maps.
fn metrics(of: &mut Value, list: &str, key: &str) {
    let is_about = |item: &Value| {
        let name = item.as_str().or_else(|| item[key].as_str());
        let name = name.map(|name| name.trim_start_matches('-'));
        name.is_some_and(|name| name == "metrics" || name.starts_with("metrics-"))
    };
    for item in items(of, list) {
        if is_about(item) {
            *item = text::when(&format!(".Values.{METRICS}"), &json!([item])).into();
        }
    }
}
