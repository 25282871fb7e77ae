// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Finds the field of a JSON text that an error of serde_json is about.
//!
//! A deserializer that tracks the path, like that of `serde_path_to_error`, would be compiled once more for
//! each type.

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
    let begins = if message.starts_with("invalid type: map") {
        Some('{')
    } else if message.starts_with("invalid type: sequence") {
        Some('[')
    } else {
        None
    };
    let mut open: Vec<Open<'_>> = Vec::new();
    let mut rest = text.char_indices().peekable();
    while let Some((start, character)) = rest.next() {
        if start > place {
            break;
        }
        match character {
            '{' | '[' if start == place && begins == Some(character) => return path(&open),
            '{' => open.push(Open::Object(None)),
            '[' => open.push(Open::List(0)),
            '}' | ']' => {
                open.pop();
                if start + 1 == place {
                    return path(&open);
                }
            }
            ',' => match open.last_mut() {
                Some(Open::Object(name)) => *name = None,
                Some(Open::List(index)) => *index += 1,
                None => {}
            },
            '"' => {
                let mut is_escaped = false;
                let end = rest.find(|(_, character)| {
                    let is_end = *character == '"' && !is_escaped;
                    is_escaped = *character == '\\' && !is_escaped;
                    is_end
                });
                let end = end.map_or(text.len(), |(end, _)| end);
                match open.last_mut() {
                    Some(Open::Object(name @ None)) => *name = text.get(start + 1..end),
                    _ if end + 1 == place => return path(&open),
                    _ => {}
                }
            }
            character if is_of_scalar(character) => {
                let mut end = start + 1;
                while rest.next_if(|(_, next)| is_of_scalar(*next)).is_some() {
                    end += 1;
                }
                if end == place {
                    return path(&open);
                }
            }
            _ => {}
        }
    }
    open.pop();
    path(&open)
}

/// Whether the character is part of a number, `true`, `false` or `null`.
fn is_of_scalar(character: char) -> bool {
    character.is_ascii_alphanumeric() || matches!(character, '-' | '+' | '.')
}

fn path(open: &[Open<'_>]) -> String {
    let mut path = String::new();
    for open in open {
        match open {
            Open::Object(name) => {
                if !path.is_empty() {
                    path.push('.');
                }
                path.push_str(name.unwrap_or_default());
            }
            Open::List(index) => path.push_str(&format!("[{index}]")),
        }
    }
    if path.is_empty() {
        path.push('.');
    }
    path
}
