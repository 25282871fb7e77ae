//! From schemas to types: structs and enums, each once, and what a field says besides its type. Pure.

use std::collections::{HashMap, HashSet};

use serde_json::{Value, json};

use super::form::CONDITION;
use super::go::Go;
use super::keywords::{
    OF_FIELD, OF_INNER, bare, has_own, is_wide, may_be_null, nullable, rest, shielded,
};
use super::kubernetes::Kubernetes;
use super::model::{Body, Definition, Field, INT_OR_STRING, JSON_VALUE, Shape, Struct, TIME, Use};
use super::names;
use crate::manifests::json::{fields_of, is_true, list_of, requires, text_of};

const LIST_TYPE: &str = "x-kubernetes-list-type";

/// The structs and enums of an API group, and what could not be expressed.
pub(super) struct Types<'a> {
    pub(crate) definitions: Vec<Definition>,
    known: HashMap<String, usize>,
    kubernetes: &'a Kubernetes,
    /// The fields that are JSON values because Rust has no type for their schema.
    pub(crate) values: Vec<String>,
    /// Whether the schemas that follow are controller-gen's. It writes an integer or a string without a pattern for the
    /// `IntOrString` of Kubernetes only, whose integers have 32 bits. Others write it for wider ones too.
    pub(crate) is_of_go: bool,
    /// The fields whose types are nearly of Kubernetes, each with the type and a difference.
    pub(crate) near: Vec<(String, String)>,
}

/// A shape, and the keywords that it does not imply.
struct Made {
    shape: Shape,
    keywords: Vec<(String, Value)>,
    inner: Vec<(String, Value)>,
}

impl Made {
    fn new(shape: Shape, keywords: Vec<(String, Value)>) -> Self {
        Self {
            shape,
            keywords,
            inner: Vec::new(),
        }
    }
}

/// The longest name of a type, if its last part is not longer.
const LONGEST_NAME: usize = 56;

impl<'a> Types<'a> {
    pub(super) fn new(kubernetes: &'a Kubernetes) -> Self {
        Self {
            definitions: Vec::new(),
            known: HashMap::new(),
            kubernetes,
            values: Vec::new(),
            is_of_go: false,
            near: Vec::new(),
        }
    }

    /// The struct that a schema describes, which is not shared with other places.
    pub(super) fn structure(&mut self, schema: &Value, at: &Use, go: Go, leave: &[&str]) -> Struct {
        let mut fields = Vec::new();
        for (name, property) in fields_of(schema) {
            if !leave.contains(&name.as_str()) {
                let is_required = requires(schema, name);
                let mut field = self.field(name, property, is_required, at, go);
                field.is_counted = schema.get("minProperties").is_some();
                fields.push(field);
            }
        }
        if go.declared().is_some() {
            fields.sort_by_key(|field| go.place(&field.json).unwrap_or(usize::MAX));
        }
        let absorbed = [
            "properties",
            "required",
            "type",
            "x-kubernetes-preserve-unknown-fields",
        ];
        let mut keywords = rest(schema, &absorbed);
        let is_open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
        if is_open {
            keywords.push((
                "x-kubernetes-preserve-unknown-fields".to_owned(),
                json!(true),
            ));
        }
        let required = list_of(schema, "required");
        let is_listed = |name: &Value| {
            let name = name.as_str().unwrap_or_default();
            leave.contains(&name) || fields.iter().any(|field| field.json == name)
        };
        if !required.iter().all(is_listed) {
            keywords.push(("required".to_owned(), json!(required)));
        }
        Struct {
            fields,
            is_open,
            keywords,
            is_whole: false,
        }
    }

    fn field(&mut self, name: &str, schema: &Value, is_required: bool, at: &Use, go: Go) -> Field {
        let made = self.made(schema, &at.field(name), go.field(name));
        let doc = schema.get("description").and_then(Value::as_str);
        Field {
            json: name.to_owned(),
            shape: made.shape,
            doc: doc.filter(|doc| !doc.trim().is_empty()).map(str::to_owned),
            is_required,
            is_nullable: may_be_null(schema),
            is_counted: false,
            default: schema.get("default").cloned().filter(|it| !it.is_null()),
            keywords: made.keywords,
            inner: made.inner,
        }
    }

    fn made(&mut self, schema: &Value, at: &Use, go: Go) -> Made {
        let written = |name: &str, absorbed: &[&str]| {
            Made::new(Shape::Written(name.to_owned()), rest(schema, absorbed))
        };
        if let Some(path) = self.kubernetes.find(schema) {
            return Made::new(Shape::Written(path), Vec::new());
        }
        let has = |key: &str| schema.get(key).is_some();
        let is_open = is_true(schema, "x-kubernetes-preserve-unknown-fields");
        match text_of(schema, "type") {
            _ if is_true(schema, "x-kubernetes-int-or-string") => {
                let either = json!([{ "type": "integer" }, { "type": "string" }]);
                let is_plain = schema.get("anyOf").is_none_or(|it| *it == either);
                if is_plain && (self.is_of_go || is_narrow(schema)) {
                    written(
                        INT_OR_STRING,
                        &["anyOf", "type", "x-kubernetes-int-or-string"],
                    )
                } else {
                    self.value(schema, at)
                }
            }
            _ if is_true(schema, "x-kubernetes-embedded-resource") => self.value(schema, at),
            "string" if has("enum") => self.enumerated(schema, at, go),
            "string" if is_time(schema) => written(TIME, &["format", "type"]),
            "string" => written("String", &["type"]),
            "boolean" => written("bool", &["type"]),
            "integer" => match text_of(schema, "format") {
                "int32" => written("i32", &["type", "format"]),
                "int64" => written("i64", &["type", "format"]),
                // API servers ignore other formats.
                _ => without_format(written("i64", &["type", "format"])),
            },
            "number" => match text_of(schema, "format") {
                "double" => written("f64", &["type", "format"]),
                "float" => written("f64", &["type"]),
                _ => without_format(written("f64", &["type", "format"])),
            },
            "array" => self.list(schema, at, go),
            "object" if has("additionalProperties") && !has("properties") && !is_open => {
                self.map(schema, at, go)
            }
            "object" if !has("additionalProperties") && (has("properties") || !is_open) => {
                if let Some((path, difference)) = self.kubernetes.nearly(schema) {
                    let place = format!("{} `{}`", at.kind, at.path.join("."));
                    let near = (format!("{path}{difference}"), place);
                    if !self.near.iter().any(|(it, _)| *it == near.0) {
                        self.near.push(near);
                    }
                }
                let structure = self.structure(schema, at, go, &[]);
                let id = self.defined(Body::Struct(structure), schema, at, go);
                Made::new(Shape::Defined(id), Vec::new())
            }
            _ => self.value(schema, at),
        }
    }

    /// Any JSON value, with the whole schema beside it.
    fn value(&mut self, schema: &Value, at: &Use) -> Made {
        let keywords = rest(schema, &[]);
        let is_plain = keywords
            .iter()
            .all(|(key, _)| key == "type" || key.starts_with("x-kubernetes-"));
        if !is_plain {
            let place = format!("{} {}", at.kind, at.path.join("."));
            if !self.values.contains(&place) {
                self.values.push(place);
            }
        }
        Made::new(Shape::Written(JSON_VALUE.to_owned()), keywords)
    }

    fn enumerated(&mut self, schema: &Value, at: &Use, go: Go) -> Made {
        let values = list_of(schema, "enum").iter().filter_map(Value::as_str);
        let mut distinct: Vec<String> = Vec::new();
        for value in values {
            if !distinct.iter().any(|it| it == value) {
                distinct.push(value.to_owned());
            }
        }
        let id = self.defined(Body::Enum(distinct), &Value::Null, at, go);
        Made::new(Shape::Defined(id), rest(schema, &["enum", "type"]))
    }

    fn list(&mut self, schema: &Value, at: &Use, go: Go) -> Made {
        let items = schema.get("items").unwrap_or(&Value::Null);
        let mut element = self.made(items, at, go);
        let mut keywords = rest(schema, &["items", "type"]);
        // `kbr manifests` takes conditions for a map unless the type says something else.
        let is_condition = matches!(&element.shape, Shape::Written(path) if path == CONDITION);
        if is_condition && schema.get(LIST_TYPE).is_none() {
            keywords.push((LIST_TYPE.to_owned(), json!("atomic")));
        }
        let mut inner = Vec::new();
        if !element.keywords.is_empty() || !element.inner.is_empty() || has_own(items) {
            let is_simple =
                |(key, value): &(String, Value)| OF_INNER.contains(&&**key) && !is_wide(value);
            let can_be_inner = match element.shape {
                Shape::Written(_) | Shape::List(_) => !has_own(items),
                _ => false,
            };
            if can_be_inner && element.inner.is_empty() && element.keywords.iter().all(is_simple) {
                inner = std::mem::take(&mut element.keywords);
            } else {
                keywords.push(("items".to_owned(), shielded(&bare(items))));
            }
        }
        let shape = Shape::List(Box::new(nullable(element.shape, items)));
        Made {
            shape,
            keywords,
            inner,
        }
    }

    fn map(&mut self, schema: &Value, at: &Use, go: Go) -> Made {
        let any = json!({ "x-kubernetes-preserve-unknown-fields": true });
        let mut keywords = rest(schema, &["additionalProperties", "type"]);
        let values = match schema.get("additionalProperties") {
            Some(Value::Bool(true)) | None => &any,
            Some(values) => values,
        };
        let element = self.made(values, at, go);
        let is_any = *values == any;
        if !is_any && (!element.keywords.is_empty() || !element.inner.is_empty() || has_own(values))
        {
            keywords.push(("additionalProperties".to_owned(), shielded(&bare(values))));
        }
        let shape = Shape::Map(Box::new(nullable(element.shape, values)));
        Made::new(shape, keywords)
    }

    /// The index of a struct or enum, which is new unless an equal one is known.
    fn defined(&mut self, body: Body, schema: &Value, at: &Use, go: Go) -> usize {
        let key = format!("{body:?}");
        let doc = schema.get("description").and_then(Value::as_str);
        let doc = doc.filter(|doc| !doc.trim().is_empty()).map(str::to_owned);
        let go_name = go.declared().map(|_| go.name.to_owned());
        if let Some(&id) = self.known.get(&key) {
            let known = &mut self.definitions[id];
            known.go_name = known
                .go_name
                .take()
                .filter(|name| Some(name) == go_name.as_ref());
            if known.go_name.is_none() {
                known.constants.clear();
            }
            if known.first_use > *at {
                known.first_use = at.clone();
                known.fixed_name = None;
            }
            return id;
        }
        self.definitions.push(Definition {
            body,
            doc,
            first_use: at.clone(),
            constants: go
                .declared()
                .map(|it| it.constants.clone())
                .unwrap_or_default(),
            go_name,
            fixed_name: None,
        });
        let id = self.definitions.len() - 1;
        self.known.insert(key, id);
        id
    }

    /// The struct of the status of a kind.
    pub(super) fn status(&mut self, schema: &Value, at: &Use, go: Go) -> usize {
        let at = at.field("status");
        let mut structure = self.structure(schema, &at, go.field("status"), &[]);
        if let Some(default) = schema.get("default") {
            structure
                .keywords
                .push(("default".to_owned(), default.clone()));
        }
        if may_be_null(schema) {
            structure
                .keywords
                .push(("nullable".to_owned(), json!(true)));
        }
        let id = self.defined(Body::Struct(structure), schema, &at, go.field("status"));
        self.fix_name(id, &at, "Status");
        id
    }

    /// Names the struct of a part of a kind, if it is not another's too.
    pub(super) fn fix_name(&mut self, id: usize, at: &Use, ending: &str) {
        let definition = &mut self.definitions[id];
        if definition.first_use == *at {
            definition.fixed_name = Some(format!("{}{ending}", at.kind));
        }
    }

    /// Gives every definition a name, which no other of the version has and which is not in `taken`.
    pub(super) fn names(&self, taken: &[String]) -> Vec<String> {
        let mut order: Vec<usize> = (0..self.definitions.len()).collect();
        order.sort_by_key(|&id| {
            let definition = &self.definitions[id];
            (definition.fixed_name.is_none(), &definition.first_use)
        });
        let mut names = vec![String::new(); self.definitions.len()];
        let mut all = HashMap::<usize, HashSet<String>>::new();
        for id in order {
            let definition = &self.definitions[id];
            let used = all.entry(definition.first_use.version);
            let used = used.or_insert_with(|| taken.iter().cloned().collect());
            let of_path = || {
                let at = &definition.first_use;
                let skipped =
                    usize::from(at.path.first().is_some_and(|it| it == "spec") && at.depth > 1);
                let mut parts: Vec<String> = at
                    .path
                    .iter()
                    .skip(skipped)
                    .map(|it| names::type_part(it))
                    .collect();
                // The end of a path says more than its middle.
                while parts.len() > 1 && at.kind.len() + parts.concat().len() > LONGEST_NAME {
                    parts.remove(0);
                }
                format!("{}{}", at.kind, parts.concat())
            };
            let of_go = definition
                .go_name
                .clone()
                .filter(|name| !used.contains(name));
            let name = match (&definition.fixed_name, of_go) {
                (Some(fixed), _) => fixed.clone(),
                (None, Some(go)) => go,
                (None, None) => names::free(of_path(), |name| used.contains(name)),
            };
            used.insert(name.clone());
            names[id] = name;
        }
        names
    }
}

/// Whether a schema is that of a time, and says nothing else.
fn is_time(schema: &Value) -> bool {
    let mut keywords = schema.as_object().into_iter().flatten();
    text_of(schema, "format") == "date-time"
        && keywords
            .all(|(key, _)| ["format", "type"].contains(&&**key) || OF_FIELD.contains(&&**key))
}

/// Whether all integers of a schema have 32 bits.
fn is_narrow(schema: &Value) -> bool {
    let is_small = |key: &str| {
        let bound = schema.get(key).and_then(Value::as_i64);
        bound.is_some_and(|bound| i32::try_from(bound).is_ok())
    };
    is_small("minimum") && is_small("maximum")
}

fn without_format(mut made: Made) -> Made {
    made.keywords.push(("format".to_owned(), Value::Null));
    made
}
