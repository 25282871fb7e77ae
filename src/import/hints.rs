//! What the Go sources of an operator say about its types that CRDs do not: the names of structs and constants,
//! the order of fields, and comments. Pure.
//!
//! Hints only choose names, an order and comments; the schema decides everything else. Where a hint does not agree
//! with the schema, it is ignored.

use std::collections::BTreeMap;

/// The types of one Go package, by their names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GoPackage {
    pub(crate) types: BTreeMap<String, GoType>,
}

/// The declaration of a type: a struct, or a name for another type.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GoType {
    pub(crate) doc: String,
    /// In the order of the source; empty if the type is not a struct.
    pub(crate) fields: Vec<GoField>,
    /// The constants of the type, in the order of the source; none for a struct.
    pub(crate) constants: Vec<GoConstant>,
}

/// A field of a struct.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GoField {
    /// The name in JSON; empty if the struct in the field is inlined.
    pub(crate) json: String,
    pub(crate) doc: String,
    /// The type in the same package that the field has, or that the elements of its list or map have: `Job` for
    /// `[]Job`, `map[string]*Job` and `*Job`. Empty for any other type.
    pub(crate) type_name: String,
}

/// A constant whose type is a name for a string.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct GoConstant {
    pub(crate) name: String,
    pub(crate) value: String,
    pub(crate) doc: String,
}

/// The packages of an operator, by group and version, such as `("batch.example.com", "v1")`. The type of a kind has the
/// name of the kind.
pub(crate) type Hints = BTreeMap<(String, String), GoPackage>;
