// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Paths of fields, as users write them.

use std::fmt;

/// The path of a field, such as `spec.containers[0].name`. It corresponds to `field.Path` of
/// `k8s.io/apimachinery`.
///
/// ```
/// use kbr_runtime::webhook::FieldPath;
///
/// let containers = FieldPath::new("spec").child("containers");
/// assert_eq!(containers.index(0).child("name").to_string(), "spec.containers[0].name");
/// let labels = FieldPath::new("metadata").child("labels");
/// assert_eq!(labels.key("app").to_string(), "metadata.labels[app]");
/// ```
#[derive(Clone, Debug, Eq, PartialEq)]
pub struct FieldPath {
    text: String,
    /// The same as a JSON pointer.
    pointer: String,
}

impl FieldPath {
    /// A top-level field of the object, such as `spec`.
    #[must_use]
    pub fn new(name: &str) -> Self {
        Self {
            text: name.to_owned(),
            pointer: steps(name),
        }
    }

    /// The field `name` of the structure at this path. `name` is its name in JSON.
    #[must_use]
    pub fn child(&self, name: &str) -> Self {
        self.below(&format!(".{name}"), &steps(name))
    }

    /// An item of the list at this path. The first item has the index 0.
    #[must_use]
    pub fn index(&self, index: usize) -> Self {
        self.below(&format!("[{index}]"), &format!("/{index}"))
    }

    /// The value of `key` in the map at this path.
    #[must_use]
    pub fn key(&self, key: &str) -> Self {
        self.below(&format!("[{key}]"), &step(key))
    }

    /// The path as a JSON pointer, see RFC 6901.
    pub(crate) fn pointer(&self) -> &str {
        &self.pointer
    }

    fn below(&self, text: &str, pointer: &str) -> Self {
        Self {
            text: format!("{self}{text}"),
            pointer: format!("{}{pointer}", self.pointer),
        }
    }
}

/// Several names may be given at once, as in `spec.schedule`: field names have no dots.
fn steps(names: &str) -> String {
    names.split('.').map(step).collect()
}

fn step(name: &str) -> String {
    format!("/{}", escape(name))
}

/// A name as it is written in a JSON pointer.
pub(in crate::webhook) fn escape(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

impl fmt::Display for FieldPath {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}
