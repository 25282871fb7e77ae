// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What it would take to parse a JSON text, measured without parsing it.

use crate::reading::skeleton;

/// Maximum nesting of objects and lists that is converted. `serde_json` parses at most 128 levels, and
/// a conversion wraps fields into some levels of its own.
pub(super) const DEEPEST: usize = 100;

/// Bytes that one parsed object may take. As the API server stores no object of more than 1.5 MiB, only
/// an object of very small values takes that much.
pub(crate) const LARGEST: usize = 6 << 20;

/// Bytes that an object, any value, and the name of a field take as [`serde_json::Value`].
const OBJECT: usize = 640;
const VALUE: usize = 32;

/// Checks that an object whose fields have these JSON texts can be parsed within the limits.
///
/// # Errors
///
/// A text such as "it has 130 levels of objects and lists, …".
pub(super) fn check<'a>(fields: impl IntoIterator<Item = &'a str>) -> Result<(), String> {
    let (mut depth, mut size) = (1, OBJECT);
    for field in fields {
        size += VALUE + field.len();
        let mut open = 1_usize;
        for (_, byte) in skeleton(field.as_bytes()) {
            match byte {
                b'{' | b'[' => {
                    open += 1;
                    depth = depth.max(open);
                    size += if byte == b'{' { OBJECT } else { VALUE };
                }
                b'}' | b']' => open = open.saturating_sub(1),
                b',' | b':' => size += VALUE,
                _ => {}
            }
        }
    }
    if depth > DEEPEST {
        return Err(format!(
            "it has {depth} levels of objects and lists, but at most {DEEPEST} can be converted"
        ));
    }
    if size > LARGEST {
        return Err(format!(
            "it would take {} MiB of memory when parsed, but at most {} MiB can be converted",
            size >> 20,
            LARGEST >> 20
        ));
    }
    Ok(())
}
