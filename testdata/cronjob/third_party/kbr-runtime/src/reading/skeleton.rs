// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The structure of a JSON text, without parsing it.

/// The bytes of a JSON text that are not inside a string, and where they are. The quotation marks around a
/// string are among them.
pub(crate) fn skeleton(json: &[u8]) -> impl Iterator<Item = (usize, u8)> {
    let (mut is_text, mut is_escaped) = (false, false);
    json.iter().copied().enumerate().filter(move |(_, byte)| {
        let was_text = is_text;
        match byte {
            _ if is_escaped => is_escaped = false,
            b'"' => is_text = !is_text,
            b'\\' => is_escaped = is_text,
            _ => {}
        }
        !(was_text && is_text)
    })
}
