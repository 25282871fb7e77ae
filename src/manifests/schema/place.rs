//! The position of the finishing pass: definitions by reference, the path of a field, and how it is written.
//!
//! Everything here borrows schemars' documents and changes nothing.

use percent_encoding::percent_decode_str;
use serde_json::Value;

use super::Object;
use crate::manifests::json::{list_of, object_of, path_of, requires, text_of};

/// The name by which schemars refers to the root type from within itself.
pub(super) const ROOT: &str = "#";

/// The definition that a `$ref` refers to, with its name.
pub(super) fn definition<'a>(root: &'a Value, reference: &str) -> Option<(&'a str, &'a Value)> {
    if reference == ROOT {
        return Some((ROOT, root));
    }
    let name = decode(reference.strip_prefix("#/$defs/")?);
    let (name, definition) = object_of(root, "$defs")?.get_key_value(&name)?;
    Some((name, definition))
}

/// Decodes the escapes of a JSON pointer in a URI fragment, which names of generic types need.
/// RFC 6901, sections 4 and 6.
fn decode(name: &str) -> String {
    let pointer = percent_decode_str(name).decode_utf8_lossy();
    pointer.replace("~1", "/").replace("~0", "~")
}

/// A field that the pass visits.
pub(super) struct SchemaPlace<'a> {
    pub(super) path: String,
    /// The root schema that describes how the type is written.
    serialize: &'a Value,
    /// The schemas that describe how it is written, one for each alternative it may take.
    written: Vec<&'a Object>,
    /// Whether it is inside the definition of a type of Kubernetes.
    pub(super) is_foreign: bool,
    /// An element is always written in its list. A field may be null only if it is never omitted.
    pub(super) may_be_null: bool,
}

impl<'a> SchemaPlace<'a> {
    /// The root of the type that is written as `serialize` says.
    pub(super) fn root(serialize: &'a Value) -> Self {
        let mut root = Self {
            path: String::new(),
            serialize,
            written: Vec::new(),
            is_foreign: false,
            may_be_null: false,
        };
        root.add(serialize, &mut Vec::new());
        root
    }

    fn add(&mut self, schema: &'a Value, open: &mut Vec<&'a str>) {
        let Some(schema) = schema.as_object() else {
            return;
        };
        self.written.push(schema);
        if let Some((name, definition)) = definition(self.serialize, text_of(schema, "$ref"))
            && !open.contains(&name)
        {
            open.push(name);
            self.add(definition, open);
            open.pop();
        }
        for key in ["anyOf", "oneOf", "allOf"] {
            for member in list_of(schema, key) {
                self.add(member, open);
            }
        }
    }

    pub(super) fn property(&self, name: &str) -> Self {
        let mut written = self.written.iter();
        Self {
            may_be_null: written.any(|schema| requires(schema, name)),
            ..self.below(path_of(&self.path, name), |schema| {
                schema.get("properties")?.get(name)
            })
        }
    }

    /// The elements of a list or map, which are below that keyword.
    pub(super) fn element(&self, keyword: &str, step: &str) -> Self {
        Self {
            may_be_null: true,
            ..self.below(format!("{}{step}", self.path), |schema| schema.get(keyword))
        }
    }

    /// The same field, seen from inside the definition of a type of Kubernetes.
    ///
    /// No field of such a type is ever written as null, so there is nothing to look up.
    pub(super) fn inside_foreign(&self) -> Self {
        Self {
            is_foreign: true,
            ..self.below(self.path.clone(), |_| None)
        }
    }

    /// What is at `path`; `find` looks for it in each schema that describes how this place is written.
    fn below(&self, path: String, find: impl Fn(&'a Object) -> Option<&'a Value>) -> Self {
        let mut below = Self {
            path,
            written: Vec::new(),
            may_be_null: false,
            ..*self
        };
        for schema in self.written.iter().copied().filter_map(find) {
            below.add(schema, &mut Vec::new());
        }
        below
    }
}
