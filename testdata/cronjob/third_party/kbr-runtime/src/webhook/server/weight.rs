// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How much memory a review may take when it is parsed.

use crate::reading::skeleton;

/// How a review is parsed.
#[derive(Clone, Copy)]
pub(super) struct Parsing {
    /// Parts of the review at this depth are parsed one at a time.
    pub(super) depth: usize,
    /// How many copies exist at the same time, as [`serde_json::Value`] or as text.
    pub(super) copies: usize,
    /// A part is not parsed if one copy of it would take more bytes than this.
    pub(super) most: usize,
}

/// Bytes of an object in all its copies: as a value, it is a node of a tree, and as its Rust type it is
/// often larger. A container of a pod takes 2 KiB.
const OBJECT: usize = 3 << 10;

/// Fields that fit into that. Further nodes have at least 5 fields each.
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

/// Deeper nesting is not parsed: `serde_json` refuses it.
const DEEPEST: usize = 128;

/// An object or a list whose end has not been seen yet.
struct Open {
    start: usize,
    is_object: bool,
    commas: usize,
}

impl Open {
    /// Bytes that it takes in addition to the text of its values.
    fn cost(&self, copies: usize) -> usize {
        let count = self.commas + 1;
        if self.is_object {
            let nodes = count.saturating_sub(FIELDS).div_ceil(HALF);
            return OBJECT + copies * (nodes * NODE + count * TEXTS);
        }
        // The list has spare capacity.
        let room = count.next_power_of_two().max(4);
        copies * (room * VALUE + count * TEXTS)
    }
}

/// The maximum bytes of memory that a JSON text takes when it is parsed, in addition to the text.
pub(super) fn weight(json: &[u8], parsing: Parsing) -> usize {
    let (depth, copies) = (parsing.depth, parsing.copies);
    let (mut around, mut part, mut largest) = (0, 0, 0);
    let mut open: Vec<Open> = Vec::new();
    let mut deeper = 0_usize;
    for (at, byte) in skeleton(json) {
        match byte {
            b'{' | b'[' if open.len() == DEEPEST => deeper += 1,
            b'{' | b'[' => open.push(Open {
                start: at,
                is_object: byte == b'{',
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
                    let parsed = part.min(parsing.most.saturating_mul(copies));
                    largest = largest.max(parsed + copies * (at - closed.start));
                    around += ADDED;
                    part = 0;
                }
            }
            _ => {}
        }
    }
    // Text that is not closed is not JSON, but it is parsed to find that out.
    part += open.iter().map(|open| open.cost(copies)).sum::<usize>();
    largest.max(part) + around
}
