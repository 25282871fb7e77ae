// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The outcome of a validator: errors in fields, worded like the API server's own, and warnings.

mod path;

use std::fmt;

use serde::Serialize;

pub use path::FieldPath;
pub(super) use path::escape;

/// The outcome of a [`Validator`](super::Validator): errors and warnings. Without errors, the request
/// is allowed.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct ValidationOutcome {
    /// Why the request is denied. Report all errors at once, so that the user can fix them together.
    pub errors: Vec<FieldError>,
    /// Warnings that kubectl shows to the user, whether the request is allowed or denied. The API
    /// server's limit is 256 characters each; longer warnings are truncated.
    pub warnings: Vec<String>,
}

impl ValidationOutcome {
    /// Adds an error, which denies the request.
    pub fn deny(&mut self, error: FieldError) {
        self.errors.push(error);
    }

    /// Adds a warning, which does not deny the request.
    pub fn warn(&mut self, warning: impl Into<String>) {
        self.warnings.push(warning.into());
    }

    /// Whether there are no errors.
    #[must_use]
    pub fn is_allowed(&self) -> bool {
        self.errors.is_empty()
    }
}

impl From<FieldError> for ValidationOutcome {
    fn from(error: FieldError) -> Self {
        vec![error].into()
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

/// An error in one field, worded like the API server's own errors.
///
/// The functions correspond to those of the Go package `k8s.io/apimachinery/pkg/util/validation/field`.
///
/// ```
/// use kbr_runtime::webhook::{FieldError, FieldPath};
///
/// let field = FieldPath::new("spec").child("replicas");
/// let error = FieldError::invalid(&field, -1, "must not be negative");
/// assert_eq!(error.to_string(), "spec.replicas: Invalid value: -1: must not be negative");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldError {
    /// A `type` of `CauseType` in `k8s.io/apimachinery`, such as `FieldValueInvalid`.
    pub(crate) reason: &'static str,
    /// Path of the field, such as `spec.schedule`.
    pub(crate) field: FieldPath,
    /// Everything after the path.
    pub(crate) message: String,
}

impl FieldError {
    /// `Required value`: the field is missing or empty. `detail` may be empty.
    pub fn required(field: &FieldPath, detail: impl fmt::Display) -> Self {
        Self::new("FieldValueRequired", field, "Required value", detail)
    }

    /// `Invalid value`: `detail` says what the value must be.
    pub fn invalid(field: &FieldPath, value: impl Serialize, detail: impl fmt::Display) -> Self {
        let title = format!("Invalid value: {}", json(value));
        Self::new("FieldValueInvalid", field, &title, detail)
    }

    /// `Invalid value`, with the cause `FieldValueTypeInvalid`: the value has the wrong type.
    pub fn type_invalid(
        field: &FieldPath,
        value: impl Serialize,
        detail: impl fmt::Display,
    ) -> Self {
        let reason = "FieldValueTypeInvalid";
        Self {
            reason,
            ..Self::invalid(field, value, detail)
        }
    }

    /// `Unsupported value`: the value is not one of the `supported` values.
    pub fn not_supported(field: &FieldPath, value: impl Serialize, supported: &[&str]) -> Self {
        let quoted: Vec<_> = supported.iter().map(json).collect();
        let detail = match quoted.as_slice() {
            [] => String::new(),
            values => format!("supported values: {}", values.join(", ")),
        };
        let title = format!("Unsupported value: {}", json(value));
        Self::new("FieldValueNotSupported", field, &title, detail)
    }

    /// `Forbidden`: the value is valid in itself but not allowed here, for the reason in `detail`.
    pub fn forbidden(field: &FieldPath, detail: impl fmt::Display) -> Self {
        Self::new("FieldValueForbidden", field, "Forbidden", detail)
    }

    /// `Duplicate value`: the value occurs twice and must be unique.
    pub fn duplicate(field: &FieldPath, value: impl Serialize) -> Self {
        Self::new("FieldValueDuplicate", field, "Duplicate value", json(value))
    }

    /// `Not found`: the value refers to something that does not exist.
    pub fn not_found(field: &FieldPath, value: impl Serialize) -> Self {
        Self::new("FieldValueNotFound", field, "Not found", json(value))
    }

    /// `Too long`: the text has more than `max` bytes. The message does not repeat the text.
    pub fn too_long(field: &FieldPath, max: usize) -> Self {
        let unit = if max == 1 { "byte" } else { "bytes" };
        let detail = format!("may not be more than {max} {unit}");
        Self::new("FieldValueTooLong", field, "Too long", detail)
    }

    /// `Too many`: the list has `actual` items, and at most `max` are allowed.
    pub fn too_many(field: &FieldPath, actual: usize, max: usize) -> Self {
        let unit = if max == 1 { "item" } else { "items" };
        let detail = format!("{actual}: must have at most {max} {unit}");
        Self::new("FieldValueTooMany", field, "Too many", detail)
    }

    fn new(reason: &'static str, field: &FieldPath, title: &str, detail: impl ToString) -> Self {
        let detail = detail.to_string();
        let colon = if detail.is_empty() { "" } else { ": " };
        Self {
            reason,
            field: field.clone(),
            message: format!("{title}{colon}{detail}"),
        }
    }
}

impl fmt::Display for FieldError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.message)
    }
}

fn json(value: impl Serialize) -> String {
    serde_json::to_string(&value).unwrap_or_default()
}
