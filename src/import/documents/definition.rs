//! What a CRD must have around its schemas.

use serde_json::Value;

use super::{API_VERSION, Reason, structural};
use crate::manifests::json::{is_true, list_of, text_of};

/// The largest CRD that an API server stores, in bytes of JSON: etcd refuses larger requests.
const LARGEST: usize = 1536 * 1024;

/// What is wrong with a CRD, and where in it.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Problem {
    /// Empty if it is in no single version.
    pub(crate) version: String,
    /// Such as `spec.jobs[].name`; empty if it is not in a field.
    pub(crate) path: String,
    pub(crate) reason: Reason,
}

impl Problem {
    pub(super) fn plain(reason: Reason) -> Self {
        Self {
            version: String::new(),
            path: String::new(),
            reason,
        }
    }
}

/// Finds everything that is wrong with a CRD. Removes what the API server ignores, and returns a sentence about each of that.
pub(super) fn check(crd: &mut Value, problems: &mut Vec<Problem>) -> Vec<String> {
    let version = text_of(crd, "apiVersion");
    if version != API_VERSION {
        let version = version.to_owned();
        problems.push(Problem::plain(Reason::Version { version }));
        return Vec::new();
    }
    if text_of(crd, "/metadata/name").contains("{{") {
        problems.push(Problem::plain(Reason::TemplateName));
        return Vec::new();
    }
    problems.extend(around(crd).into_iter().map(Problem::plain));
    let bytes = serde_json::to_vec(crd).map_or(0, |json| json.len());
    if bytes > LARGEST {
        problems.push(Problem::plain(Reason::TooLarge { bytes }));
    }
    let mut ignored = Vec::new();
    let versions = crd.pointer_mut("/spec/versions");
    for version in versions.and_then(Value::as_array_mut).into_iter().flatten() {
        let name = text_of(version, "name").to_owned();
        match version.pointer_mut("/schema/openAPIV3Schema") {
            Some(schema) if schema.is_object() => {
                let found = structural::check(schema);
                problems.extend(found.refused.into_iter().map(|(path, reason)| Problem {
                    version: name.clone(),
                    path,
                    reason,
                }));
                let sentences = found.ignored.into_iter();
                ignored
                    .extend(sentences.map(|it| format!("{name} {it}, which API servers ignore")));
            }
            _ => problems.push(Problem {
                version: name,
                path: String::new(),
                reason: Reason::Lacks {
                    field: "schema.openAPIV3Schema",
                },
            }),
        }
    }
    ignored
}

fn around(crd: &Value) -> Vec<Reason> {
    let mut wrong = Vec::new();
    for (pointer, field) in [
        ("/metadata/name", "metadata.name"),
        ("/spec/group", "spec.group"),
        ("/spec/names/kind", "spec.names.kind"),
        ("/spec/names/plural", "spec.names.plural"),
        ("/spec/scope", "spec.scope"),
        ("/spec/versions/0/name", "spec.versions"),
    ] {
        if text_of(crd, pointer).is_empty() {
            wrong.push(Reason::Lacks { field });
        }
    }
    if !wrong.is_empty() {
        return wrong;
    }
    let must = |value: &str, must: String| Reason::Must {
        value: format!("`{value}`"),
        must,
    };
    let (plural, group) = (
        text_of(crd, "/spec/names/plural"),
        text_of(crd, "/spec/group"),
    );
    let (name, full) = (text_of(crd, "/metadata/name"), format!("{plural}.{group}"));
    if name != full {
        wrong.push(must(
            name,
            format!("named `{full}`, after its plural and its group"),
        ));
    }
    let scope = text_of(crd, "/spec/scope");
    if !["Cluster", "Namespaced"].contains(&scope) {
        let scope = must(
            &format!("scope: {scope}"),
            "`Cluster` or `Namespaced`".to_owned(),
        );
        wrong.push(scope);
    }
    if is_true(crd, "/spec/preserveUnknownFields") {
        let must = must("spec.preserveUnknownFields: true", "false in v1".to_owned());
        wrong.push(must);
    }
    let versions = list_of(crd, "/spec/versions");
    for (at, version) in versions.iter().enumerate() {
        let name = text_of(version, "name");
        if versions[..at].iter().any(|it| text_of(it, "name") == name) {
            wrong.push(must(&format!("version {name}"), "listed once".to_owned()));
        }
        for flag in ["served", "storage"] {
            match version.get(flag) {
                Some(Value::Bool(_)) => {}
                Some(value) => {
                    let value = format!("{name}: {flag}: {value}");
                    wrong.push(must(&value, "true or false".to_owned()));
                }
                None => wrong.push(must(name, format!("a version with `{flag}`"))),
            }
        }
    }
    let number = versions.iter().filter(|it| is_true(it, "storage")).count();
    if number != 1 {
        wrong.push(Reason::Stored { number });
    }
    wrong
}
