//! The types that are made of schemas: structs, enums and what their fields say. Pure.

use serde_json::Value;

use crate::import::hints::GoConstant;

/// A type in Rust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Shape {
    /// As written, such as `String` or `corev1::PodSpec`.
    Written(String),
    /// A struct or an enum, by its number.
    Defined(usize),
    List(Box<Shape>),
    Map(Box<Shape>),
    /// An element that may be null.
    Nullable(Box<Shape>),
}

pub(super) const JSON_VALUE: &str = "serde_json::Value";
/// A time with fractions of a second, which the `Time` of Kubernetes drops. Its schema is that of [`TIME_OF_KUBERNETES`].
pub(super) const TIME: &str = "jiff::Timestamp";
pub(super) const TIME_OF_KUBERNETES: &str = "meta::Time";
pub(super) const INT_OR_STRING: &str = "intstr::IntOrString";

/// A struct or an enum.
#[derive(Debug)]
pub(super) struct Definition {
    pub(crate) body: Body,
    pub(crate) doc: Option<String>,
    /// Where it is used; the first gives it its name and its module.
    pub(crate) first_use: Use,
    /// The name of its struct in Go, if all uses agree.
    pub(crate) go_name: Option<String>,
    /// The constants of an enum in Go, if all uses agree.
    pub(crate) constants: Vec<GoConstant>,
    /// The name that it must have.
    pub(crate) fixed_name: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    Struct(Struct),
    Enum(Vec<String>),
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Struct {
    pub(crate) fields: Vec<Field>,
    /// Whether fields that are not listed are kept.
    pub(crate) is_open: bool,
    /// The keywords of the schema besides the fields.
    pub(crate) keywords: Vec<(String, Value)>,
    /// Whether its fields are those of the whole object, beside those that kube gives it.
    pub(crate) is_whole: bool,
}

/// A place in a kind; ordered so that the first is the best for a name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Use {
    /// Index of the version among those of the group, in Kubernetes' order.
    pub(crate) version: usize,
    pub(crate) depth: usize,
    pub(crate) kind: String,
    pub(crate) path: Vec<String>,
}

impl Use {
    pub(super) fn root(version: usize, kind: &str) -> Self {
        Self {
            version,
            depth: 0,
            kind: kind.to_owned(),
            path: Vec::new(),
        }
    }

    pub(super) fn field(&self, name: &str) -> Self {
        let mut path = self.path.clone();
        path.push(name.to_owned());
        Self {
            version: self.version,
            depth: path.len(),
            kind: self.kind.clone(),
            path,
        }
    }
}

/// A field of a struct.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Field {
    pub(crate) json: String,
    pub(crate) shape: Shape,
    pub(crate) doc: Option<String>,
    pub(crate) is_required: bool,
    /// Whether it may be null. Beside listed values it may not, see `settle_null` in [`crate::manifests::schema`].
    pub(crate) is_nullable: bool,
    /// Whether the struct must have a number of fields, so that an empty list is not the same as none.
    pub(crate) is_counted: bool,
    pub(crate) default: Option<Value>,
    /// The keywords that the type does not imply; null removes one that it would.
    pub(crate) keywords: Vec<(String, Value)>,
    /// The keywords of the elements of the list.
    pub(crate) inner: Vec<(String, Value)>,
}
