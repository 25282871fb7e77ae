// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a review may take of the memory when it is parsed.

/// So many copies of an object there are at the same time: as [`serde_json::Value`], and as a value
/// of its type, which may be larger.
const COPIES: usize = 5;

/// Bytes of the node of a tree that the fields of an object are in. One alone has up to 11 of them;
/// where there are more nodes, each has 5 at least.
const NODE: usize = 640;
const ALONE: usize = 11;
const HALF: usize = 5;

/// Bytes of a value.
const VALUE: usize = 32;

/// Bytes that two short texts take on the heap, such as the name of a field and its value.
const TEXTS: usize = 64;

/// Bytes that a conversion may add to each object, such as what it carries in an annotation.
const ADDED: usize = 1 << 10;

/// What is nested deeper is not parsed: `serde_json` refuses it.
const DEEPEST: usize = 128;

/// An object or a list whose end was not seen yet.
struct Open {
    start: usize,
    is_object: bool,
    commas: usize,
}

impl Open {
    /// Bytes that it takes beside the text of its values.
    fn cost(&self) -> usize {
        let count = self.commas + 1;
        match self.is_object {
            true if count <= ALONE => NODE + count * TEXTS,
            true => count.div_ceil(HALF) * NODE + count * TEXTS,
            // Room for more of them is there already.
            false => count.next_power_of_two().max(4) * VALUE + count * TEXTS,
        }
    }
}

/// The most bytes of memory that a JSON text takes when it is parsed, beside the text. Of its parts
/// that are nested `depth` deep only the largest counts: one is parsed after the other.
pub(super) fn weight(json: &[u8], depth: usize) -> usize {
    let (mut around, mut part, mut largest) = (0, 0, 0);
    let mut open: Vec<Open> = Vec::new();
    let mut deeper = 0_usize;
    let mut is_text = false;
    let mut bytes = json.iter().enumerate();
    while let Some((at, byte)) = bytes.next() {
        match byte {
            b'"' => is_text = !is_text,
            b'\\' if is_text => {
                bytes.next();
            }
            _ if is_text => {}
            b'{' | b'[' if open.len() == DEEPEST => deeper += 1,
            b'{' | b'[' => open.push(Open {
                start: at,
                is_object: *byte == b'{',
                commas: 0,
            }),
            b',' => {
                if let Some(innermost) = open.last_mut() {
                    innermost.commas += 1;
                }
            }
            b'}' | b']' if deeper > 0 => deeper -= 1,
            b'}' | b']' => {
                let Some(closed) = open.pop() else { break };
                let cost = closed.cost();
                if open.len() < depth {
                    around += cost;
                } else {
                    part += cost;
                }
                if open.len() == depth {
                    largest = largest.max(part + at - closed.start);
                    around += ADDED;
                    part = 0;
                }
            }
            _ => {}
        }
    }
    // What is not closed is no JSON. Only to find that out it is parsed.
    part += open.iter().map(Open::cost).sum::<usize>();
    COPIES * largest.max(part) + around
}

#[cfg(test)]
mod tests;
