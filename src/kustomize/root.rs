//! The kustomization of `config/default`, with marks in place of the prefix, the suffix and the namespace. Pure.

use std::collections::BTreeSet;

use serde_json::{Map, Value, json};

use super::error::KustomizeError;
use super::{OPTIONAL, mark};
use crate::layout;
use crate::manifests::json::{list_of, text_of};
use crate::tree::{Entry, Tree};
use crate::yaml;

/// The label of the operator's Namespace.
const OWN: &str = "control-plane=controller-manager";

/// `config/default/kustomization.yaml`.
#[derive(Debug)]
pub(crate) struct Root {
    keys: Map<String, Value>,
}

impl Root {
    pub(crate) fn read(tree: &Tree) -> Result<Self, KustomizeError> {
        let path = layout::DEFAULT_KUSTOMIZATION;
        let what = match tree.entry(path) {
            Some(Entry::File(text)) => match &yaml::read(path, text)?[..] {
                [Value::Object(keys)] => return Ok(Self { keys: keys.clone() }),
                _ => "is not one mapping",
            },
            Some(Entry::Folder) => "is a folder",
            Some(Entry::Link) => "is a symbolic link, which kbr does not follow",
            Some(Entry::Opaque(why)) => why,
            None => "does not exist",
        };
        Err(KustomizeError::Root { path, what })
    }

    /// The folders of [`OPTIONAL`] that it lists.
    pub(crate) fn enabled(&self) -> BTreeSet<&'static str> {
        let keys = Value::Object(self.keys.clone());
        let listed = ["resources", "components"].map(|key| list_of(&keys, key).to_vec());
        let listed = listed.concat();
        let is_listed = |folder: &&str| {
            let path = relative(folder);
            listed
                .iter()
                .filter_map(Value::as_str)
                .any(|it| it.trim_end_matches('/') == path)
        };
        OPTIONAL.into_iter().filter(is_listed).collect()
    }

    /// The text with marks, and with `more` folders of `config/` in it.
    pub(crate) fn marked(&self, more: &[&str]) -> String {
        let mut keys = self.keys.clone();
        let [begin, end] = mark::NAME;
        let suffix = text_of(&Value::Object(keys.clone()), "nameSuffix").to_owned();
        keys.insert("namePrefix".to_owned(), begin.to_string().into());
        keys.insert("nameSuffix".to_owned(), format!("{end}{suffix}").into());
        match keys.get_mut("namespace") {
            Some(namespace) if namespace != "" => *namespace = mark::NAMESPACE.into(),
            // The objects have the name of the Namespace by a replacement.
            _ => {
                let rename = json!([{ "op": "replace", "path": "/metadata/name", "value": mark::NAMESPACE }]);
                let patch = json!({
                    "target": { "kind": "Namespace", "labelSelector": OWN },
                    "patch": rename.to_string(),
                    "options": { "allowNameChange": true },
                });
                append(&mut keys, "patches", [patch]);
            }
        }
        let folders = more.iter().map(|it| relative(it).into());
        append(&mut keys, "resources", folders);
        append(&mut keys, "buildMetadata", ["originAnnotations".into()]);
        keys.insert("sortOptions".to_owned(), json!({ "order": "fifo" }));
        yaml::write(&keys)
    }
}

/// The path of a folder of `config/` in the kustomization.
fn relative(folder: &str) -> String {
    format!(
        "../{}",
        folder.strip_prefix(layout::CONFIG).unwrap_or(folder)
    )
}

/// Appends to a list, which may not exist. kubectl refuses what is no list.
fn append(keys: &mut Map<String, Value>, key: &str, more: impl IntoIterator<Item = Value>) {
    if keys
        .get(key)
        .is_some_and(|it| !it.is_array() && !it.is_null())
    {
        return;
    }
    let mut list = list_of(&Value::Object(keys.clone()), key).to_vec();
    list.extend(more);
    if !list.is_empty() {
        keys.insert(key.to_owned(), list.into());
    }
}
