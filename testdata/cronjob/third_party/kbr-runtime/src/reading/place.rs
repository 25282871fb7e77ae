// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Finds the field of a JSON text that an error of serde_json is about.
//!
//! A deserializer that tracks the path, like that of `serde_path_to_error`, would be compiled once more for
//! each type.

use super::skeleton;

/// An open container, and the current position in it.
enum Open<'a> {
    /// In an object, after this name if there has been one.
    Object(Option<&'a str>),
    /// In a list, at the item with this index.
    List(usize),
}

/// The path to the value that ends or begins where serde_json found an error, such as
/// `spec.containers[0].image`. If there is none, the error is about the container of that place. `.` is the
/// whole text.
///
/// A list of lists instead of an object is the exception: the path is that of its first item.
pub(super) fn field(text: &str, error: &serde_json::Error) -> String {
    // serde_json counts bytes: the column is the number of bytes of the line that it has read.
    let lines = text.split_inclusive('\n');
    let lines = lines.take(error.line().saturating_sub(1));
    let place = lines.map(str::len).sum::<usize>() + error.column();
    // Only an unexpected container is reported at its beginning; any other value has been read to its end.
    let message = error.to_string();
    let mut is_value = match text.as_bytes().get(place) {
        Some(b'{') => message.starts_with("invalid type: map"),
        Some(b'[') => message.starts_with("invalid type: sequence"),
        _ => false,
    };
    let mut open: Vec<Open<'_>> = Vec::new();
    // Where the string begins that has not ended yet.
    let mut string = None;
    for (at, byte) in skeleton(text.as_bytes()).take_while(|(at, _)| *at < place) {
        let ends = match byte {
            b'{' | b'[' => {
                let is_object = byte == b'{';
                open.push(if is_object {
                    Open::Object(None)
                } else {
                    Open::List(0)
                });
                false
            }
            b'}' | b']' => open.pop().is_some(),
            b',' => {
                match open.last_mut() {
                    Some(Open::Object(name)) => *name = None,
                    Some(Open::List(index)) => *index += 1,
                    None => {}
                }
                false
            }
            b'"' => match (string.take(), open.last_mut()) {
                (None, _) => {
                    string = Some(at + 1);
                    false
                }
                (Some(start), Some(Open::Object(name @ None))) => {
                    *name = text.get(start..at);
                    false
                }
                _ => true,
            },
            // Part of a number, `true`, `false` or `null`.
            _ => byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'+' | b'.'),
        };
        is_value |= ends && at + 1 == place;
    }
    if !is_value {
        open.pop();
    }
    path(&open)
}

fn path(open: &[Open<'_>]) -> String {
    let steps = open.iter().map(|open| match open {
        Open::Object(name) => format!(".{}", name.unwrap_or_default()),
        Open::List(index) => format!("[{index}]"),
    });
    let path: String = steps.collect();
    match path.strip_prefix('.').unwrap_or(&path) {
        "" => ".".to_owned(),
        path => path.to_owned(),
    }
}
