//! The objects that kubectl builds from `config/default`, with marks for names and the namespace. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::error::KustomizeError;
use super::{containers, items, mark};
use crate::layout;
use crate::manifests::json::{text_of, visit};
use crate::project::Project;
use crate::yaml;

/// What a user adds to `config/default` by a line, and the user of a chart by a value.
pub(crate) const OPTIONAL: [&str; 2] = [layout::PROMETHEUS, layout::GRAFANA];

/// Where kustomize writes which file an object comes from.
const ORIGIN: &str = "config.kubernetes.io/origin";

/// The API group of the configurations of webhooks and of admission policies, whose objects have no namespace:
/// kustomize does not know all of them.
const ADMISSION: &str = "admissionregistration.k8s.io";

/// An object, and what it was called in its file.
#[derive(Debug)]
pub(crate) struct Object {
    /// The path of its file.
    pub(crate) file: String,
    pub(crate) name: String,
    pub(crate) value: Value,
}

impl Object {
    pub(crate) fn kind(&self) -> &str {
        text_of(&self.value, "kind")
    }

    /// Whether its file is in that folder.
    pub(crate) fn is_in(&self, folder: &str) -> bool {
        let rest = self.file.strip_prefix(folder);
        rest.is_some_and(|rest| rest.starts_with('/'))
    }

    /// The API group; empty for the core group.
    pub(crate) fn group(&self) -> &str {
        let version = text_of(&self.value, "apiVersion");
        version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// `config/default`, and [`OPTIONAL`] beside it.
#[derive(Debug, Default)]
pub(crate) struct Build {
    pub(crate) objects: Vec<Object>,
    /// The folders of [`OPTIONAL`] that `config/default` contains.
    pub(crate) enabled: BTreeSet<&'static str>,
}

impl Build {
    /// Reads what kubectl prints.
    pub(crate) fn read(project: &Project, printed: &str) -> Result<Self, KustomizeError> {
        let mut objects = Vec::new();
        for value in yaml::read("kubectl kustomize", printed)? {
            objects.push(object(value)?);
        }
        objects.retain(|it| it.kind() != "Namespace" || it.name != mark::NAMESPACE);
        mark_secrets(&mut objects);
        mark_granted(&mut objects, project.project_name.as_str());
        let enabled = BTreeSet::new();
        Ok(Self { objects, enabled })
    }

    /// The folders of [`OPTIONAL`] that have objects in it.
    pub(crate) fn folders(&self) -> BTreeSet<&'static str> {
        let is_there = |folder: &&str| self.objects.iter().any(|it| it.is_in(folder));
        OPTIONAL.into_iter().filter(is_there).collect()
    }
}

/// An object of what kubectl prints.
fn object(mut value: Value) -> Result<Object, KustomizeError> {
    let is_map = |pointer| value.pointer(pointer).is_none_or(Value::is_object);
    let places = ["", "/metadata/annotations", "/metadata/labels", "/spec"];
    let is_object = value["metadata"].is_object() && places.into_iter().all(is_map);
    let annotations = value.pointer_mut("/metadata/annotations");
    let origin = annotations.and_then(|it| it.as_object_mut()?.shift_remove(ORIGIN));
    let name = mark::bare(text_of(&value["metadata"], "name"));
    let file = origin.as_ref().and_then(|it| file_of(it, &name));
    let (Some(file), true) = (file, is_object) else {
        let kind = text_of(&value, "kind").to_owned();
        return Err(KustomizeError::Object { kind, name });
    };
    let mut object = Object { file, name, value };
    let is_admission = object.group() == ADMISSION;
    if let Some(metadata) = object.value["metadata"].as_object_mut() {
        let annotations = metadata.get("annotations").and_then(Value::as_object);
        if annotations.is_some_and(Map::is_empty) {
            metadata.shift_remove("annotations");
        }
        if is_admission {
            metadata.shift_remove("namespace");
        }
    }
    Ok(object)
}

/// The path of the file of an object; one that is generated has its name, beside the kustomization that generates it.
fn file_of(origin: &Value, name: &str) -> Option<String> {
    let origin = yaml::read(ORIGIN, origin.as_str()?).ok()?;
    let origin = origin.first()?;
    let (path, is_generated) = match text_of(origin, "path") {
        "" => (text_of(origin, "configuredIn"), true),
        path => (path, false),
    };
    let mut folders: Vec<&str> = layout::DEFAULT.split('/').collect();
    for part in path.split(['/', '\\']) {
        match part {
            "." | "" => {}
            ".." => drop(folders.pop()),
            part => folders.push(part),
        }
    }
    let name = format!("{name}.yaml");
    if let Some(file) = folders.last_mut().filter(|_| is_generated) {
        *file = &name;
    }
    Some(folders.join("/"))
}

/// Marks the names of the Secrets in which cert-manager keeps certificates: those of two releases must not be the same.
fn mark_secrets(objects: &mut [Object]) {
    let certificates = objects.iter().filter(|it| it.kind() == "Certificate");
    let secrets = certificates.filter_map(|it| it.value["spec"]["secretName"].as_str());
    let secrets: BTreeSet<String> = secrets.map(str::to_owned).collect();
    for object in objects.iter_mut().filter(|_| !secrets.is_empty()) {
        visit(&mut object.value, &mut |value| {
            for (key, value) in value.as_object_mut().into_iter().flatten() {
                let name = match key.as_str() {
                    "secretName" => Some(value),
                    "secret" | "secretKeyRef" | "secretRef" => value.get_mut("name"),
                    _ => None,
                };
                let name = name.filter(|it| it.as_str().is_some_and(|name| secrets.contains(name)));
                if let Some(name) = name {
                    *name = mark::name(name.as_str().unwrap_or_default()).into();
                }
            }
        });
    }
}

/// Marks names that are spelled out as deployed, with the project's name: those in roles, and in the flags and
/// variables of the manager if a role has them too. The objects need not exist yet: the manager may create them.
fn mark_granted(objects: &mut [Object], project: &str) {
    let prefix = format!("{project}-");
    let mut granted = BTreeSet::new();
    for object in objects.iter_mut() {
        let rules = items(&mut object.value, "rules");
        for value in rules.flat_map(|rule| items(rule, "resourceNames")) {
            let name = value.as_str().and_then(|name| name.strip_prefix(&prefix));
            if let Some(name) = name.map(str::to_owned) {
                *value = mark::name(&name).into();
                granted.insert(name);
            }
        }
    }
    let marked = |value: &str| {
        let name = value.strip_prefix(&prefix)?;
        granted.contains(name).then(|| mark::name(name))
    };
    for object in objects {
        for container in containers(&mut object.value) {
            for argument in items(container, "args") {
                let parts = argument.as_str().and_then(|text| text.split_once('='));
                let new =
                    parts.and_then(|(flag, value)| Some(format!("{flag}={}", marked(value)?)));
                if let Some(new) = new {
                    *argument = new.into();
                }
            }
            for variable in items(container, "env") {
                if let Some(name) = variable["value"].as_str().and_then(marked) {
                    variable["value"] = name.into();
                }
            }
        }
    }
}
