//! Reads JSON documents, such as CRDs and their schemas. What is missing counts as empty. Pure.

use serde_json::{Map, Value};

pub(crate) type Object = Map<String, Value>;

/// The keywords of a schema for the elements of lists and maps, with their steps in a path.
pub(crate) const ELEMENTS: [(&str, &str); 2] = [("items", "[]"), ("additionalProperties", ".*")];

/// An object, or a value that may be one.
pub(crate) trait Document {
    /// The value of a key; of a whole document, also that at a pointer, such as `/spec/names/kind`.
    fn at(&self, key: &str) -> Option<&Value>;
}

impl Document for Object {
    fn at(&self, key: &str) -> Option<&Value> {
        self.get(key)
    }
}

impl Document for Value {
    fn at(&self, key: &str) -> Option<&Value> {
        if key.starts_with('/') {
            self.pointer(key)
        } else {
            self.get(key)
        }
    }
}

impl<T: Document> Document for &T {
    fn at(&self, key: &str) -> Option<&Value> {
        (**self).at(key)
    }
}

pub(crate) fn text_of<'a>(of: &'a impl Document, key: &str) -> &'a str {
    of.at(key).and_then(Value::as_str).unwrap_or_default()
}

pub(crate) fn is_true(of: &impl Document, key: &str) -> bool {
    of.at(key) == Some(&Value::Bool(true))
}

pub(crate) fn list_of<'a>(of: &'a impl Document, key: &str) -> &'a [Value] {
    let list = of.at(key).and_then(Value::as_array);
    list.map(Vec::as_slice).unwrap_or_default()
}

/// The texts in a list.
pub(crate) fn texts_of<'a>(of: &'a impl Document, key: &str) -> impl Iterator<Item = &'a str> {
    list_of(of, key).iter().filter_map(Value::as_str)
}

pub(crate) fn object_of<'a>(of: &'a impl Document, key: &str) -> Option<&'a Object> {
    of.at(key).and_then(Value::as_object)
}

/// The fields that a schema lists.
pub(crate) fn fields_of(schema: &impl Document) -> impl Iterator<Item = (&String, &Value)> {
    object_of(schema, "properties").into_iter().flatten()
}

/// The schema of a field.
pub(crate) fn field_of<'a>(schema: &'a impl Document, name: &str) -> Option<&'a Object> {
    object_of(object_of(schema, "properties")?, name)
}

/// Whether a schema requires a field.
pub(crate) fn requires(schema: &impl Document, field: &str) -> bool {
    texts_of(schema, "required").any(|name| name == field)
}

/// A schema and all schemas below it, each with its path, such as `spec.jobs[].name`.
pub(crate) fn schemas_in(schema: &Value) -> Vec<(String, &Value)> {
    let mut all = vec![(String::new(), schema)];
    let mut next = 0;
    while let Some((path, schema)) = all.get(next).cloned() {
        all.extend(fields_of(schema).map(|(name, field)| (path_of(&path, name), field)));
        let elements = ELEMENTS
            .iter()
            .filter_map(|(key, step)| Some((schema.get(*key)?, step)));
        all.extend(elements.map(|(element, step)| (format!("{path}{step}"), element)));
        next += 1;
    }
    all
}

/// Calls `each` with a schema, and then with all schemas below it.
pub(crate) fn visit_schemas(schema: &mut Object, each: &mut impl FnMut(&mut Object)) {
    each(schema);
    let fields = schema.get_mut("properties").and_then(Value::as_object_mut);
    for field in fields.into_iter().flat_map(Object::values_mut) {
        if let Some(field) = field.as_object_mut() {
            visit_schemas(field, each);
        }
    }
    for (key, _) in ELEMENTS {
        if let Some(element) = schema.get_mut(key).and_then(Value::as_object_mut) {
            visit_schemas(element, each);
        }
    }
}

/// Calls `each` with a value, and then with all values in it.
pub(crate) fn visit(value: &mut Value, each: &mut impl FnMut(&mut Value)) {
    each(value);
    match value {
        Value::Array(list) => list.iter_mut().for_each(|item| visit(item, each)),
        Value::Object(map) => map.values_mut().for_each(|value| visit(value, each)),
        _ => {}
    }
}

/// The path of a field: `spec.jobs[].name`.
pub(crate) fn path_of(parent: &str, field: &str) -> String {
    let dot = if parent.is_empty() { "" } else { "." };
    format!("{parent}{dot}{field}")
}
