//! The files of the new project whose text comes from the Go project.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::commands::error::Result;
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
pub(super) fn all(
    go: &GoProject<'_>,
    model: &Model,
    kinds: &[Imported],
    markers: &Markers,
    reconcilers: &[Reconciler<'_, '_>],
    deployed: &Deployed,
    remaining: &mut Remaining,
) -> Result<BTreeMap<String, String>> {
    let project = &model.project;
    let samples = samples(go)?;
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
            let sample = sample(&samples, resource, imported, remaining);
            texts.insert(place.sample(), sample.clone());
            texts.insert(place.stored_sample(), sample);
        }
    }
    other_samples(&samples, model, remaining);
    if let Some(text) = scaffold_lib(project).and_then(|text| markers.in_lib(&text)) {
        texts.insert(layout::LIB.to_owned(), text);
    }
    texts.extend(deployed.texts(project));
    Ok(texts)
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
    let mut texts = crate::commands::init_files::texts(project).into_iter();
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
            "; it is triggered by other objects through `{}`",
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

/// An object in a sample of the Go project.
struct Sample<'a> {
    path: &'a str,
    /// Its document.
    text: &'a str,
    value: Value,
}

impl Sample<'_> {
    fn is_of(&self, group: &str, version: &str, kind: &str) -> bool {
        self.value["apiVersion"] == format!("{group}/{version}") && self.value["kind"] == kind
    }
}

/// The samples of the Go project.
fn samples<'a>(go: &'a GoProject<'_>) -> Result<Vec<Sample<'a>>> {
    let is_sample = |path: &str| path.starts_with(SAMPLES) && !path.ends_with("kustomization.yaml");
    let mut samples = Vec::new();
    for (path, text) in go.files.iter().filter(|(path, _)| is_sample(path)) {
        for document in yaml::documents(text) {
            let value = document.read(path)?;
            let text = document.text;
            samples.push(Sample { path, text, value });
        }
    }
    samples.retain(|sample| !sample.value.is_null());
    Ok(samples)
}

/// The sample of a version of a kind: that of the Go project, if it has a spec, or else one made from the schema.
fn sample(
    samples: &[Sample<'_>],
    resource: &Resource,
    imported: &Imported,
    remaining: &mut Remaining,
) -> String {
    let (group, version) = (resource.qualified_group(), resource.version.as_str());
    let has_spec = |value: &Value| value.get("spec").is_some_and(|spec| !spec.is_null());
    let found = samples.iter().find(|sample| {
        sample.is_of(&group, version, resource.kind.as_str()) && has_spec(&sample.value)
    });
    let Some(found) = found else {
        remaining.add(
            Step::Types,
            format!("The project in Go has no sample of `{}` with a spec: put values that a user would write into the new one, which has only what the schema requires", resource.gvk()),
        );
        return yaml::write(&imported.sample);
    };
    if found.value["metadata"].get("namespace").is_none() {
        return found.text.trim().to_owned() + "\n";
    }
    let mut value = found.value.clone();
    if let Some(metadata) = value["metadata"].as_object_mut() {
        metadata.shift_remove("namespace");
    }
    let path = found.path;
    remaining.add(
        Step::Types,
        format!("The sample in `{path}` names a namespace, which the new one does not: the tests create it in their own"),
    );
    yaml::write(&value)
}

/// Whether these are the types of that resource.
fn is_that(resource: &Resource, imported: &Imported) -> bool {
    resource.is_own()
        && resource.qualified_group() == imported.group
        && resource.version.as_str() == imported.version
        && resource.kind.as_str() == imported.kind
}

/// Tells which samples are not carried over: only the first object of a kind of the project is.
fn other_samples(samples: &[Sample<'_>], model: &Model, remaining: &mut Remaining) {
    let is_carried = |sample: &Sample<'_>| {
        let text = |key: &str| sample.value[key].as_str().unwrap_or_default();
        let (version, kind) = (text("apiVersion"), text("kind"));
        let (group, version) = version.split_once('/').unwrap_or(("", version));
        let resource = model.find(group, version, kind).filter(Resource::is_own);
        let mut same = samples.iter().filter(|it| it.is_of(group, version, kind));
        let is_only = |it: &Sample<'_>| it.path != sample.path || std::ptr::eq(it, sample);
        resource.is_some()
            && same.next().is_some_and(|first| std::ptr::eq(first, sample))
            && samples.iter().all(is_only)
    };
    let mut others: Vec<&str> = samples
        .iter()
        .filter(|sample| !is_carried(sample))
        .map(|sample| sample.path)
        .collect();
    others.dedup();
    if !others.is_empty() {
        remaining.add(
            Step::Types,
            format!("These samples are not carried over, or only their first object: copy what you need of `{}`", others.join("`, `")),
        );
    }
}
