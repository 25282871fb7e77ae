//! What is the same in all modules of a group, and how each field is optional. Pure.

use serde_json::Value;

use super::model::{Body, Definition, Field, Shape, Struct};

/// The types of Kubernetes without a default.
const NO_DEFAULT: [&str; 2] = ["meta::MicroTime", CONDITION];

pub(super) const CONDITION: &str = "meta::Condition";

/// Structs of at least this size are boxed: a value of a large kind would else need most of a stack.
pub(super) const LARGE: usize = 1024;

/// Everything that the modules of a group have in common.
pub(super) struct Group<'a> {
    pub(crate) definitions: &'a [Definition],
    pub(crate) names: &'a [String],
    pub(crate) versions: &'a [String],
    pub(crate) sizes: Vec<usize>,
    /// Whether each implements `Default`.
    defaults: Vec<bool>,
}

impl<'a> Group<'a> {
    pub(super) fn of(
        definitions: &'a [Definition],
        names: &'a [String],
        versions: &'a [String],
    ) -> Self {
        let mut group = Self {
            definitions,
            names,
            versions,
            sizes: Vec::new(),
            defaults: Vec::new(),
        };
        // A definition only refers to earlier ones.
        for definition in definitions {
            let size = match &definition.body {
                Body::Enum(_) => 1,
                Body::Struct(it) => it.fields.iter().map(|field| group.size(&field.shape)).sum(),
            };
            group.sizes.push(size);
            let has_default = match &definition.body {
                Body::Enum(_) => true,
                Body::Struct(structure) => group.is_default(structure),
            };
            group.defaults.push(has_default);
        }
        group
    }

    /// Whether a struct can have a default: all fields that are always there can.
    pub(super) fn is_default(&self, structure: &Struct) -> bool {
        structure
            .fields
            .iter()
            .all(|field| match (form(self, field), &field.shape) {
                (Form::Plain, Shape::Written(path)) => !NO_DEFAULT.contains(&path.as_str()),
                (Form::Plain, Shape::Defined(id)) => self.defaults[*id],
                _ => true,
            })
    }

    fn size(&self, shape: &Shape) -> usize {
        match shape {
            Shape::Written(path) if matches!(path.as_str(), "bool" | "i32") => 8,
            Shape::Written(path) if path.starts_with("corev1::Pod") => LARGE,
            Shape::Written(path) if path.contains("v1::") => 128,
            Shape::Defined(id) if self.sizes[*id] < LARGE => self.sizes[*id],
            Shape::Defined(_) => 8,
            Shape::Nullable(inner) => self.size(inner),
            Shape::Written(_) | Shape::List(_) | Shape::Map(_) => 24,
        }
    }
}

/// How a field is optional.
#[derive(PartialEq, Eq)]
pub(super) enum Form {
    /// Always there.
    Plain,
    /// Always there once the API server has set its default.
    Defaulted,
    /// An empty list is as good as none.
    Listed,
    Optional,
}

pub(super) fn is_number(shape: &Shape) -> bool {
    matches!(shape, Shape::Written(path) if path == "f64")
}

pub(super) fn form(group: &Group, field: &Field) -> Form {
    if field.is_nullable {
        return Form::Optional;
    }
    let is_condition =
        |element: &Shape| matches!(element, Shape::Written(path) if path == CONDITION);
    match (&field.default, &field.shape) {
        (None, _) if field.is_required => Form::Plain,
        (None, Shape::List(element)) if is_condition(element) && !field.is_counted => Form::Listed,
        (None, _) => Form::Optional,
        (Some(default), shape) if is_written(group, default, shape) => Form::Defaulted,
        (Some(_), _) => Form::Optional,
    }
}

/// Whether a default is a literal of the type.
fn is_written(group: &Group, default: &Value, shape: &Shape) -> bool {
    match (shape, default) {
        (Shape::Written(path), Value::String(_)) => path == "String",
        (Shape::Written(path), Value::Bool(_)) => path == "bool",
        (Shape::Written(path), Value::Number(number)) => match path.as_str() {
            "i32" => number.as_i64().is_some_and(|it| i32::try_from(it).is_ok()),
            "i64" => number.is_i64(),
            "f64" => true,
            _ => false,
        },
        (Shape::Defined(id), Value::String(text)) => match &group.definitions[*id].body {
            Body::Enum(values) => values.contains(text),
            Body::Struct(_) => false,
        },
        _ => false,
    }
}

pub(super) fn has_defaults(group: &Group, structure: &Struct) -> bool {
    structure
        .fields
        .iter()
        .any(|field| form(group, field) == Form::Defaulted)
}
