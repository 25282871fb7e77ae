//! The objects of `config/default`, as kustomize builds them, with marks for names and the namespace. Pure.
//!
//! What kbr emits is understood, and what its users are likely to add; everything else is refused, so that
//! nothing is made from only a part of `config/`.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::error::KustomizeError;
use super::references::{self, NameReference};
use super::replacement::{self, Selector};
use super::{config_map, json_patch, mark};
use crate::layout;
use crate::manifests::json::{list_of, text_of};
use crate::names::objects;
use crate::project::Project;
use crate::tree::{Entry, Tree};

/// What a user adds to `config/default` by a line, and the user of a chart by a value.
pub const OPTIONAL: [&str; 2] = [layout::PROMETHEUS, layout::GRAFANA];

/// An object, and what it was called in its file.
#[derive(Debug)]
pub struct Object {
    /// The path of its file.
    pub file: String,
    pub name: String,
    pub namespace: String,
    pub value: Value,
}

impl Object {
    pub fn kind(&self) -> &str {
        text_of(&self.value, "kind")
    }

    /// The API group; empty for the core group.
    pub fn group(&self) -> &str {
        let version = text_of(&self.value, "apiVersion");
        version.split_once('/').map_or("", |(group, _)| group)
    }
}

/// `config/default`, and [`OPTIONAL`] beside it.
pub struct Build<'a> {
    tree: &'a Tree,
    pub objects: Vec<Object>,
    /// The folders of [`OPTIONAL`] that `config/default` contains.
    pub enabled: BTreeSet<&'static str>,
    /// Whether the kustomization sets the namespace of every object.
    sets_namespace: bool,
    labels: Map<String, Value>,
    /// Each with the path of its file.
    replacements: Vec<(String, Value)>,
    references: Vec<NameReference>,
    images: Vec<Value>,
    seen: BTreeSet<String>,
}

impl<'a> Build<'a> {
    pub fn of(project: &Project, tree: &'a Tree) -> Result<Self, KustomizeError> {
        let mut build = Self {
            tree,
            objects: Vec::new(),
            enabled: BTreeSet::new(),
            sets_namespace: false,
            labels: Map::new(),
            replacements: Vec::new(),
            references: Vec::new(),
            images: Vec::new(),
            seen: BTreeSet::new(),
        };
        build.root()?;
        let own_namespace = project.project_name.namespace();
        build.names(&own_namespace);
        build.lease(project);
        references::mark_granted(&mut build.objects, project.project_name.as_str());
        let replacements = std::mem::take(&mut build.replacements);
        for (path, entry) in &replacements {
            replacement::apply(entry, path, &mut build.objects)?;
        }
        build.finish();
        let is_own = |it: &Object| {
            it.kind() == "Namespace" && (it.name == objects::NAMESPACE || it.name == own_namespace)
        };
        build.objects.retain(|object| !is_own(object));
        Ok(build)
    }

    /// Reads `config/default`. Its replacements are for what is optional too.
    fn root(&mut self) -> Result<(), KustomizeError> {
        let folder = layout::DEFAULT_KUSTOMIZATION.rsplit_once('/');
        let folder = folder.map_or("", |(folder, _)| folder);
        let patches = self.kustomization(folder, "PROJECT")?;
        for folder in OPTIONAL {
            if self.seen.contains(folder) {
                self.enabled.insert(folder);
            } else if self.tree.entry(folder) == Some(&Entry::Folder) {
                let more = self.kustomization(folder, "PROJECT")?;
                self.patch(&more)?;
            }
        }
        self.patch(&patches)
    }

    /// Reads the kustomization of a folder, and returns its patches, each with the path of the kustomization.
    fn kustomization(
        &mut self,
        folder: &str,
        by: &str,
    ) -> Result<Vec<(String, Value)>, KustomizeError> {
        let path = format!("{folder}/kustomization.yaml");
        self.seen.insert(folder.to_owned());
        let documents = self.documents(&path, by)?;
        let [Value::Object(keys)] = &documents[..] else {
            let reason = "it is not one mapping".to_owned();
            return Err(KustomizeError::Unreadable { path, reason });
        };
        let is_root = path == layout::DEFAULT_KUSTOMIZATION;
        let mut patches = Vec::new();
        for key in ["resources", "components"] {
            for resource in list_of(keys, key) {
                let place = place(folder, resource.as_str().unwrap_or_default());
                if self.tree.entry(&place) == Some(&Entry::Folder) {
                    let inner = self.kustomization(&place, &path)?;
                    match key {
                        // The patches of a component are for everything that includes it.
                        "components" => patches.extend(inner),
                        _ => self.patch(&inner)?,
                    }
                } else {
                    self.resource(&place, &path)?;
                }
            }
        }
        for (key, value) in keys {
            let list = list_of(keys, key);
            match key.as_str() {
                "apiVersion" | "kind" | "resources" | "components" => {}
                "namespace" if is_root => self.sets_namespace = true,
                "namePrefix" if is_root => {}
                "labels" if is_root => self.labels(&path, list)?,
                "patches" => patches.extend(list.iter().map(|it| (path.clone(), it.clone()))),
                "replacements" => self.replacement(folder, &path, list)?,
                "images" => self.images.extend(list.iter().cloned()),
                "configMapGenerator" => {
                    let file = |name: &str| self.file(&place(folder, name), &path);
                    let made = config_map::generated(list, &path, file)?;
                    self.objects.extend(made);
                }
                "configurations" => self.configurations(folder, &path, list)?,
                _ if value.as_array().is_some_and(Vec::is_empty) => {}
                _ => return Err(unknown(&path, key)),
            }
        }
        Ok(patches)
    }

    fn resource(&mut self, path: &str, by: &str) -> Result<(), KustomizeError> {
        for value in self.documents(path, by)? {
            let is_map = |pointer| value.pointer(pointer).is_none_or(Value::is_object);
            let places = ["", "/metadata/annotations", "/metadata/labels", "/spec"];
            if !value["metadata"].is_object() || !places.into_iter().all(is_map) {
                return Err(KustomizeError::Unreadable {
                    path: path.to_owned(),
                    reason: "it has something that is no object of Kubernetes".to_owned(),
                });
            }
            let metadata = |key| text_of(&value["metadata"], key).to_owned();
            self.objects.push(Object {
                file: path.to_owned(),
                name: metadata("name"),
                namespace: metadata("namespace"),
                value,
            });
        }
        Ok(())
    }

    fn labels(&mut self, path: &str, list: &[Value]) -> Result<(), KustomizeError> {
        for entry in list {
            let keys = entry.as_object().into_iter().flatten();
            for (key, value) in keys {
                match (key.as_str(), value) {
                    ("pairs", Value::Object(pairs)) => self.labels.extend(pairs.clone()),
                    (_, Value::Bool(false)) => {}
                    _ => return Err(unknown(path, &format!("labels.{key}"))),
                }
            }
        }
        Ok(())
    }

    fn replacement(
        &mut self,
        folder: &str,
        by: &str,
        list: &[Value],
    ) -> Result<(), KustomizeError> {
        for entry in list {
            let Some(file) = entry["path"].as_str() else {
                self.replacements.push((by.to_owned(), entry.clone()));
                continue;
            };
            let path = place(folder, file);
            for document in self.documents(&path, by)? {
                let entries = match document {
                    Value::Array(entries) => entries,
                    entry => vec![entry],
                };
                let entries = entries.into_iter().map(|entry| (path.clone(), entry));
                self.replacements.extend(entries);
            }
        }
        Ok(())
    }

    /// Reads where names are that kustomize does not know.
    fn configurations(
        &mut self,
        folder: &str,
        by: &str,
        list: &[Value],
    ) -> Result<(), KustomizeError> {
        for file in list.iter().filter_map(Value::as_str) {
            let path = place(folder, file);
            for document in self.documents(&path, by)? {
                for (key, value) in document.as_object().into_iter().flatten() {
                    let read = Vec::<NameReference>::deserialize(value);
                    match (key.as_str(), read) {
                        ("nameReference", Ok(references)) => self.references.extend(references),
                        _ => return Err(unknown(&path, key)),
                    }
                }
            }
        }
        Ok(())
    }

    fn patch(&mut self, patches: &[(String, Value)]) -> Result<(), KustomizeError> {
        for (by, patch) in patches {
            let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
            let (path, documents) = match patch["path"].as_str() {
                Some(file) => {
                    let path = place(folder, file);
                    let documents = self.documents(&path, by)?;
                    (path, documents)
                }
                None => (by.clone(), documents(by, text_of(patch, "patch"))?),
            };
            let selector = Selector::read(&patch["target"], by)?;
            for document in &documents {
                let Value::Array(operations) = document else {
                    return Err(unknown(&path, "a strategic merge patch"));
                };
                let chosen = self.objects.iter_mut().filter(|it| selector.fits(it));
                for object in chosen {
                    for operation in operations {
                        let applied = json_patch::apply(&mut object.value, operation);
                        applied.map_err(|reason| KustomizeError::Unreadable {
                            path: path.clone(),
                            reason,
                        })?;
                    }
                }
            }
        }
        Ok(())
    }

    /// Marks the names of all objects and the references to them, and the operator's namespace.
    fn names(&mut self, own_namespace: &str) {
        let is_own = |name: &str| name == objects::NAMESPACE || name == own_namespace;
        references::mark(
            &mut self.objects,
            &self.references,
            self.sets_namespace,
            is_own,
        );
        for object in &mut self.objects {
            let is_set = self.sets_namespace || is_own(&object.namespace);
            let name = match object.kind() {
                "CustomResourceDefinition" => continue,
                "Namespace" if is_own(&object.name) => mark::NAMESPACE.to_owned(),
                "Namespace" => continue,
                _ => mark::name(&object.name),
            };
            let metadata = &mut object.value["metadata"];
            metadata["name"] = name.into();
            if is_set && !object.namespace.is_empty() {
                metadata["namespace"] = mark::NAMESPACE.into();
            }
        }
    }

    /// The managers of each release have a Lease of their own.
    fn lease(&mut self, project: &Project) {
        let lease = project.leader_election_id.to_string();
        let prefix = format!("{}-", project.project_name);
        let marked = mark::name(lease.strip_prefix(&prefix).unwrap_or(&lease));
        for object in &mut self.objects {
            let Some(containers) = object.value.pointer_mut(replacement::CONTAINERS) else {
                continue;
            };
            let containers = containers.as_array_mut().into_iter().flatten();
            for variable in containers.flat_map(|it| replacement::items(it, "env")) {
                if variable["value"] == lease.as_str() {
                    variable["value"] = marked.clone().into();
                }
            }
        }
    }

    /// Adds the labels of the kustomization, and what it says about images.
    fn finish(&mut self) {
        for object in &mut self.objects {
            for (key, value) in &self.labels {
                object.value["metadata"]["labels"][key] = value.clone();
            }
            for image in &self.images {
                replacement::image(&mut object.value, image);
            }
        }
    }

    fn documents(&self, path: &str, by: &str) -> Result<Vec<Value>, KustomizeError> {
        documents(path, self.file(path, by)?)
    }

    fn file(&self, path: &str, by: &str) -> Result<&'a str, KustomizeError> {
        self.tree.text(path).ok_or_else(|| KustomizeError::Missing {
            path: path.to_owned(),
            by: by.to_owned(),
        })
    }
}

/// The documents of a YAML text.
pub fn documents(path: &str, text: &str) -> Result<Vec<Value>, KustomizeError> {
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    let documents: Result<Vec<Value>, _> = documents.collect();
    let mut documents = documents.map_err(|error| KustomizeError::Unreadable {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    documents.retain(|document| !document.is_null());
    Ok(documents)
}

pub fn unknown(path: &str, what: &str) -> KustomizeError {
    KustomizeError::Unknown {
        path: path.to_owned(),
        what: what.to_owned(),
    }
}

/// The path of a file that a kustomization in `folder` names.
fn place(folder: &str, file: &str) -> String {
    let mut parts: Vec<&str> = folder.split('/').collect();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    parts.join("/")
}
