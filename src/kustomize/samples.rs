//! The samples in `config/samples`. Pure.

use serde_json::Value;

use crate::layout;
use crate::manifests::json::{is_true, list_of, text_of};
use crate::tree::{self, Tree};
use crate::yaml::{self, YamlError};

/// The samples of versions that these CRDs serve, in the order of their files.
pub(crate) fn samples(tree: &Tree, crds: &[Value]) -> Result<Vec<Value>, YamlError> {
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
pub(crate) fn objects(tree: &Tree, folder: &str) -> Result<Vec<Value>, YamlError> {
    let mut objects = Vec::new();
    for (path, text) in files(tree, folder)? {
        objects.extend(yaml::read(path, text)?);
    }
    Ok(objects)
}

/// The files of a folder that may have objects, which must all be text files.
pub(crate) fn files<'a>(
    tree: &'a Tree,
    folder: &str,
) -> Result<Vec<(&'a str, &'a str)>, YamlError> {
    let is_wanted = |path: &str| path.starts_with(folder) && tree::is_object(path);
    let entries = tree.entries().filter(|(path, _)| is_wanted(path));
    let read = entries.map(|(path, entry)| {
        let text = entry.text().map_err(|why| YamlError::unread(path, why))?;
        Ok((path, text))
    });
    read.collect()
}
