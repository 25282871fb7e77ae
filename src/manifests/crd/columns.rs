//! Printer columns whose path no field has: the API server accepts them, and `kubectl get` shows nothing. Pure.

use serde_json::Value;

use super::CrdDocument;
use crate::manifests::json::{fields_of, is_true, list_of, text_of};

/// A warning about each column of a CRD that is always empty.
pub(crate) fn empty_columns(crd: &CrdDocument) -> Vec<String> {
    let mut warnings = Vec::new();
    for version in list_of(&crd.document, "/spec/versions") {
        let schema = &version["schema"]["openAPIV3Schema"];
        for column in list_of(version, "additionalPrinterColumns") {
            let path = text_of(column, "jsonPath");
            if !may_exist(schema, path) {
                warnings.push(format!(
                    "in `{}` of `{}`, no field has the path `{path}`: `kubectl get` shows nothing in its column `{}`",
                    crd.kind,
                    text_of(version, "name"),
                    text_of(column, "name"),
                ));
            }
        }
    }
    warnings
}

/// Whether an object may have a value at that path, in the notation of kubectl's columns.
fn may_exist(root: &Value, path: &str) -> bool {
    // The API server has the schema of the metadata.
    if path == ".metadata" || path.starts_with(".metadata.") || path.starts_with(".metadata[") {
        return true;
    }
    let (mut schema, mut rest) = (root, path);
    while !rest.is_empty() {
        let Some((step, after)) = first_step(rest) else {
            return true;
        };
        rest = after;
        let is_open = is_true(schema, "x-kubernetes-preserve-unknown-fields")
            || is_true(schema, "x-kubernetes-embedded-resource");
        let found = match &step {
            Step::Field(name) => fields_of(schema)
                .find(|(field, _)| *field == name)
                .map(|(_, field)| field)
                .or_else(|| schema.get("additionalProperties")),
            Step::Element => schema.get("items"),
        };
        match found {
            Some(found) => schema = found,
            None => return is_open,
        }
    }
    true
}

enum Step {
    Field(String),
    Element,
}

/// The first step of a path and what follows it, unless it may lead to several places.
fn first_step(path: &str) -> Option<(Step, &str)> {
    if let Some(inside) = path.strip_prefix('[') {
        let end = if inside.starts_with('?') {
            inside.find(")]")? + 1
        } else {
            inside.find(']')?
        };
        let (inside, after) = (&inside[..end], &inside[end + 1..]);
        let quoted = ['\'', '"']
            .into_iter()
            .find_map(|quote| inside.strip_prefix(quote)?.strip_suffix(quote));
        return Some(match quoted {
            Some(name) if name.contains(['\'', '"']) => return None,
            Some(name) => (Step::Field(name.to_owned()), after),
            None => (Step::Element, after),
        });
    }
    let inside = path.strip_prefix('.')?;
    let (mut name, mut letters) = (String::new(), inside.char_indices());
    let end = loop {
        match letters.next() {
            Some((_, '\\')) => name.extend(letters.next().map(|(_, letter)| letter)),
            Some((at, '.' | '[')) => break at,
            Some((_, letter)) => name.push(letter),
            None => break inside.len(),
        }
    };
    (!name.is_empty() && name != "*").then(|| (Step::Field(name), &inside[end..]))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_path_exists_if_a_field_may_have_it() {
        let text = json!({ "type": "string" });
        let schema = json!({ "type": "object", "properties": {
            "kind": text,
            "metadata": { "type": "object" },
            "spec": { "type": "object", "properties": {
                "text": text,
                "app.kubernetes.io/name": text,
                "labels": { "type": "object", "additionalProperties": text },
                "any": { "x-kubernetes-preserve-unknown-fields": true },
                "list": { "type": "array", "items": { "type": "object", "properties": { "name": text } } },
            }},
        }});
        for path in [
            ".kind",
            ".metadata.creationTimestamp",
            ".metadata.labels['a.b/c']",
            ".spec",
            ".spec.text",
            r".spec.app\.kubernetes\.io/name",
            ".spec['text']",
            ".spec.labels.any",
            r".spec.labels.app\.kubernetes\.io/name",
            ".spec.any.thing[0].at.all",
            ".spec.list[*].name",
            ".spec.list[0].name",
            ".spec.list[-1:].name",
            ".spec.list[?(@.name=='a.b')].name",
            ".spec.list[?(@.names[0]==\"x\")].name",
            "..name",
            ".spec.*",
            ".spec['text','labels']",
            "",
            ".spec[",
        ] {
            assert!(may_exist(&schema, path), "{path}");
        }
        for path in [
            ".status",
            ".status.phase",
            ".spec.Text",
            ".spec.texts",
            ".spec.text.more",
            ".spec.text[0]",
            ".spec['app.kubernetes.io']",
            ".spec.list.name",
            ".spec.list[0].title",
            ".spec.list[?(@.name=='a')].title",
            ".spec.labels.any.more",
            ".metadatas",
        ] {
            assert!(!may_exist(&schema, path), "{path}");
        }
    }
}
