//! The operator's Deployment and ServiceAccount: what values change in them. Pure.

use serde_json::{Value, json};

use super::text::{self, INDENT};
use super::values::METRICS;
use crate::kustomize::{KustomizeError, Object, container, items, manager};
use crate::manifests::json::text_of;
use crate::names::{objects, split_image};

/// What the Deployment in `config/` has where values change it: their defaults.
#[derive(Debug)]
pub struct Settings {
    pub replicas: Value,
    pub repository: String,
    pub tag: String,
    pub pull_policy: String,
    pub pull_secrets: Value,
    pub resources: Value,
    pub node_selector: Value,
    pub tolerations: Value,
    pub affinity: Value,
    pub account_annotations: Value,
}

/// Makes what values change in the objects read them, and returns what was there.
pub fn convert(objects: &mut [Object], project: &str) -> Result<Settings, KustomizeError> {
    let mut accounts = objects.iter_mut();
    let account = accounts.find(|it| it.kind() == "ServiceAccount" && it.name == objects::MANAGER);
    let account_annotations = account.map(|account| {
        let metadata = &mut account.value["metadata"];
        let entry = with("serviceAccount.annotations", "annotations");
        exchanged(metadata, "annotations", json!({}), entry)
    });
    let at = manager(objects)?;
    let deployment = &mut objects[at].value;
    let inline = |key: &str, value| (key.to_owned(), text::inline(value));
    let entry = inline("replicas", "{{ .Values.replicas }}");
    let replicas = exchanged(&mut deployment["spec"], "replicas", json!(1), entry);

    let pod = &mut deployment["spec"]["template"]["spec"];
    metrics(pod, "volumes", "name");
    let mut pod_setting = |key: &str, default| exchanged(pod, key, default, with(key, key));
    let affinity = pod_setting("affinity", json!({}));
    let pull_secrets = pod_setting("imagePullSecrets", json!([]));
    let node_selector = pod_setting("nodeSelector", json!({}));
    let tolerations = pod_setting("tolerations", json!([]));

    let manager = container(deployment).ok_or(KustomizeError::Manager { found: 0 })?;
    let image = text_of(manager, "image").to_owned();
    let (repository, tag) = split_image(&image);
    manager["image"] = text::inline(&format!("{{{{ include \"{project}.image\" . | quote }}}}"));
    let entry = inline("imagePullPolicy", "{{ .Values.image.pullPolicy }}");
    let pull_policy = exchanged(manager, "imagePullPolicy", json!("IfNotPresent"), entry);
    let resources = exchanged(
        manager,
        "resources",
        json!({}),
        with("resources", "resources"),
    );
    metrics(manager, "args", "");
    metrics(manager, "ports", "name");
    metrics(manager, "volumeMounts", "name");
    for (key, value) in [("args", "extraArgs"), ("env", "extraEnv")] {
        let items = format!(
            "{{{{- with .Values.{value} }}}}\n{{{{- toYaml . | nindent {INDENT} }}}}\n{{{{- end }}}}"
        );
        if manager[key].is_null() {
            manager[key] = json!([]);
        }
        if let Value::Array(list) = &mut manager[key] {
            list.push(text::lines(&items).into());
        }
    }
    Ok(Settings {
        replicas,
        repository: repository.to_owned(),
        tag: tag.unwrap_or_default().to_owned(),
        pull_policy: pull_policy.as_str().unwrap_or_default().to_owned(),
        pull_secrets,
        resources,
        node_selector,
        tolerations,
        affinity,
        account_annotations: account_annotations.unwrap_or_else(|| json!({})),
    })
}

/// Puts another entry in the place of a key, or at the end, and returns the value of the key, if it has one.
fn exchanged(map: &mut Value, key: &str, default: Value, entry: (String, Value)) -> Value {
    let Value::Object(map) = map else {
        return default;
    };
    let (mut found, mut entry) = (None, Some(entry));
    let old = std::mem::take(map).into_iter();
    for (name, value) in old {
        match name == key {
            true => {
                found = Some(value);
                map.extend(entry.take());
            }
            false => drop(map.insert(name, value)),
        }
    }
    map.extend(entry);
    found.filter(|value| !value.is_null()).unwrap_or(default)
}

/// A key that is there if a value is not empty.
fn with(value: &str, key: &str) -> (String, Value) {
    let lines = text::lines(&format!(
        "{{{{- with .Values.{value} }}}}\n{key}:\n  {{{{- toYaml . | nindent {INDENT}+2 }}}}\n{{{{- end }}}}"
    ));
    (lines, Value::Null)
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
