// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a review may take of the memory when it is parsed.

/// How a review is parsed.
#[derive(Clone, Copy)]
pub(super) struct Parsing {
    /// Of the parts of the review that are nested so deep only one is parsed at a time.
    pub(super) depth: usize,
    /// So many copies there are at the same time, as [`serde_json::Value`] or as text.
    pub(super) copies: usize,
    /// A part of which one copy takes more bytes is not parsed.
    pub(super) most: usize,
}

/// Bytes of an object in all its copies: each is a node of a tree if it is a value, and often more as
/// a value of its type. A container of a pod takes 2 KiB.
const OBJECT: usize = 3 << 10;

/// Fields that fit into that. Beyond, a node has 5 at least.
const FIELDS: usize = 11;
const HALF: usize = 5;

/// Bytes of a node.
const NODE: usize = 640;

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
    fn cost(&self, copies: usize) -> usize {
        let count = self.commas + 1;
        if self.is_object {
            let nodes = count.saturating_sub(FIELDS).div_ceil(HALF);
            return OBJECT + copies * (nodes * NODE + count * TEXTS);
        }
        // There is room for more of them already.
        let room = count.next_power_of_two().max(4);
        copies * (room * VALUE + count * TEXTS)
    }
}

/// The most bytes of memory that a JSON text takes when it is parsed, beside the text.
pub(super) fn weight(json: &[u8], parsing: Parsing) -> usize {
    let Parsing {
        depth,
        copies,
        most,
    } = parsing;
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
                let cost = closed.cost(copies);
                if open.len() < depth {
                    around += cost;
                } else {
                    part += cost;
                }
                if open.len() == depth {
                    let parsed = part.min(most.saturating_mul(copies));
                    largest = largest.max(parsed + copies * (at - closed.start));
                    around += ADDED;
                    part = 0;
                }
            }
            _ => {}
        }
    }
    // What is not closed is no JSON. Only to find that out it is parsed.
    part += open.iter().map(|open| open.cost(copies)).sum::<usize>();
    largest.max(part) + around
}
