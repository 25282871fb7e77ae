//! Why edits could not be merged.

use miette::Diagnostic;
use thiserror::Error;

use super::Package;
use crate::error::quoted;

/// kbr and the owner of the files have changed the same lines.
#[derive(Debug, Error, Diagnostic)]
#[error("these files have edits where the {command} has changed: {}", quoted(.files))]
#[diagnostic(code("package-conflict"))]
#[diagnostic(help("choose between the two texts at each `<<<<<<<`, then type `kbr {command}`"))]
pub struct PackagedError {
    command: &'static str,
    files: Vec<String>,
}

impl PackagedError {
    pub fn new(package: Package, files: Vec<String>) -> Self {
        let command = package.command;
        Self { command, files }
    }
}
