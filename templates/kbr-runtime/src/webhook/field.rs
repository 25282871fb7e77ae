// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a validator says: errors of fields in the API server's own words, and warnings.

mod path;

use std::fmt;

use serde::Serialize;

pub use path::FieldPath;

/// What a validator has to say about an object. Without an error it is allowed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ValidationOutcome {
    /// Why the object is refused, all of it at once.
    pub errors: Vec<FieldError>,
    /// What kubectl shows to the user beside the outcome, refused or not. The API server wants each
    /// to be a line of at most 256 characters: longer ones are cut.
    pub warnings: Vec<String>,
}

impl ValidationOutcome {
    /// Refuses the object for one more reason.
    pub fn deny(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Tells the user something without refusing the object for it.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Whether nothing speaks against the object.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty()
    }
}

impl From<Vec<FieldError>> for ValidationOutcome {
    fn from(errors: Vec<FieldError>) -> Self {
        Self {
            errors,
            warnings: Vec::new(),
        }
    }
}

impl FromIterator<FieldError> for ValidationOutcome {
    fn from_iter<I: IntoIterator<Item = FieldError>>(errors: I) -> Self {
        Vec::from_iter(errors).into()
    }
}

/// What is wrong with one field, worded as the API server words its own errors.
///
/// The functions are those of `field.Error` in `k8s.io/apimachinery`.
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    /// A `type` of `CauseType` in `k8s.io/apimachinery`, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// Path of the field, such as `spec.schedule`.
    pub(crate) field: String,
    /// All that stands behind the path.
    pub(crate) message: String,
}

impl FieldError {
    /// There must be a value, as `detail` says; it may be empty.
    pub fn required(field: &FieldPath, detail: impl fmt::Display) -> Self {
        Self::new("FieldValueRequired", field, "Required value", detail)
    }

    /// The value is not as `detail` says that it must be.
    pub fn invalid(field: &FieldPath, value: impl Serialize, detail: impl fmt::Display) -> Self {
        let title = with_value("Invalid value", value);
        Self::new("FieldValueInvalid", field, title, detail)
    }

    /// The value is of a type that the field cannot have.
    pub fn type_invalid(
        field: &FieldPath,
        value: impl Serialize,
        detail: impl fmt::Display,
    ) -> Self {
        let title = with_value("Invalid value", value);
        Self::new("FieldValueTypeInvalid", field, title, detail)
    }

    /// The value is none of the `supported` ones.
    pub fn not_supported(field: &FieldPath, value: impl Serialize, supported: &[&str]) -> Self {
        let quoted: Vec<_> = supported.iter().map(json).collect();
        let detail = match quoted.as_slice() {
            [] => String::new(),
            values => format!("supported values: {}", values.join(", ")),
        };
        let title = with_value("Unsupported value", value);
        Self::new("FieldValueNotSupported", field, title, detail)
    }

    /// The value would do elsewhere, but not here or now, as `detail` says.
    pub fn forbidden(field: &FieldPath, detail: impl fmt::Display) -> Self {
        Self::new("FieldValueForbidden", field, "Forbidden", detail)
    }

    /// The value must be unique and is there twice.
    pub fn duplicate(field: &FieldPath, value: impl Serialize) -> Self {
        let title = with_value("Duplicate value", value);
        Self::new("FieldValueDuplicate", field, title, "")
    }

    /// The value names something that does not exist.
    pub fn not_found(field: &FieldPath, value: impl Serialize) -> Self {
        let title = with_value("Not found", value);
        Self::new("FieldValueNotFound", field, title, "")
    }

    /// The text has more than `max` bytes. Being long, it is not repeated.
    pub fn too_long(field: &FieldPath, max: usize) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::new("FieldValueTooLong", field, "Too long", detail)
    }

    /// The list has `actual` items, more than `max`.
    pub fn too_many(field: &FieldPath, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("must have at most {max} {unit}");
        let title = with_value("Too many", actual);
        Self::new("FieldValueTooMany", field, title, detail)
    }

    fn new(
        reason: &'static str,
        field: &FieldPath,
        title: impl Into<String>,
        detail: impl fmt::Display,
    ) -> Self {
        let mut message = title.into();
        let detail = detail.to_string();
        if !detail.is_empty() {
            message.push_str(": ");
            message.push_str(&detail);
        }
        Self {
            reason,
            field: field.to_string(),
            message,
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

fn with_value(title: &str, value: impl Serialize) -> String {
    format!("{title}: {}", json(value))
}

fn json(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}

#[cfg(test)]
mod tests;
