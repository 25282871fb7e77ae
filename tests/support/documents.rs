//! The documents of this repository.

use std::fs;
use std::path::Path;

use super::REPOSITORY;

pub fn read(path: &str) -> String {
    fs::read_to_string(Path::new(REPOSITORY).join(path))
        .unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A chapter of the guide.
pub fn guide(topic: &str) -> String {
    read(&format!("src/guide/{topic}.md"))
}

/// Every fenced block of a document: what follows the fence, and the text.
pub fn fenced(text: &str) -> Vec<(&str, &str)> {
    let blocks = text.split("```").skip(1).step_by(2);
    blocks.filter_map(|block| block.split_once('\n')).collect()
}
