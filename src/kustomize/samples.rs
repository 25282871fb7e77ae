//! The samples in `config/samples`. Pure.

use serde_json::Value;

use crate::layout;
use crate::manifests::json::{is_true, list_of, text_of};
use crate::tree::Tree;
use crate::yaml::{self, Problem, YamlError};

/// The samples of versions that these CRDs serve, in the order of their files.
pub fn samples(tree: &Tree, crds: &[Value]) -> Result<Vec<Value>, YamlError> {
    let is_own = |object: &Value| {
        let version = text_of(object, "apiVersion");
        let Some((group, version)) = version.split_once('/') else {
            return false;
        };
        let serves = |crd: &Value| {
            let mut versions = list_of(crd, "/spec/versions").iter();
            versions.any(|it| it["name"] == version && is_true(it, "served"))
        };
        let mut crds = crds.iter();
        crds.any(|crd| {
            crd["spec"]["group"] == group
                && crd["spec"]["names"]["kind"] == object["kind"]
                && serves(crd)
        })
    };
    let mut samples = objects(tree, layout::SAMPLES)?;
    samples.retain(is_own);
    Ok(samples)
}

/// The objects in the files of a folder.
pub fn objects(tree: &Tree, folder: &str) -> Result<Vec<Value>, YamlError> {
    let is_yaml = |path: &str| path.starts_with(folder) && path.ends_with(".yaml");
    if let Some((path, why)) = tree.unread().find(|(path, _)| is_yaml(path)) {
        return Err(YamlError {
            path: path.to_owned(),
            line: 1,
            column: 1,
            problem: Problem::Unread(why),
        });
    }
    let mut objects = Vec::new();
    for (path, text) in tree.files().filter(|(path, _)| is_yaml(path)) {
        objects.extend(yaml::read(path, text)?);
    }
    Ok(objects)
}
