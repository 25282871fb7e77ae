// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Reads and writes types as JSON, and says why an object does not fit its type in words that may be logged.
//!
//! A [`Value`] is read and written by way of text. serde's direct conversion would be compiled for each type
//! in addition to that of text: half a megabyte in an operator whose resource has a pod template.

mod place;
mod skeleton;

use std::fmt;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::panic::catch_unwind;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

pub(crate) use skeleton::skeleton;

/// Why an object cannot be read. Its values are left out: they may be secrets.
#[derive(Clone, Debug, thiserror::Error)]
pub(crate) struct DecodeError {
    /// The field that does not fit, such as `spec.replicas`; `.` for the object itself.
    pub(crate) field: String,
    /// What is wrong with it.
    pub(crate) reason: String,
}

impl fmt::Display for DecodeError {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}: {}", self.field, self.reason)
    }
}

/// Reads an object from JSON.
///
/// # Errors
///
/// The field that does not fit, and why.
pub(crate) fn read_text<'a, T: Deserialize<'a>>(text: &'a str) -> Result<T, DecodeError> {
    serde_json::from_str(text).map_err(|error| DecodeError {
        field: place::field(text, &error),
        reason: without_value(&error.to_string()),
    })
}

/// Reads an object whose type may have code of the user in its `Deserialize`.
///
/// # Errors
///
/// The field that does not fit, and why; or that this code panicked.
pub(crate) fn read_object<T: DeserializeOwned>(text: &str) -> Result<T, DecodeError> {
    let read = catch_unwind(|| read_text(text));
    read.unwrap_or_else(|_| {
        Err(DecodeError {
            field: ".".to_owned(),
            reason: "the code that reads it panicked".to_owned(),
        })
    })
}

/// Reads an object from a JSON value.
///
/// # Errors
///
/// The field that does not fit, and why.
pub(crate) fn read_value<T: DeserializeOwned>(value: &Value) -> Result<T, DecodeError> {
    read_text(&value.to_string())
}

/// Writes an object as a JSON value.
///
/// # Errors
///
/// If it has a map whose keys are not strings, or if its own serialization fails.
pub(crate) fn write_value<T: Serialize>(object: &T) -> serde_json::Result<Value> {
    serde_json::from_str(&serde_json::to_string(object)?)
}

/// The hash of a JSON value. It is the same only within one process.
pub(crate) fn hash_of(value: &Value) -> u64 {
    hash_of_text(&value.to_string())
}

/// The hash of a text. It is the same only within one process.
pub(crate) fn hash_of_text(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// An error of serde without the value that it quotes, and without the position in the text.
fn without_value(error: &str) -> String {
    let error = error
        .rsplit_once(" at line ")
        .map_or(error, |(text, _)| text);
    if error.starts_with("missing field") {
        return error.to_owned();
    }
    match error.rsplit_once(", expected ") {
        Some((_, expected)) => format!("expected {expected}"),
        None => "it does not fit".to_owned(),
    }
}

#[cfg(test)]
mod tests;
