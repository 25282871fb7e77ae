//! The one process starter: runs the project's own crdgen through cargo.
//!
//! `cargo run --bin crdgen` from the root of the workspace, never `-p`: with `-p` cargo resolves
//! other features and compiles dozens of crates a second time.

use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::Color;
use crate::error::{Error, Result};

/// Compiles the API types of the project at `root`, with cargo's own progress on standard error,
/// and returns what its crdgen prints. A check writes nothing, so then the lock file must fit.
pub fn crdgen(root: &Path, color: Color, is_check: bool) -> Result<String> {
    let color = match color {
        Color::Auto => "auto",
        Color::Always => "always",
        Color::Never => "never",
    };
    let output = Command::new("cargo")
        .args(["run", "--bin", "crdgen", "--color", color])
        .args(is_check.then_some("--locked"))
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| Error::CargoMissing { source })?;
    if !output.status.success() {
        return Err(Error::CargoFailed);
    }
    String::from_utf8(output.stdout).map_err(|error| Error::Crdgen {
        reason: error.to_string(),
    })
}
