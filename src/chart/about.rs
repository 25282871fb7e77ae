//! `Chart.yaml`, with what Artifact Hub shows. Pure.

use serde_json::{Map, Value, json};

use super::error::ChartError;
use super::manager::Settings;
use crate::cargo_toml::Manifest;
use crate::kustomize::{objects, samples};
use crate::layout;
use crate::manifests::json::{list_of, text_of};
use crate::project::{License, Project};
use crate::tree::Tree;
use crate::yaml::{self, YamlError};

/// Version of the chart if `Cargo.toml` has none.
const FIRST: &str = "0.1.0";

pub(super) fn chart(
    project: &Project,
    tree: &Tree,
    settings: &Settings,
) -> Result<String, ChartError> {
    let name = project.project_name.as_str();
    let manifest = tree.entry(layout::MANIFEST);
    let manifest = manifest.map(|it| Manifest::read(layout::MANIFEST, it.text()));
    let version = manifest
        .transpose()?
        .and_then(|manifest| manifest.version());
    let mut chart = json!({
        "apiVersion": "v2",
        "name": name,
        "description": format!("The operator {name}"),
        "type": "application",
        "version": version.as_deref().unwrap_or(FIRST),
        // Since then, pods can sleep before they stop.
        "kubeVersion": ">=1.30.0-0",
        "appVersion": match settings.tag.as_str() {
            "" => "latest",
            tag => tag,
        },
    });
    if let Some(repo) = &project.repo {
        chart["home"] = repo.to_string().into();
        chart["sources"] = json!([repo.to_string()]);
    }
    if let Some(owner) = &project.owner {
        chart["maintainers"] = json!([{ "name": owner.to_string() }]);
    }
    chart["annotations"] = annotations(project, tree, settings)?.into();
    Ok(yaml::write(&chart))
}

fn annotations(
    project: &Project,
    tree: &Tree,
    settings: &Settings,
) -> Result<Map<String, Value>, YamlError> {
    let crds = objects(tree, layout::CRD_BASES)?;
    let described: Vec<Value> = crds.iter().flat_map(described).collect();
    let examples = samples(tree, &crds)?;
    let image = match settings.tag.as_str() {
        "" => settings.repository.clone(),
        tag => format!("{}:{tag}", settings.repository),
    };
    let images = json!([{ "name": "manager", "image": image }]);
    let license = (project.license == License::Apache2).then(|| "Apache-2.0".to_owned());
    let yaml = |list: Vec<Value>| (!list.is_empty()).then(|| yaml::write(&list));
    let all = [
        ("crds", yaml(described)),
        ("crdsExamples", yaml(examples)),
        ("images", Some(yaml::write(&images))),
        ("license", license),
        ("operator", Some("true".to_owned())),
    ];
    let all = all.into_iter();
    let all = all.filter_map(|(key, text)| Some((format!("artifacthub.io/{key}"), text?.into())));
    Ok(all.collect())
}

/// What Artifact Hub shows of each served version of a CRD.
fn described(crd: &Value) -> Vec<Value> {
    let kind = text_of(crd, "/spec/names/kind");
    let versions = list_of(crd, "/spec/versions").iter();
    let versions = versions.filter(|version| version["served"] == true);
    let described = versions.map(|version| {
        let description = text_of(version, "/schema/openAPIV3Schema/description");
        let description = match description {
            "" => kind,
            text => text,
        };
        json!({
            "kind": kind,
            "version": version["name"],
            "name": crd["metadata"]["name"],
            "displayName": kind,
            "description": description,
        })
    });
    described.collect()
}
