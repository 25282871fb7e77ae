// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Reads JSON that is nested too deeply to be parsed, without the parts that are too deep.

use serde_json::Value;
use serde_json::value::RawValue;

use crate::reading::skeleton;

/// `text` with null instead of every object and list that is in `levels` others.
///
/// # Errors
///
/// When `text` is not JSON, which a [`RawValue`] always is.
pub(super) fn shallow(text: &RawValue, levels: usize) -> serde_json::Result<Value> {
    let text = text.get();
    let (mut flat, mut kept, mut open) = (String::new(), 0, 0_usize);
    for (at, byte) in skeleton(text.as_bytes()) {
        match byte {
            b'{' | b'[' => {
                if open == levels {
                    flat.push_str(&text[kept..at]);
                    flat.push_str("null");
                }
                open += 1;
            }
            b'}' | b']' => {
                open = open.saturating_sub(1);
                if open == levels {
                    kept = at + 1;
                }
            }
            _ => {}
        }
    }
    flat.push_str(&text[kept..]);
    serde_json::from_str(&flat)
}
