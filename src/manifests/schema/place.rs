//! The position of the finishing pass: definitions by name, one node, its path, and how it is written.
//!
//! Everything here borrows schemars' documents and changes nothing.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::Object;
use super::structure::only_restrict;
use crate::manifests::json::{list_of, object_of, path_of, requires, text_of};

/// The name by which schemars refers to the root type from within itself.
pub(super) const ROOT: &str = "#";

const DEFINITIONS: &str = "#/$defs/";

/// The `$defs` of a root schema.
#[derive(Clone, Copy)]
pub(super) struct Definitions<'a>(Option<&'a Object>);

impl<'a> Definitions<'a> {
    pub(super) fn of(root: &'a Value) -> Self {
        Self(object_of(root, "$defs"))
    }

    /// The name that a `$ref` refers to, if there is such a definition.
    pub(super) fn name(self, reference: &str) -> Option<&'a str> {
        if reference == ROOT {
            return Some(ROOT);
        }
        let name = decode(reference.strip_prefix(DEFINITIONS)?);
        self.0?.get_key_value(&name).map(|(name, _)| name.as_str())
    }

    pub(super) fn get(self, name: &str) -> Option<&'a Value> {
        self.0?.get(name)
    }
}

/// Decodes the escapes of a JSON pointer in a URI fragment, which names of generic types need.
/// RFC 6901, sections 4 and 6.
fn decode(name: &str) -> String {
    let pointer = percent_decode_str(name).decode_utf8_lossy();
    pointer.replace("~1", "/").replace("~0", "~")
}

/// Whether a schema accepts null and nothing else: the other half of an `Option`.
pub(super) fn is_null(schema: &Value) -> bool {
    schema.get("type").is_some_and(|kind| kind == "null")
}

/// One schema, without the `anyOf` that schemars puts around the type of an `Option`.
#[derive(Default)]
pub(super) struct Node<'a> {
    pub(super) reference: Option<&'a str>,
    /// All keywords except `$ref`. The outer one wins if an `Option` and its type both set it.
    pub(super) entries: Vec<(&'a str, &'a Value)>,
    pub(super) nullable: bool,
}

impl<'a> Node<'a> {
    pub(super) fn of(schema: &'a Value) -> Self {
        let mut node = Self::default();
        node.add(schema);
        node
    }

    fn add(&mut self, schema: &'a Value) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        let inner = optional(schema);
        for (key, value) in schema {
            match (key.as_str(), value) {
                ("$ref", Value::String(reference)) => self.reference = Some(reference),
                ("$defs", _) => {}
                ("anyOf", _) if inner.is_some() => {}
                (key, value) if !self.has(key) => self.entries.push((key, value)),
                _ => {}
            }
        }
        if let Some(inner) = inner {
            self.nullable = true;
            self.add(inner);
        }
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.value(key).is_some()
    }

    /// Whether the node sets that keyword to true.
    pub(super) fn says(&self, keyword: &str) -> bool {
        self.value(keyword).is_some_and(|value| *value == true)
    }

    /// Whether schemars made it from `f32` or `f64`: a number without a format is not from either.
    pub(super) fn is_float(&self) -> bool {
        let is_number = match self.value("type") {
            Some(Value::Array(types)) => types.iter().any(|it| it == "number"),
            Some(of_type) => of_type == "number",
            None => false,
        };
        let format = self.value("format").and_then(Value::as_str);
        is_number && matches!(format, Some("double" | "float"))
    }

    fn value(&self, keyword: &str) -> Option<&'a Value> {
        let mut entries = self.entries.iter();
        entries.find_map(|(key, value)| (*key == keyword).then_some(*value))
    }

    /// The keywords next to a reference to a type of Kubernetes.
    pub(super) fn settings(&self, foreign: bool) -> Object {
        let entries = self.entries.iter();
        let own = entries.filter(|(key, _)| !(foreign && *key == "description"));
        own.map(|&(key, value)| (key.to_owned(), value.clone()))
            .collect()
    }
}

/// The type `T` of an `Option<T>` that schemars could not describe by adding null to a `type`.
fn optional(schema: &Object) -> Option<&Value> {
    let members = schema.get("anyOf")?.as_array()?;
    match members.as_slice() {
        [inner, null] if is_null(null) && !is_null(inner) => Some(inner),
        _ => None,
    }
}

/// The schemas that describe how a field is written, one for each alternative it may take.
struct Written<'a> {
    definitions: Definitions<'a>,
    shapes: Vec<&'a Object>,
}

impl<'a> Written<'a> {
    fn of(definitions: Definitions<'a>, schemas: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut written = Self {
            definitions,
            shapes: Vec::new(),
        };
        for schema in schemas {
            written.add(schema, &mut Vec::new());
        }
        written
    }

    fn add(&mut self, schema: &'a Value, open: &mut Vec<&'a str>) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        self.shapes.push(schema);
        if let Some(name) = self.definitions.name(text_of(schema, "$ref"))
            && let Some(definition) = self.definitions.get(name)
            && !open.contains(&name)
        {
            open.push(name);
            self.add(definition, open);
            open.pop();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            let members = list_of(schema, key);
            // Those of the user say what is valid, not what is written.
            if !only_restrict(members) {
                for member in members {
                    self.add(member, open);
                }
            }
        }
    }

    /// How a field or an element is written; `find` looks for it in each shape.
    fn below(&self, find: impl Fn(&'a Object) -> Option<&'a Value>) -> Self {
        let schemas = self.shapes.iter().copied().filter_map(find);
        Self::of(self.definitions, schemas)
    }
}

/// A field that the pass visits.
pub(super) struct SchemaPlace<'a> {
    pub(super) path: String,
    written: Written<'a>,
    /// Whether it is inside the definition of a type of Kubernetes.
    pub(super) is_foreign: bool,
    /// An element is always written in its list. A field may be null only if it is never omitted.
    pub(super) may_be_null: bool,
}

impl<'a> SchemaPlace<'a> {
    /// The root of the type that is written as `serialize` says.
    pub(super) fn root(serialize: &'a Value) -> Self {
        Self {
            path: String::new(),
            written: Written::of(Definitions::of(serialize), [serialize]),
            is_foreign: false,
            may_be_null: false,
        }
    }

    pub(super) fn property(&self, name: &str) -> Self {
        let mut shapes = self.written.shapes.iter();
        Self {
            path: path_of(&self.path, name),
            written: self
                .written
                .below(|shape| shape.get("properties")?.get(name)),
            is_foreign: self.is_foreign,
            may_be_null: shapes.any(|shape| requires(shape, name)),
        }
    }

    /// The elements of a list or map, which are below that keyword.
    pub(super) fn element(&self, keyword: &str, step: &str) -> Self {
        Self {
            path: format!("{}{step}", self.path),
            written: self.written.below(|shape| shape.get(keyword)),
            is_foreign: self.is_foreign,
            may_be_null: true,
        }
    }

    /// The same field, seen from inside the definition of a type of Kubernetes.
    ///
    /// No field of such a type is ever written as null, so there is nothing to look up.
    pub(super) fn inside_foreign(&self) -> Self {
        Self {
            path: self.path.clone(),
            written: self.written.below(|_| None),
            is_foreign: true,
            may_be_null: false,
        }
    }
}
