//! The comments of the Go types as descriptions in the schemas of a CRD: operators leave them out of CRDs that would be too
//! large otherwise. Pure.

use serde_json::Value;

use crate::import::hints::{GoField, GoPackage, Hints};
use crate::import::types::go::Go;
use crate::manifests::json::text_of;

/// The CRD with the comments of the Go types wherever it has no description.
pub(crate) fn described(crd: &Value, hints: &Hints) -> Value {
    let mut crd = crd.clone();
    let group = text_of(&crd, "/spec/group").to_owned();
    let kind = text_of(&crd, "/spec/names/kind").to_owned();
    let versions = crd.pointer_mut("/spec/versions");
    let versions = versions.and_then(Value::as_array_mut);
    for version in versions.into_iter().flatten() {
        let key = (group.clone(), text_of(version, "name").to_owned());
        let schema = version.pointer_mut("/schema/openAPIV3Schema");
        if let (Some(package), Some(schema)) = (hints.get(&key), schema) {
            describe(schema, "", &kind, package);
        }
    }
    crd
}

/// Describes a schema by the comment of its field, or else by that of its type, and everything below it.
fn describe(schema: &mut Value, comment: &str, type_name: &str, package: &GoPackage) {
    let of_type = package.types.get(type_name);
    let comment = match (comment, of_type) {
        ("", Some(declared)) => declared.doc.as_str(),
        (comment, _) => comment,
    };
    let comment = described_part(comment);
    if let Some(schema) = schema.as_object_mut()
        && !comment.is_empty()
    {
        schema
            .entry("description")
            .or_insert_with(|| comment.into());
    }
    let mut inner = schema;
    while let Some(name) = ["items", "additionalProperties"]
        .into_iter()
        .find(|name| inner.get(name).is_some_and(Value::is_object))
    {
        inner = &mut inner[name];
    }
    let fields = Go::of(Some(package), type_name).fields();
    // Every object has it, and Kubernetes describes it.
    let is_metadata = |field: &GoField| field.json == "metadata" && field.type_name.is_empty();
    for field in fields.into_iter().filter(|field| !is_metadata(field)) {
        let path = format!(
            "/properties/{}",
            field.json.replace('~', "~0").replace('/', "~1")
        );
        if let Some(schema) = inner.pointer_mut(&path) {
            describe(schema, &field.doc, &field.type_name, package);
        }
    }
}

/// What controller-gen takes for a description: a comment up to a line of dashes.
fn described_part(comment: &str) -> String {
    let lines = comment.lines().take_while(|line| line.trim() != "---");
    lines.collect::<Vec<_>>().join("\n").trim().to_owned()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::import::hints::GoType;

    fn field(json: &str, doc: &str, type_name: &str) -> GoField {
        GoField {
            json: json.to_owned(),
            doc: doc.to_owned(),
            type_name: type_name.to_owned(),
        }
    }

    #[test]
    fn comments_become_descriptions_where_there_are_none() {
        let declared = |doc: &str, fields: Vec<GoField>| GoType {
            doc: doc.to_owned(),
            fields,
            ..GoType::default()
        };
        let package = GoPackage {
            types: [
                (
                    "Captain".to_owned(),
                    declared("Commands.", vec![field("spec", "", "CaptainSpec")]),
                ),
                (
                    "CaptainSpec".to_owned(),
                    declared(
                        "What he does.\n---\nNot this.",
                        vec![
                            field("crew", "Who obeys.", "Sailor"),
                            field("known", "Not this.", ""),
                            field("", "", "Common"),
                        ],
                    ),
                ),
                (
                    "Sailor".to_owned(),
                    declared("A sailor.", vec![field("name", "His name.", "")]),
                ),
                (
                    "Common".to_owned(),
                    declared(
                        "",
                        vec![field("rank", "His rank.", ""), field("", "", "Common")],
                    ),
                ),
            ]
            .into(),
        };
        let hints = Hints::from([(("crew.example.com".to_owned(), "v1".to_owned()), package)]);
        let crd = |spec: Value| {
            json!({ "spec": {
                "group": "crew.example.com",
                "names": { "kind": "Captain" },
                "versions": [{ "name": "v1", "schema": { "openAPIV3Schema": spec } }],
            } })
        };
        let before = crd(json!({ "properties": { "spec": { "properties": {
            "crew": { "items": { "properties": { "name": { "type": "string" } } } },
            "known": { "description": "Known." },
            "rank": { "type": "integer" },
        } } } }));
        let after = crd(
            json!({ "description": "Commands.", "properties": { "spec": {
            "description": "What he does.",
            "properties": {
                "crew": {
                    "description": "Who obeys.",
                    "items": { "properties": {
                        "name": { "description": "His name.", "type": "string" },
                    } },
                },
                "known": { "description": "Known." },
                "rank": { "description": "His rank.", "type": "integer" },
            },
        } } }),
        );
        assert_eq!(described(&before, &hints), after);
    }
}
