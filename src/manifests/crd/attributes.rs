//! What the API server would refuse in a CRD outside its schema, by the `#[kube(…)]` attribute
//! that causes it.

use std::slice;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceColumnDefinition, CustomResourceDefinition, CustomResourceDefinitionNames,
    CustomResourceDefinitionVersion, CustomResourceSubresourceScale,
};
use serde_json::Value;

use crate::names::dns::is_label;
use crate::names::is_among;

/// An invalid attribute.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct InvalidAttribute {
    /// As written, without `#[kube(…)]` around it.
    pub(crate) text: String,
    /// What is wrong with it. Continues a sentence.
    pub(crate) problem: &'static str,
    /// What to write instead.
    pub(crate) help: &'static str,
}

impl InvalidAttribute {
    fn new(text: String, problem: &'static str, help: &'static str) -> Self {
        Self {
            text,
            problem,
            help,
        }
    }
}

/// Maximum number of selectable fields of a version.
const MOST_SELECTABLE: usize = 8;

const COLUMN_TYPES: &str = "boolean date integer number string";
const COLUMN_FORMATS: &str = "byte date date-time double float int32 int64 password";

/// Adds names, labels and annotations of another version to `whole`: kube keeps only the stored version's.
pub(super) fn unite(whole: &mut CustomResourceDefinition, other: &CustomResourceDefinition) {
    for (known, more) in [
        (&mut whole.metadata.annotations, &other.metadata.annotations),
        (&mut whole.metadata.labels, &other.metadata.labels),
    ] {
        for (key, value) in more.iter().flatten() {
            let values = known.get_or_insert_default();
            values.entry(key.clone()).or_insert_with(|| value.clone());
        }
    }
    let (names, others) = (&mut whole.spec.names, &other.spec.names);
    for (known, more) in [
        (&mut names.short_names, &others.short_names),
        (&mut names.categories, &others.categories),
    ] {
        for name in more.iter().flatten() {
            let list = known.get_or_insert_default();
            if !list.contains(name) {
                list.push(name.clone());
            }
        }
    }
}

/// Checks all attributes.
pub(super) fn check(crd: &CustomResourceDefinition, schema: &Value) -> Vec<InvalidAttribute> {
    let mut wrong = Vec::new();
    names(&crd.spec.names, &mut wrong);
    for version in &crd.spec.versions {
        of_version(version, schema, &mut wrong);
    }
    wrong
}

fn names(names: &CustomResourceDefinitionNames, wrong: &mut Vec<InvalidAttribute>) {
    let (short, categories) = (&names.short_names, &names.categories);
    for (key, names) in [
        ("plural", slice::from_ref(&names.plural)),
        ("singular", names.singular.as_slice()),
        ("shortname", short.as_deref().unwrap_or_default()),
        ("category", categories.as_deref().unwrap_or_default()),
    ] {
        let is_name =
            |name: &str| is_label(name) && name.starts_with(|c: char| c.is_ascii_lowercase());
        wrong.extend(names.iter().filter(|name| !is_name(name)).map(|name| {
            InvalidAttribute::new(
                format!("{key} = {name:?}"),
                "is not a name that the API server accepts",
                "write lower-case letters, digits and `-`, a letter first, and no `-` at the end",
            )
        }));
    }
}

fn of_version(
    version: &CustomResourceDefinitionVersion,
    schema: &Value,
    wrong: &mut Vec<InvalidAttribute>,
) {
    for one in version.additional_printer_columns.iter().flatten() {
        wrong.extend(column(one));
    }
    let selectable = version.selectable_fields.as_deref().unwrap_or_default();
    for (at, field) in selectable.iter().enumerate() {
        let text = format!("selectable = {:?}", field.json_path);
        let problem = match selectable_problem(&field.json_path, schema) {
            Some(problem) => problem,
            None if selectable[..at].contains(field) => "is given twice",
            None if at == MOST_SELECTABLE => {
                "is one more than the eight that the API server accepts"
            }
            None => continue,
        };
        let help = "write the path of a string, a boolean or an integer, such as `selectable = \".spec.host\"`";
        wrong.push(InvalidAttribute::new(text, problem, help));
    }
    let subresources = version.subresources.iter();
    let scale = subresources.flat_map(|all| &all.scale);
    wrong.extend(scale.filter_map(scale_problem));
    if let Some(warning) = &version.deprecation_warning
        && (warning.chars().any(char::is_control) || warning.len() > 256)
    {
        wrong.push(InvalidAttribute::new(
            format!("deprecated = {warning:?}"),
            "is longer than 256 bytes, or has line breaks",
            "write one line of at most 256 bytes",
        ));
    }
}

fn column(column: &CustomResourceColumnDefinition) -> Option<InvalidAttribute> {
    let (name, kind, path) = (&column.name, &column.type_, &column.json_path);
    let format = column.format.as_deref().unwrap_or_default();
    let (argument, problem, help) = if name.is_empty() {
        let problem = "has no name";
        (String::new(), problem, "write the heading of the column")
    } else if !is_among(COLUMN_TYPES, kind) {
        let problem = "has a type that no column can have";
        let help = "write `boolean`, `date`, `integer`, `number` or `string`";
        (format!(", type_ = {kind:?}"), problem, help)
    } else if !path.starts_with('.') {
        let problem = "has a path that does not begin with a dot";
        let help = "write a path that begins with a dot, such as `json_path = \".spec.replicas\"`";
        (format!(", json_path = {path:?}"), problem, help)
    } else if !format.is_empty() && !is_among(COLUMN_FORMATS, format) {
        let problem = "has a format that the API server does not know";
        let help = "omit it, or write `byte`, `date`, `date-time`, `double`, `float`, `int32`, `int64` or `password`";
        (format!(", format = {format:?}"), problem, help)
    } else {
        return None;
    };
    let text = format!("printcolumn(… name = {name:?}{argument})");
    Some(InvalidAttribute::new(text, problem, help))
}

fn selectable_problem(path: &str, schema: &Value) -> Option<&'static str> {
    let Some(names) = path.strip_prefix('.').filter(|_| !path.contains('[')) else {
        return Some("is not a path of fields, each preceded by a dot");
    };
    if names.split('.').next() == Some("metadata") {
        return Some("is in `metadata`, where the API server accepts no field");
    }
    let field = names
        .split('.')
        .try_fold(schema, |schema, name| schema.get("properties")?.get(name));
    let Some(field) = field else {
        return Some("is not a field of the type");
    };
    let kind = field.get("type").and_then(Value::as_str);
    let is_fine = matches!(kind, Some("string" | "boolean" | "integer"));
    (!is_fine).then_some("is not a string, boolean or integer")
}

fn scale_problem(scale: &CustomResourceSubresourceScale) -> Option<InvalidAttribute> {
    let (spec, status) = (&scale.spec_replicas_path, &scale.status_replicas_path);
    let selector = scale.label_selector_path.as_deref();
    let mut paths = [
        ("spec_replicas_path", spec.as_str(), &[".spec."][..]),
        ("status_replicas_path", status, &[".status."]),
        (
            "label_selector_path",
            selector.unwrap_or(".status.selector"),
            &[".spec.", ".status."],
        ),
    ]
    .into_iter();
    let is_wrong = |path: &str, roots: &[&str]| !roots.iter().any(|root| path.starts_with(root));
    let (key, path, _) = paths.find(|(_, path, roots)| is_wrong(path, roots))?;
    Some(InvalidAttribute::new(
        format!("scale(… {key} = {path:?})"),
        "has a path in the wrong part of the object",
        "write `.spec.…` for the desired replicas, `.status.…` for the current ones, and either for the selector",
    ))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// The problems of a CRD with these names and this single version.
    fn problems(names: &Value, version: &Value) -> Vec<String> {
        let mut all_names = json!({ "kind": "Foo", "plural": "foos", "singular": "foo" });
        let mut all = json!({ "name": "v1", "served": true, "storage": true });
        for (from, to) in [(names, &mut all_names), (version, &mut all)] {
            for (key, value) in from.as_object().expect("an object") {
                to[key] = value.clone();
            }
        }
        let crd = json!({
            "apiVersion": "apiextensions.k8s.io/v1",
            "kind": "CustomResourceDefinition",
            "metadata": { "name": "foos.example.com" },
            "spec": { "group": "example.com", "names": all_names, "scope": "Namespaced", "versions": [all] },
        });
        let crd = serde_json::from_value(crd).expect("a CRD");
        let object = |properties: Value| json!({ "type": "object", "properties": properties });
        let spec = object(json!({
            "text": { "type": "string" },
            "float": { "type": "number" },
            "list": { "type": "array", "items": { "type": "string" } },
            "inner": object(json!({ "flag": { "type": "boolean" } })),
        }));
        let wrong = check(&crd, &object(json!({ "spec": spec })));
        let shown = wrong
            .iter()
            .map(|one| format!("{} {}", one.text, one.problem));
        shown.collect()
    }

    #[test]
    fn names_that_are_not_labels_are_refused() {
        let none = json!({});
        for (names, text) in [
            (
                json!({ "shortNames": ["ok", "Ze_"] }),
                "shortname = \"Ze_\" is not a name",
            ),
            (
                json!({ "shortNames": ["a.b"] }),
                "shortname = \"a.b\" is not a name",
            ),
            (
                json!({ "categories": ["All"] }),
                "category = \"All\" is not a name",
            ),
            (
                json!({ "categories": [""] }),
                "category = \"\" is not a name",
            ),
            (
                json!({ "plural": "1foos" }),
                "plural = \"1foos\" is not a name",
            ),
            (
                json!({ "singular": "Foo" }),
                "singular = \"Foo\" is not a name",
            ),
        ] {
            let found = problems(&names, &none);
            assert!(
                matches!(found.as_slice(), [one] if one.starts_with(text)),
                "{found:?}"
            );
        }
        assert_eq!(
            problems(
                &json!({ "shortNames": ["fo", "f-1"], "categories": ["all"] }),
                &none
            ),
            [""; 0]
        );
    }

    #[test]
    fn columns_that_the_api_server_refuses_are_refused() {
        let column = |key: &str, value: &str| {
            let mut column = json!({ "name": "A", "type": "string", "jsonPath": ".spec.text" });
            column[key] = json!(value);
            problems(&json!({}), &json!({ "additionalPrinterColumns": [column] }))
        };
        for (key, value, text) in [
            (
                "type",
                "int",
                "printcolumn(… name = \"A\", type_ = \"int\") has a type",
            ),
            (
                "jsonPath",
                "spec.text",
                "printcolumn(… name = \"A\", json_path = \"spec.text\") has a path",
            ),
            (
                "jsonPath",
                "",
                "printcolumn(… name = \"A\", json_path = \"\") has a path",
            ),
            (
                "format",
                "uuid",
                "printcolumn(… name = \"A\", format = \"uuid\") has a format",
            ),
            ("name", "", "printcolumn(… name = \"\") has no name"),
        ] {
            let found = column(key, value);
            assert!(
                matches!(found.as_slice(), [one] if one.starts_with(text)),
                "{found:?}"
            );
        }
        assert_eq!(column("type", "date"), [""; 0]);
        assert_eq!(
            column("jsonPath", ".status.conditions[?(@.type=='Ready')].status"),
            [""; 0]
        );
    }

    #[test]
    fn selectable_fields_exist_and_are_scalar() {
        let selectable = |paths: &[&str]| {
            let fields: Vec<Value> = paths
                .iter()
                .map(|path| json!({ "jsonPath": path }))
                .collect();
            problems(&json!({}), &json!({ "selectableFields": fields }))
        };
        for (path, text) in [
            (".spec.nope", "is not a field of the type"),
            ("spec.text", "is not a path of fields"),
            (".spec.list[0]", "is not a path of fields"),
            (".spec.inner", "is not a string, boolean or integer"),
            (".spec.float", "is not a string, boolean or integer"),
            (".metadata.name", "is in `metadata`"),
            ("", "is not a path of fields"),
        ] {
            let found = selectable(&[path]);
            let expected = format!("selectable = {path:?} {text}");
            assert!(
                matches!(found.as_slice(), [one] if one.starts_with(&expected)),
                "{found:?}"
            );
        }
        assert_eq!(selectable(&[".spec.text", ".spec.inner.flag"]), [""; 0]);
        assert_eq!(
            selectable(&[".spec.text"; 2]),
            ["selectable = \".spec.text\" is given twice"]
        );
    }

    #[test]
    fn the_paths_of_scale_are_in_the_right_part_of_the_object() {
        let scale = |spec: &str, status: &str, selector: &str| {
            let scale = json!({
                "specReplicasPath": spec, "statusReplicasPath": status, "labelSelectorPath": selector,
            });
            problems(
                &json!({}),
                &json!({ "subresources": { "scale": scale, "status": {} } }),
            )
        };
        assert_eq!(scale(".spec.a", ".status.a", ".status.s"), [""; 0]);
        for found in [
            scale("spec.a", ".status.a", ".status.s"),
            scale(".status.a", ".status.a", ".status.s"),
            scale(".spec.a", ".spec.a", ".status.s"),
            scale(".spec.a", ".status.a", ".selector"),
        ] {
            assert!(
                matches!(found.as_slice(), [one] if one.contains("in the wrong part")),
                "{found:?}"
            );
        }
    }

    #[test]
    fn the_warning_of_a_deprecated_version_is_one_short_line() {
        for warning in ["a\nb", &"x".repeat(257)] {
            let version = json!({ "deprecated": true, "deprecationWarning": warning });
            assert_eq!(problems(&json!({}), &version).len(), 1, "{warning}");
        }
        let version = json!({ "deprecated": true, "deprecationWarning": "use v2" });
        assert_eq!(problems(&json!({}), &version), [""; 0]);
    }
}
