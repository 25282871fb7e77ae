//! Whether a schema is one that an API server accepts: OpenAPI v3, and structural.
//!
//! The rules are those of "Specifying a structural schema" in Kubernetes' page about custom resource definitions. A test tries them
//! on an API server. What another pass of kbr checks anyway is not checked here: rules, patterns, and the keys of lists.

use serde_json::Value;

use super::Reason;
use crate::manifests::json::{Object, field_of, fields_of, is_true, object_of, path_of, text_of};

const FREE: &str = "x-kubernetes-preserve-unknown-fields";
const EITHER: &str = "x-kubernetes-int-or-string";

/// What a schema has that it must not have, and what has no effect.
#[derive(Debug, Default)]
pub(super) struct Checked {
    /// By the path of the field.
    pub(crate) refused: Vec<(String, Reason)>,
    /// Sentences about keywords that were removed.
    pub(crate) ignored: Vec<String>,
}

/// The JSON value of a keyword.
enum Form {
    Bool,
    Integer,
    Number,
    Text,
    Texts,
    List,
    Schemas,
    Fields,
    SchemaOrBool,
    Schema,
    Rules,
    Any,
}

/// The keywords of a schema in a CRD; others do not exist for the API server.
fn form(keyword: &str) -> Option<Form> {
    Some(match keyword {
        "nullable"
        | "exclusiveMaximum"
        | "exclusiveMinimum"
        | "uniqueItems"
        | FREE
        | EITHER
        | "x-kubernetes-embedded-resource" => Form::Bool,
        "maxLength" | "minLength" | "maxItems" | "minItems" | "maxProperties" | "minProperties" => {
            Form::Integer
        }
        "maximum" | "minimum" | "multipleOf" => Form::Number,
        "description"
        | "title"
        | "pattern"
        | "format"
        | "type"
        | "x-kubernetes-list-type"
        | "x-kubernetes-map-type" => Form::Text,
        "required" | "x-kubernetes-list-map-keys" => Form::Texts,
        "enum" => Form::List,
        "allOf" | "anyOf" | "oneOf" => Form::Schemas,
        "properties" => Form::Fields,
        "additionalProperties" => Form::SchemaOrBool,
        "items" | "not" => Form::Schema,
        "x-kubernetes-validations" => Form::Rules,
        "default" | "example" | "externalDocs" => Form::Any,
        _ => return None,
    })
}

/// Keywords that exist, and that no structural schema may have.
const FORBIDDEN: [&str; 6] = [
    "$schema",
    "additionalItems",
    "definitions",
    "dependencies",
    "id",
    "patternProperties",
];

impl Form {
    fn fits(&self, value: &Value) -> bool {
        let all = |fits: fn(&Value) -> bool| value.as_array().is_some_and(|it| it.iter().all(fits));
        match self {
            Self::Bool => value.is_boolean(),
            Self::Integer => value.is_i64() || value.is_u64(),
            Self::Number => value.is_number(),
            Self::Text => value.is_string(),
            Self::Texts => all(Value::is_string),
            Self::List => value.is_array(),
            Self::Schemas => all(Value::is_object),
            Self::Fields => value
                .as_object()
                .is_some_and(|it| it.values().all(Value::is_object)),
            Self::SchemaOrBool => value.is_object() || value.is_boolean(),
            Self::Schema => value.is_object(),
            Self::Rules => all(|rule| rule.get("rule").is_some_and(Value::is_string)),
            Self::Any => true,
        }
    }

    fn name(&self) -> &'static str {
        match self {
            Self::Bool => "true or false",
            Self::Integer => "an integer",
            Self::Number => "a number",
            Self::Text => "a text",
            Self::Texts => "a list of texts",
            Self::List => "a list",
            Self::Schemas => "a list of schemas",
            Self::Fields => "schemas by the names of fields",
            Self::SchemaOrBool => "a schema",
            Self::Schema => "one schema",
            Self::Rules => "a list of rules",
            Self::Any => "any value",
        }
    }
}

/// Checks the schema of a version, and removes from it what has no effect.
pub(super) fn check(schema: &mut Value) -> Checked {
    let mut checked = Checked::default();
    let Some(root) = schema.as_object_mut() else {
        return checked;
    };
    // First the form of everything, so that the rules below can rely on it.
    checked.forms("", root);
    if checked.refused.is_empty() {
        if !matches!(text_of(root, "type"), "" | "object") {
            checked.structure("", "the schema of a kind must have `type: object`");
        }
        checked.metadata("", root);
        checked.node("", root, false);
    }
    checked
}

impl Checked {
    fn refuse(&mut self, path: &str, reason: Reason) {
        self.refused.push((path.to_owned(), reason));
    }

    fn structure(&mut self, path: &str, problem: impl Into<String>) {
        let problem = problem.into();
        self.refuse(path, Reason::Structure { problem });
    }

    /// Checks the keywords of a schema and of all schemas in it.
    fn forms(&mut self, path: &str, schema: &mut Object) {
        // For the API server, null is the same as no value.
        schema.retain(|_, value| !value.is_null());
        let keys: Vec<String> = schema.keys().cloned().collect();
        for key in keys {
            let value = schema[&key].clone();
            match form(&key) {
                _ if key == "$ref" => self.refuse(path, Reason::Reference),
                _ if FORBIDDEN.contains(&key.as_str()) => {
                    self.structure(path, format!("`{key}` is not supported"));
                }
                None => {
                    schema.shift_remove(&key);
                    let at = if path.is_empty() { "the kind" } else { path };
                    self.ignored.push(format!("`{at}` has the keyword `{key}`"));
                }
                Some(form) if !form.fits(&value) => {
                    let must = form.name();
                    let value = crate::error::beginning(&value.to_string(), 60);
                    let keyword = key;
                    let reason = Reason::Keyword {
                        keyword,
                        value,
                        must,
                    };
                    self.refuse(path, reason);
                }
                Some(_) => {}
            }
        }
        for (key, value) in schema.iter_mut() {
            match (form(key), value) {
                (Some(Form::Fields), Value::Object(fields)) => {
                    for (name, field) in fields {
                        if let Some(field) = field.as_object_mut() {
                            self.forms(&path_of(path, name), field);
                        }
                    }
                }
                (Some(Form::Schema | Form::SchemaOrBool), Value::Object(inner)) => {
                    let step = match key.as_str() {
                        "items" => "[]",
                        "additionalProperties" => ".*",
                        _ => "",
                    };
                    self.forms(&format!("{path}{step}"), inner);
                }
                (Some(Form::Schemas), Value::Array(schemas)) => {
                    for inner in schemas.iter_mut().filter_map(Value::as_object_mut) {
                        self.forms(path, inner);
                    }
                }
                _ => {}
            }
        }
    }

    /// `metadata` is Kubernetes' own; a schema may only restrict names.
    fn metadata(&mut self, path: &str, schema: &Object) {
        let metadata = object_of(schema, "properties").and_then(|it| object_of(it, "metadata"));
        let Some(metadata) = metadata else {
            return;
        };
        let mut fields = fields_of(metadata);
        let is_other = |name: &str| name != "name" && name != "generateName";
        if path.is_empty() && fields.any(|(name, _)| is_other(name)) {
            self.structure(
                "metadata",
                "only `name` and `generateName` of the metadata may have a schema",
            );
        }
        if text_of(metadata, "type") != "object" {
            self.structure(
                &path_of(path, "metadata"),
                "metadata must have `type: object`",
            );
        }
    }

    /// Checks one field, with everything below it.
    fn node(&mut self, path: &str, schema: &Object, is_embedded: bool) {
        let kind = text_of(schema, "type");
        let is_either = is_true(schema, EITHER);
        match kind {
            "" if is_either || is_true(schema, FREE) || path.is_empty() => {}
            "" => self.structure(path, format!("it has no `type`, and no `{FREE}: true`")),
            "array" | "boolean" | "integer" | "number" | "object" | "string" => {}
            other => self.structure(path, format!("there is no type `{other}`")),
        }
        let values = schema.get("additionalProperties");
        if values.is_some() && fields_of(schema).next().is_some() {
            self.structure(
                path,
                "`additionalProperties` and `properties` exclude each other",
            );
        }
        if is_true(schema, "uniqueItems") {
            self.structure(
                path,
                "`uniqueItems` is not supported; `x-kubernetes-list-type: set` says it",
            );
        }
        if schema.get(FREE) == Some(&Value::Bool(false)) {
            self.structure(path, format!("`{FREE}` must be true or absent"));
        }
        if is_embedded {
            self.metadata(path, schema);
        }
        for (key, members) in junctors(schema) {
            for member in members {
                self.member(path, key, schema, member, is_either);
            }
        }
        for (name, field) in fields_of(schema) {
            if let Some(field) = field.as_object() {
                let is_embedded = is_true(field, "x-kubernetes-embedded-resource");
                self.node(&path_of(path, name), field, is_embedded);
            }
        }
        for (key, step) in [("items", "[]"), ("additionalProperties", ".*")] {
            if let Some(element) = object_of(schema, key) {
                let is_embedded = is_true(element, "x-kubernetes-embedded-resource");
                self.node(&format!("{path}{step}"), element, is_embedded);
            }
        }
    }

    /// A member of `allOf` and its like restricts what is specified outside, and specifies nothing itself.
    fn member(
        &mut self,
        path: &str,
        junctor: &str,
        outside: &Object,
        member: &Object,
        is_either: bool,
    ) {
        for key in member.keys() {
            let is_forbidden = match key.as_str() {
                "type" => !is_either,
                "additionalProperties" | "default" | "description" | "nullable" | "title" => true,
                key => key.starts_with("x-kubernetes-"),
            };
            if is_forbidden {
                self.structure(path, format!("`{key}` may not be in `{junctor}`"));
            }
        }
        // A field that is not known outside is accepted, and never there.
        let known = fields_of(member)
            .map(|(name, field)| (path_of(path, name), field_of(outside, name), field));
        let items = [(
            format!("{path}[]"),
            object_of(outside, "items"),
            member.get("items"),
        )];
        let items = items
            .into_iter()
            .filter_map(|(below, known, items)| Some((below, known, items?)));
        for (below, known, inner) in known.chain(items) {
            if let (Some(known), Some(inner)) = (known, inner.as_object()) {
                self.member(&below, junctor, known, inner, is_true(known, EITHER));
            }
        }
        for (key, members) in junctors(member) {
            for member in members {
                self.member(path, key, outside, member, is_either);
            }
        }
    }
}

/// The schemas in `allOf` and its like.
fn junctors(schema: &Object) -> impl Iterator<Item = (&'static str, Vec<&Object>)> {
    ["allOf", "anyOf", "oneOf", "not"].into_iter().map(|key| {
        let members = match schema.get(key) {
            Some(Value::Array(members)) => members.iter().filter_map(Value::as_object).collect(),
            Some(Value::Object(member)) => vec![member],
            _ => Vec::new(),
        };
        (key, members)
    })
}
