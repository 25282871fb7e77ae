//! kustomize's `configMapGenerator`, as far as kbr understands it: ConfigMaps of files, with fixed names. Pure.

use serde_json::{Map, Value, json};

use super::build::Object;
use super::entries::{unknown, unreadable};
use super::error::KustomizeError;
use crate::manifests::json::text_of;

/// The ConfigMaps of the entries in the kustomization `by`; `read` returns the text of a file that it names.
pub fn generated<'a>(
    entries: &[Value],
    by: &str,
    read: impl Fn(&str) -> Result<&'a str, KustomizeError>,
) -> Result<Vec<Object>, KustomizeError> {
    let entries = entries.iter();
    entries.map(|entry| config_map(entry, by, &read)).collect()
}

fn config_map<'a>(
    entry: &Value,
    by: &str,
    read: &impl Fn(&str) -> Result<&'a str, KustomizeError>,
) -> Result<Object, KustomizeError> {
    let mut data = Map::new();
    for (key, value) in entry.as_object().into_iter().flatten() {
        match (key.as_str(), value) {
            ("name" | "namespace", Value::String(_)) => {}
            ("files", Value::Array(files)) => {
                for file in files {
                    let wrong = || unreadable(by, "`files` is not a list of paths");
                    let file = file.as_str().ok_or_else(wrong)?;
                    let base = file.rsplit('/').next().unwrap_or(file);
                    let (key, file) = file.split_once('=').unwrap_or((base, file));
                    data.insert(key.to_owned(), read(file)?.into());
                }
            }
            ("options", Value::Object(options)) => {
                let known = ["annotations", "disableNameSuffixHash", "labels"];
                if let Some(other) = options.keys().find(|it| !known.contains(&it.as_str())) {
                    return Err(unknown(by, &format!("configMapGenerator.options.{other}")));
                }
            }
            _ => return Err(unknown(by, &format!("configMapGenerator.{key}"))),
        }
    }
    let options = &entry["options"];
    // The hash would change with the content, and with it the name.
    if options["disableNameSuffixHash"] != true {
        let what = "configMapGenerator without disableNameSuffixHash";
        return Err(unknown(by, what));
    }
    let [name, namespace] = ["name", "namespace"].map(|key| text_of(entry, key).to_owned());
    let mut metadata = Map::from_iter([("name".to_owned(), name.clone().into())]);
    let given = [
        ("namespace", &entry["namespace"]),
        ("labels", &options["labels"]),
        ("annotations", &options["annotations"]),
    ];
    let given = given.into_iter().filter(|(_, value)| !value.is_null());
    metadata.extend(given.map(|(key, value)| (key.to_owned(), value.clone())));
    let folder = by.rsplit_once('/').map_or("", |(folder, _)| folder);
    Ok(Object {
        file: format!("{folder}/{name}.yaml"),
        name,
        namespace,
        value: json!({
            "apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "data": data,
        }),
    })
}
