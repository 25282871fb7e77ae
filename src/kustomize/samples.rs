//! The samples in `config/samples`. Pure.

use serde::Deserialize;
use serde_json::Value;

use crate::layout;
use crate::manifests::json::{is_true, list_of, text_of};
use crate::tree::Tree;

/// The samples of versions that these CRDs serve, in the order of their files.
pub fn samples(tree: &Tree, crds: &[Value]) -> Vec<Value> {
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
    let files = tree.files();
    let files = files.filter(|(path, _)| path.starts_with(layout::SAMPLES));
    let mut samples: Vec<Value> = files.flat_map(|(_, text)| lenient(text)).collect();
    samples.retain(is_own);
    samples
}

/// The documents of a text that can be read.
pub fn lenient(text: &str) -> Vec<Value> {
    let documents = serde_yaml::Deserializer::from_str(text).map(Value::deserialize);
    documents.filter_map(Result::ok).collect()
}
