//! The operator's Deployment, and what is not as its flags for metrics say. Pure.

use serde_json::Value;

use super::build::Object;
use super::error::KustomizeError;
use super::pods::containers;
use crate::error::quoted;
use crate::manifests::json::list_of;
use crate::names::objects;

/// The container of the operator in its Deployment.
pub(crate) fn container(deployment: &mut Value) -> Option<&mut Value> {
    containers(deployment).find(|container| container["name"] == objects::MANAGER_CONTAINER)
}

/// The index of the operator's Deployment.
pub(crate) fn manager(objects: &mut [Object]) -> Result<usize, KustomizeError> {
    let objects = objects.iter_mut().enumerate();
    let found = objects.filter_map(|(at, object)| {
        let is_it = objects::is_manager(&object.value) && container(&mut object.value).is_some();
        is_it.then_some(at)
    });
    let found: Vec<usize> = found.collect();
    match found[..] {
        [at] => Ok(at),
        _ => Err(KustomizeError::Manager { found: found.len() }),
    }
}

/// Warnings about objects that expect other metrics than the operator's flags make it serve.
pub(crate) fn metrics(objects: &mut [Object]) -> Result<Vec<String>, KustomizeError> {
    let at = manager(objects)?;
    let Some(container) = container(&mut objects[at].value) else {
        return Ok(Vec::new());
    };
    let address = flag(container, "--metrics-bind-address")
        .unwrap_or("0")
        .to_owned();
    let is_secure = flag(container, "--metrics-secure").is_none_or(|value| value != "false");
    let mut ports = list_of(container, "ports").iter();
    let named = ports.find(|port| port["name"] == "metrics");
    let opened = named.map(|port| port["containerPort"].to_string());
    let mut warnings = Vec::new();
    if address == "0" {
        let expecting = objects.iter().filter(|object| is_for_metrics(object));
        let mut files: Vec<&str> = expecting.map(|object| &*object.file).collect();
        files.dedup();
        if !files.is_empty() {
            warnings.push(format!(
                "the manager serves no metrics, as its `--metrics-bind-address` is 0 or missing, but {} expect them: \
                 take them out of the `resources` that list them",
                quoted(&files)
            ));
        }
        return Ok(warnings);
    }
    let port = address.rsplit(':').next().unwrap_or_default();
    let differs = |other: &String| other != port;
    let mut wrong = Vec::new();
    if let Some(other) = opened.filter(differs) {
        wrong.push(format!("its port `metrics` is {other}"));
    }
    for object in objects
        .iter()
        .filter(|it| it.kind() == "NetworkPolicy" && is_for_metrics(it))
    {
        let rules = list_of(&object.value, "/spec/ingress").iter();
        let ports = rules.flat_map(|rule| list_of(rule, "ports"));
        let others = ports.map(|port| port["port"].to_string()).filter(differs);
        wrong.extend(others.map(|other| format!("`{}` allows {other}", object.file)));
    }
    if !wrong.is_empty() {
        warnings.push(format!(
            "the manager serves metrics on port {port} (`--metrics-bind-address={address}`), but {}: write {port} there",
            wrong.join(", and ")
        ));
    }
    let is_https = |object: &&Object| {
        let endpoints = list_of(&object.value, "/spec/endpoints");
        object.kind() == "ServiceMonitor"
            && is_for_metrics(object)
            && endpoints.iter().any(|it| it["scheme"] == "https")
    };
    for monitor in objects.iter().filter(|_| !is_secure).filter(is_https) {
        warnings.push(format!(
            "the manager serves metrics over HTTP (`--metrics-secure=false`), but `{}` collects them over HTTPS: write \
             `scheme: http` there, and delete `tlsConfig` and `bearerTokenFile`",
            monitor.file
        ));
    }
    Ok(warnings)
}

/// Whether an object is only there because the manager serves metrics.
pub(super) fn is_for_metrics(object: &Object) -> bool {
    match object.kind() {
        "NetworkPolicy" => object.name == objects::METRICS_POLICY,
        "Service" => object.name == objects::METRICS_SERVICE,
        "ServiceMonitor" => object.name == objects::METRICS_MONITOR,
        _ => false,
    }
}

/// The value of a flag of a container, the last one if it has several.
fn flag<'a>(container: &'a Value, name: &str) -> Option<&'a str> {
    let mut args = list_of(container, "args").iter().rev();
    let mut next = None;
    args.find_map(|argument| {
        let text = argument.as_str()?;
        let behind = next.replace(text);
        let rest = text.strip_prefix(name)?;
        match rest.strip_prefix('=') {
            Some(value) => Some(value),
            None => behind.filter(|_| rest.is_empty()),
        }
    })
}
