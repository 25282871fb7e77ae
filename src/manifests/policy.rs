//! Checks admission policies: files that the user edits, whose expressions must fit the schemas of the kinds that they
//! are for.
//!
//! An API server accepts a policy that uses a field that does not exist, and then refuses every object; a binding to a
//! policy that does not exist does nothing at all. [`place`] finds the place of an expression in its file, and
//! [`super::cel`] its types. Pure.

mod expressions;
mod place;
mod scope;
#[cfg(test)]
mod tests;

use std::collections::BTreeSet;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingAdmissionPolicy, MutatingAdmissionPolicyBinding, ValidatingAdmissionPolicy,
    ValidatingAdmissionPolicyBinding,
};
use miette::Diagnostic;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;
use thiserror::Error;

use self::place::Places;
use self::scope::Scope;
use super::json::text_of;
use crate::yaml::{self, YamlError};

/// The version of the API that kbr knows.
const API_VERSION: &str = "admissionregistration.k8s.io/v1";

/// A kind whose schema is known.
#[derive(Debug)]
pub(crate) struct KnownKind {
    /// Empty for the core group.
    pub(crate) group: String,
    pub(crate) version: String,
    pub(crate) kind: String,
    pub(crate) plural: String,
    pub(crate) schema: Value,
}

/// What is wrong with a policy.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Error, Diagnostic)]
#[error("{}:{line}:{column}: {message}", .path)]
#[diagnostic(code("policy-invalid"))]
pub(crate) struct PolicyError {
    pub(crate) path: String,
    pub(crate) line: usize,
    pub(crate) column: usize,
    pub(crate) message: String,
    #[help]
    pub(crate) help: String,
}

/// The objects of a file.
struct File<'a> {
    path: &'a str,
    text: &'a str,
    documents: Vec<Value>,
}

/// Everything that is wrong with the policies in these files, each a path and a text, in the order of their places.
pub(crate) fn check(files: &[(&str, &str)], mut kinds: Vec<KnownKind>) -> Vec<PolicyError> {
    let (mut errors, mut read) = (Vec::new(), Vec::new());
    for &(path, text) in files {
        match yaml::read(path, text) {
            Ok(documents) => read.push(File {
                path,
                text,
                documents,
            }),
            Err(error) => errors.push(error.into()),
        }
    }
    let policies: BTreeSet<(&str, &str)> = read
        .iter()
        .flat_map(|file| &file.documents)
        .map(|document| {
            (
                text_of(document, "kind"),
                text_of(document, "/metadata/name"),
            )
        })
        .collect();
    scope::add_metadata(&mut kinds);
    for file in &read {
        let places = Places::of(file.text, &file.documents);
        for (number, document) in file.documents.iter().enumerate() {
            let mut check = Check {
                file,
                places: &places,
                number,
                errors: &mut errors,
            };
            check.document(document, &policies, &kinds);
        }
    }
    errors.sort();
    errors.dedup();
    errors
}

impl From<YamlError> for PolicyError {
    fn from(error: YamlError) -> Self {
        Self {
            path: error.path,
            line: error.line,
            column: error.column,
            message: format!("this {}", error.problem),
            help: error.problem.help().to_owned(),
        }
    }
}

struct Check<'c> {
    file: &'c File<'c>,
    places: &'c Places,
    /// The index of the document in its file.
    number: usize,
    errors: &'c mut Vec<PolicyError>,
}

impl Check<'_> {
    fn error(&mut self, (line, column): (usize, usize), message: String, help: impl Into<String>) {
        self.errors.push(PolicyError {
            path: self.file.path.to_owned(),
            line,
            column,
            message,
            help: help.into(),
        });
    }

    fn document(
        &mut self,
        document: &Value,
        policies: &BTreeSet<(&str, &str)>,
        kinds: &[KnownKind],
    ) {
        let kind = text_of(document, "kind");
        let fields = match kind {
            "ValidatingAdmissionPolicy" => unknown::<ValidatingAdmissionPolicy>(document),
            "ValidatingAdmissionPolicyBinding" => {
                unknown::<ValidatingAdmissionPolicyBinding>(document)
            }
            "MutatingAdmissionPolicy" => unknown::<MutatingAdmissionPolicy>(document),
            "MutatingAdmissionPolicyBinding" => unknown::<MutatingAdmissionPolicyBinding>(document),
            _ => return,
        };
        let start = self.places.document(self.number);
        let version = text_of(document, "apiVersion");
        if version != API_VERSION {
            let message =
                format!("the `apiVersion` of the {kind} is `{version}`, which kbr does not know");
            return self.error(start, message, format!("write `apiVersion: {API_VERSION}`"));
        }
        match fields {
            Ok(None) => {}
            Ok(Some((path, field))) => {
                let place = self.places.key(self.file.text, self.number, &field);
                let message = format!("a {kind} has no field `{path}`");
                self.error(
                    place,
                    message,
                    format!("`kubectl explain {kind}` lists the fields"),
                );
            }
            Err(reason) => {
                let message = format!("this is no {kind}: {reason}");
                return self.error(
                    start,
                    message,
                    format!("`kubectl explain {kind}` lists the fields"),
                );
            }
        }
        if let Some(of) = kind.strip_suffix("Binding") {
            self.binding(document, of, policies);
        } else {
            self.policy(document, kind == "MutatingAdmissionPolicy", kinds);
        }
    }

    /// A binding must name a policy: otherwise it does nothing, without any message.
    fn binding(&mut self, document: &Value, kind: &str, policies: &BTreeSet<(&str, &str)>) {
        let name = text_of(document, "/spec/policyName");
        if policies.contains(&(kind, name)) {
            return;
        }
        let names = policies.iter().filter(|(of, _)| *of == kind);
        let names: Vec<&str> = names.map(|(_, name)| *name).collect();
        let place = self.places.key(self.file.text, self.number, "policyName");
        let message = format!(
            "the binding is for the {kind} `{name}`, which is not in config/policy: it would do nothing"
        );
        let help = match &names[..] {
            [] => format!("add the {kind}, or remove the binding"),
            names => format!("after `policyName:`, write {}", crate::error::either(names)),
        };
        self.error(place, message, help);
    }

    fn policy(&mut self, document: &Value, is_mutating: bool, kinds: &[KnownKind]) {
        let spec = &document["spec"];
        let scope = Scope::of(spec, kinds);
        for wrong in &scope.unknown {
            let place = self.places.key(self.file.text, self.number, "resources");
            self.error(place, wrong.message.clone(), wrong.help.clone());
        }
        if scope.kinds.is_empty() {
            return self.expressions(spec, is_mutating, &scope, None);
        }
        for kind in &scope.kinds {
            self.expressions(spec, is_mutating, &scope, Some(kind));
        }
    }
}

/// The first field of a document that its type does not have: its path and its name.
fn unknown<T: DeserializeOwned + Serialize>(
    document: &Value,
) -> Result<Option<(String, String)>, String> {
    let typed: T = serde_json::from_value(document.clone()).map_err(|error| error.to_string())?;
    let known = serde_json::to_value(typed).map_err(|error| error.to_string())?;
    Ok(difference(document, &known, ""))
}

fn difference(written: &Value, known: &Value, path: &str) -> Option<(String, String)> {
    match (written, known) {
        (Value::Object(written), Value::Object(known)) => {
            written.iter().find_map(|(key, value)| {
                let path = format!("{path}.{key}");
                match known.get(key) {
                    Some(known) => difference(value, known, &path),
                    None if value.is_null() => None,
                    None => {
                        let path = path.trim_start_matches('.').to_owned();
                        Some((path, key.clone()))
                    }
                }
            })
        }
        (Value::Array(written), Value::Array(known)) => {
            let mut pairs = written.iter().zip(known);
            pairs.find_map(|(written, known)| difference(written, known, &format!("{path}[]")))
        }
        _ => None,
    }
}
