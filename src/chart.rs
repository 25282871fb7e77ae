//! A Helm chart from `config/`: the same objects, with values for what its users may change.
//!
//! [`kustomize`](crate::kustomize) has the objects of `config/default`, with marks for names and the namespace. [`convert`] makes the objects templates, and [`values`] what they
//! read; [`about`] is `Chart.yaml`. There is one template for each file of `config/` with an object that is deployed,
//! at the same path. The CRDs are templates too, because Helm never updates those in `crds/`. Pure.

mod about;
mod convert;
mod error;
mod manager;
#[cfg(test)]
mod tests;
mod text;
mod values;

use std::collections::{BTreeMap, BTreeSet};

pub(crate) use error::ChartError;

use crate::kustomize::{Build, Object, metrics};
use crate::layout;
use crate::manifests::crd::size::{SECRET, release};
use crate::manifests::json::text_of;
use crate::project::Project;
use crate::templates::CHART;
use crate::tree::Tree;

/// In the templates of the chart that are the same for every project, where the project's name belongs, and the names of
/// its CRDs, with commas between them.
const PROJECT: &str = "PROJECT";
const RESOURCES: &str = "RESOURCES";

/// A chart.
#[derive(Debug)]
pub(crate) struct Made {
    /// Path and text of each file.
    pub(crate) files: BTreeMap<String, String>,
    pub(crate) warnings: Vec<String>,
}

pub(crate) fn files(project: &Project, tree: &Tree, mut build: Build) -> Result<Made, ChartError> {
    let name = project.project_name.as_str();
    if let Some(object) = own_kind(&build.objects) {
        return Err(ChartError::OwnKind {
            path: object.file.clone(),
            kind: object.kind().to_owned(),
        });
    }
    let warnings = metrics(&mut build.objects)?;
    let settings = manager::convert(&mut build.objects, name)?;
    let crds = crds(&build.objects).map(|crd| text_of(&crd.value, "/metadata/name"));
    let resources = crds.collect::<Vec<_>>().join(",");
    let converted = convert::templates(build.objects, name);
    let manifest: Vec<(String, String)> = converted.files.into_iter().collect();
    let size = release(&manifest);
    if size > SECRET {
        return Err(ChartError::TooLarge {
            size,
            limit: SECRET,
        });
    }
    let values = values::all(&settings, &converted.used, &build.enabled);
    let about = about::chart(project, tree, &settings)?;
    let of_kbr = CHART.map(|(path, text)| {
        let text = text.replace(PROJECT, name).replace(RESOURCES, &resources);
        (path.to_owned(), text)
    });
    let made = [
        ("Chart.yaml", about),
        ("values.yaml", values::text(&values)),
        ("values.schema.json", values::schema(&values)),
    ];
    let made = made.map(|(path, text)| (path.to_owned(), text));
    let files = manifest.into_iter().chain(of_kbr).chain(made);
    let files = files.map(|(path, text)| (format!("{}{path}", layout::CHART), text));
    Ok(Made {
        files: files.collect(),
        warnings,
    })
}

fn crds(objects: &[Object]) -> impl Iterator<Item = &Object> {
    let all = objects.iter();
    all.filter(|it| it.kind() == "CustomResourceDefinition")
}

/// An object of a kind whose CRD is an object too: Helm refuses kinds that the API server does not know yet.
fn own_kind(objects: &[Object]) -> Option<&Object> {
    let kinds: BTreeSet<(&str, &str)> = crds(objects)
        .map(|crd| {
            (
                text_of(&crd.value, "/spec/group"),
                text_of(&crd.value, "/spec/names/kind"),
            )
        })
        .collect();
    let mut objects = objects.iter();
    objects.find(|object| kinds.contains(&(object.group(), object.kind())))
}
