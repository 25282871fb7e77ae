//! The files of the new project whose text comes from the Go project.

use std::collections::BTreeMap;

use serde::Deserialize;
use serde_json::Value;

use crate::import::go::GoProject;
use crate::import::go::reconcilers::Reconciler;
use crate::import::types::Imported;
use crate::layout::{self, Place};
use crate::names::Version;
use crate::project::{Admission, Project, Resource};
use crate::scaffold;
use crate::yaml;

use super::carried::Markers;
use super::deployed::Deployed;
use super::model::Model;
use super::remaining::{Remaining, Step};

/// The folder of the samples, in both projects.
const SAMPLES: &str = layout::SAMPLES;

/// The text of each file that the Go project determines, by path.
pub fn all(
    go: &GoProject<'_>,
    model: &Model,
    kinds: &[Imported],
    markers: &Markers,
    reconcilers: &[Reconciler<'_, '_>],
    deployed: &Deployed,
    remaining: &mut Remaining,
) -> BTreeMap<String, String> {
    let project = &model.project;
    let mut texts = BTreeMap::new();
    for (key, at) in &model.controllers {
        let (gvk, name) = key;
        let Some(resource) = project.resources.iter().find(|it| it.gvk() == *gvk) else {
            continue;
        };
        let reconciler = &reconcilers[*at];
        let imported = markers.imported(key, reconciler);
        texts.extend(scaffold::imported_controller(
            project,
            resource,
            name.as_ref(),
            &imported,
        ));
        let path = Place::of(project, resource).controller(name.as_ref());
        remaining.add(Step::Controllers, translate(reconciler, &path));
    }
    let scaffolded: BTreeMap<String, String> = scaffold::of(project)
        .into_iter()
        .filter_map(|part| Some((part.path.clone(), part.text(project)?)))
        .collect();
    for resource in &project.resources {
        let webhooks = resource.webhooks();
        let place = Place::of(project, resource);
        for admission in Admission::ALL.into_iter().filter(|it| webhooks.has(*it)) {
            let files = scaffold::admission_files(project, resource, admission);
            let Some(path) = files.first().map(|part| part.path.clone()) else {
                continue;
            };
            let text = scaffolded.get(&path);
            let text = text.and_then(|text| markers.in_webhook(resource, admission, text));
            let Some(text) = text else { continue };
            let go_markers = &markers.of_webhooks[&(resource.gvk(), admission.option())];
            let go_place = go_markers.first().map_or("", |(_, place)| place);
            remaining.add(
                Step::Webhooks,
                format!("Translate the {admission} webhook of `{}` ({go_place}) in `{path}`: until then it admits every object as it is", resource.gvk()),
            );
            texts.insert(path, text);
        }
        texts.extend(converters(project, resource, kinds, remaining));
        for imported in kinds.iter().filter(|it| is_that(resource, it)) {
            let types = scaffold::with_license(project, imported.types.clone());
            texts.insert(place.types(), types);
            let sample = sample(go, resource, imported, remaining);
            texts.insert(place.sample(), sample.clone());
            texts.insert(place.stored_sample(), sample);
        }
    }
    other_samples(go, model, remaining);
    if let Some(text) = scaffold_lib(project).and_then(|text| markers.in_lib(&text)) {
        texts.insert(layout::LIB.to_owned(), text);
    }
    texts.extend(deployed.texts(project));
    texts
}

/// The text of each converter of a hub.
fn converters(
    project: &Project,
    resource: &Resource,
    kinds: &[Imported],
    remaining: &mut Remaining,
) -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    for spoke in &resource.webhooks().spoke {
        let base = |version: &Version| {
            let mut kind = kinds.iter().filter(|it| it.version == version.as_str());
            let imported = kind.find(|it| {
                it.group == resource.qualified_group() && it.kind == resource.kind.as_str()
            });
            let mut sample = imported.map(|it| it.sample.clone()).unwrap_or_default();
            if let Some(fields) = sample.as_object_mut() {
                fields
                    .retain(|name, _| !["apiVersion", "kind", "metadata"].contains(&name.as_str()));
            }
            sample.to_string()
        };
        let bases = [base(&resource.version), base(spoke)];
        let bases = [bases[0].as_str(), bases[1].as_str()];
        texts.extend(scaffold::imported_converter(
            project, resource, spoke, bases,
        ));
        remaining.add(
            Step::Webhooks,
            format!("Translate the conversion of `{}` from and to `{spoke}`: until then, what the two versions have in different forms is kept only in an annotation", resource.gvk()),
        );
    }
    texts
}

/// `src/lib.rs` of a new project.
fn scaffold_lib(project: &crate::project::Project) -> Option<String> {
    let mut texts = crate::commands::initial::texts(project).into_iter();
    texts
        .find(|(path, _)| path == layout::LIB)
        .map(|(_, text)| text)
}

/// What to translate for a controller.
fn translate(reconciler: &Reconciler<'_, '_>, path: &str) -> String {
    let (file, line) = (reconciler.file.path, reconciler.function.line);
    let mut text = format!(
        "Translate `{}` ({file}:{line}) into `{path}`",
        reconciler.full_name()
    );
    if !reconciler.calls.is_empty() {
        text += &format!(
            "; it hears of others by `{}`",
            reconciler.calls.join("`, `")
        );
    }
    let methods = reconciler
        .methods
        .iter()
        .filter(|(name, _)| *name != "SetupWithManager");
    let methods: Vec<String> = methods
        .map(|(name, line)| format!("`{name}` (line {line})"))
        .collect();
    if !methods.is_empty() {
        text += &format!("; its other methods are {}", methods.join(", "));
    }
    text
}

/// The sample of a version of a kind: that of the Go project, if it has a spec, or else one made from the schema.
fn sample(
    go: &GoProject<'_>,
    resource: &Resource,
    imported: &Imported,
    remaining: &mut Remaining,
) -> String {
    let (group, version) = (resource.qualified_group(), resource.version.as_str());
    let kind = resource.kind.as_str();
    let api_version = format!("{group}/{version}");
    for (path, text) in go
        .files
        .iter()
        .filter(|(path, _)| path.starts_with(SAMPLES))
    {
        for document in text.split("\n---") {
            let Ok(value) = serde_yaml::from_str::<Value>(document.trim_start_matches("---"))
            else {
                continue;
            };
            let is_it = value["apiVersion"] == *api_version && value["kind"] == *kind;
            if !is_it || value.get("spec").is_none_or(Value::is_null) {
                continue;
            }
            if value["metadata"].get("namespace").is_none() {
                return document.trim_start_matches("---").trim().to_owned() + "\n";
            }
            let mut value = value;
            if let Some(metadata) = value["metadata"].as_object_mut() {
                metadata.remove("namespace");
            }
            remaining.add(
                Step::Types,
                format!("The sample in `{path}` names a namespace, which the new one does not: the tests create it in their own"),
            );
            return yaml::write(&value);
        }
    }
    remaining.add(
        Step::Types,
        format!("The project in Go has no sample of `{}` with a spec: put values that a user would write into the new one, which has only what the schema requires", resource.gvk()),
    );
    yaml::write(&imported.sample)
}

/// Whether these are the types of that resource.
fn is_that(resource: &Resource, imported: &Imported) -> bool {
    resource.is_own()
        && resource.qualified_group() == imported.group
        && resource.version.as_str() == imported.version
        && resource.kind.as_str() == imported.kind
}

/// Tells which samples are not carried over.
fn other_samples(go: &GoProject<'_>, model: &Model, remaining: &mut Remaining) {
    let mut others = Vec::new();
    for (path, text) in go
        .files
        .iter()
        .filter(|(path, _)| path.starts_with(SAMPLES))
    {
        let mut seen = 0;
        for document in serde_yaml::Deserializer::from_str(text) {
            let Ok(value) = Value::deserialize(document) else {
                others.push(path.as_str());
                break;
            };
            let api_version = value["apiVersion"].as_str().unwrap_or_default();
            let (group, version) = api_version.split_once('/').unwrap_or(("", api_version));
            let kind = value["kind"].as_str().unwrap_or_default();
            let is_kustomization = path.ends_with("kustomization.yaml") || value.is_null();
            let resource = model.find(group, version, kind).filter(Resource::is_own);
            let is_first = resource.is_some_and(|it| first_sample(go, &it) == Some(path));
            if !is_kustomization && (!is_first || seen > 0) {
                others.push(path.as_str());
                break;
            }
            seen += usize::from(!is_kustomization);
        }
    }
    if !others.is_empty() {
        remaining.add(
            Step::Types,
            format!("These samples are not carried over, or only their first object: copy what you need of `{}`", others.join("`, `")),
        );
    }
}

/// The first file with a sample of that type.
fn first_sample<'a>(go: &GoProject<'a>, resource: &Resource) -> Option<&'a String> {
    let api_version = format!("{}/{}", resource.qualified_group(), resource.version);
    let mut samples = go
        .files
        .iter()
        .filter(|(path, _)| path.starts_with(SAMPLES));
    let found = samples.find(|(_, text)| {
        text.split("\n---").any(|document| {
            let value = serde_yaml::from_str::<Value>(document.trim_start_matches("---"));
            value.is_ok_and(|value| {
                value["apiVersion"] == *api_version && value["kind"] == *resource.kind.as_str()
            })
        })
    });
    found.map(|(path, _)| path)
}
