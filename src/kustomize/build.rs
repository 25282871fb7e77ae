//! The objects of `config/default`, as kustomize builds them, with marks for names and the namespace. Pure.
//!
//! What kbr emits is understood, and what its users are likely to add; everything else is refused, so that
//! nothing is made from only a part of `config/`.

use std::collections::BTreeSet;

use serde::Deserialize;
use serde_json::{Map, Value};

use super::entries::{maps, place, texts, unknown, unreadable};
use super::error::KustomizeError;
use super::references::{self, NameReference};
use super::replacement::{self, Selector};
use super::{config_map, json_patch, mark};
use crate::layout;
use crate::manifests::json::text_of;
use crate::names::objects;
use crate::project::Project;
use crate::tree::{Entry, Tree};
use crate::yaml::{self, YamlError};

/// What a user adds to `config/default` by a line, and the user of a chart by a value.
pub const OPTIONAL: [&str; 2] = [layout::PROMETHEUS, layout::GRAFANA];

/// How deep kustomizations may contain each other.
const DEEPEST: usize = 64;

const NO_OBJECT: &str = "it leaves something that is no object of Kubernetes";

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
    /// Every file and folder that is a part of it.
    seen: BTreeSet<String>,
    /// The folders whose kustomizations are being read, the innermost last.
    open: Vec<String>,
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
            open: Vec::new(),
        };
        build.root()?;
        let own_namespace = project.project_name.namespace();
        build.names(&own_namespace);
        build.lease(project);
        references::mark_granted(&mut build.objects, project.project_name.as_str());
        let replacements = std::mem::take(&mut build.replacements);
        for (path, entry) in &replacements {
            replacement::apply(entry, path, &mut build.objects)?;
            if !build.objects.iter().all(|it| is_object(&it.value)) {
                return Err(unreadable(path, NO_OBJECT));
            }
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
        let patches = self.kustomization(layout::DEFAULT, "PROJECT")?;
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
        let documents = self.documents(&path, by)?;
        let [Value::Object(keys)] = &documents[..] else {
            return Err(unreadable(&path, "it is not one mapping"));
        };
        self.seen.insert(folder.to_owned());
        self.open.push(folder.to_owned());
        if self.open.len() > DEEPEST {
            let reason =
                format!("kustomizations contain each other more than {DEEPEST} levels deep");
            return Err(unreadable(&path, reason));
        }
        let is_root = path == layout::DEFAULT_KUSTOMIZATION;
        let mut patches = Vec::new();
        for key in ["resources", "components"] {
            for item in texts(keys, key, &path)?.iter().filter_map(Value::as_str) {
                let place = place(&path, item)?;
                if self.open.contains(&place) {
                    let reason = format!(
                        "`{item}` in `{key}` is a folder that contains this file's: a cycle"
                    );
                    return Err(unreadable(&path, reason));
                }
                if !self.seen.insert(place.clone()) {
                    let reason =
                        format!("`{item}` in `{key}` is a part of `config/default` already");
                    return Err(unreadable(&path, reason));
                }
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
        self.open.pop();
        for (key, value) in keys {
            let maps = || maps(keys, key, &path);
            match key.as_str() {
                "apiVersion" | "kind" | "resources" | "components" => {}
                "namespace" if is_root => self.sets_namespace = true,
                "namePrefix" if is_root => {}
                "labels" if is_root => self.labels(&path, maps()?)?,
                "patches" => patches.extend(maps()?.iter().map(|it| (path.clone(), it.clone()))),
                "replacements" => self.replacement(&path, maps()?)?,
                "images" => self.images.extend(maps()?.iter().cloned()),
                "configMapGenerator" => {
                    let file = |name: &str| self.file(&place(&path, name)?, &path);
                    let made = config_map::generated(maps()?, &path, file)?;
                    self.objects.extend(made);
                }
                "configurations" => self.configurations(&path, texts(keys, key, &path)?)?,
                _ if value.as_array().is_some_and(Vec::is_empty) => {}
                _ => return Err(unknown(&path, key)),
            }
        }
        Ok(patches)
    }

    fn resource(&mut self, path: &str, by: &str) -> Result<(), KustomizeError> {
        for value in self.documents(path, by)? {
            if !is_object(&value) {
                return Err(unreadable(
                    path,
                    "it has something that is no object of Kubernetes",
                ));
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

    fn replacement(&mut self, by: &str, list: &[Value]) -> Result<(), KustomizeError> {
        for entry in list {
            let Some(file) = entry["path"].as_str() else {
                self.replacements.push((by.to_owned(), entry.clone()));
                continue;
            };
            let path = place(by, file)?;
            for document in self.documents(&path, by)? {
                let entries = match document {
                    Value::Array(entries) => entries,
                    entry => vec![entry],
                };
                if !entries.iter().all(Value::is_object) {
                    return Err(unreadable(&path, "it is not a list of mappings"));
                }
                let entries = entries.into_iter().map(|entry| (path.clone(), entry));
                self.replacements.extend(entries);
            }
        }
        Ok(())
    }

    /// Reads where names are that kustomize does not know.
    fn configurations(&mut self, by: &str, list: &[Value]) -> Result<(), KustomizeError> {
        for file in list.iter().filter_map(Value::as_str) {
            let path = place(by, file)?;
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
            let (path, documents) = match (&patch["path"], &patch["patch"]) {
                (Value::String(file), Value::Null) => {
                    let path = place(by, file)?;
                    let documents = self.documents(&path, by)?;
                    (path, documents)
                }
                (Value::Null, Value::String(text)) => {
                    let broken = |error: YamlError| {
                        unreadable(by, format!("an entry of `patches` {}", error.problem))
                    };
                    (by.clone(), yaml::read(by, text).map_err(broken)?)
                }
                _ => {
                    let reason =
                        "an entry of `patches` has neither a `path` nor a `patch`, or both";
                    return Err(unreadable(by, reason));
                }
            };
            let selector = Selector::read(&patch["target"], by)?;
            for document in &documents {
                let Value::Array(operations) = document else {
                    return Err(unknown(&path, "a strategic merge patch"));
                };
                if !patch["target"].is_object() {
                    return Err(unreadable(by, "an entry of `patches` has no `target`"));
                }
                let chosen = self.objects.iter_mut().filter(|it| selector.fits(it));
                for object in chosen {
                    for operation in operations {
                        let applied = json_patch::apply(&mut object.value, operation);
                        applied.map_err(|reason| unreadable(&path, reason))?;
                    }
                    if !is_object(&object.value) {
                        return Err(unreadable(&path, NO_OBJECT));
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
            let containers = replacement::containers(&mut object.value);
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
        Ok(yaml::read(path, self.file(path, by)?)?)
    }

    fn file(&self, path: &str, by: &str) -> Result<&'a str, KustomizeError> {
        let (path, by) = (path.to_owned(), by.to_owned());
        let what = match self.tree.entry(&path) {
            Some(Entry::File(text)) => return Ok(text),
            Some(Entry::Folder) => "is a folder",
            Some(Entry::Link) => "is a symbolic link, which kbr does not follow",
            Some(Entry::Opaque(why)) => why,
            None => return Err(KustomizeError::Missing { path, by }),
        };
        Err(KustomizeError::NoFile { path, what, by })
    }
}

/// Whether a value has the shape of an object, in the parts that kbr changes.
fn is_object(value: &Value) -> bool {
    let is_map = |pointer| value.pointer(pointer).is_none_or(Value::is_object);
    let places = ["", "/metadata/annotations", "/metadata/labels", "/spec"];
    value["metadata"].is_object() && places.into_iter().all(is_map)
}
