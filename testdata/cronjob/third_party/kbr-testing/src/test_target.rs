// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Builds the binary of a test target with cargo.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use serde_json::Value;

use super::TestEnvError;

/// Builds the test target `name` of the package in the folder `project` or above it, and returns
/// its binary. Cargo's messages go to standard error, unchanged.
///
/// # Errors
///
/// [`TestEnvError::Start`] and [`TestEnvError::Build`].
pub(super) fn build(project: &Path, name: &str) -> Result<PathBuf, TestEnvError> {
    let cargo = PathBuf::from(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    let mut command = Command::new(&cargo);
    command.current_dir(project);
    command.args(["test", "--no-run", "--test", name]);
    // Compiler messages are text on standard error, everything else is JSON.
    command.arg("--message-format=json-render-diagnostics");
    command.stdin(Stdio::null()).stderr(Stdio::inherit());
    // Cargo set these for this process. Build scripts that read them would run again, and all that
    // depends on their crates would be compiled again, now and in the next build.
    for (variable, _) in env::vars_os() {
        let text = variable.to_string_lossy();
        if text.starts_with("CARGO_PKG_") || text.starts_with("CARGO_MANIFEST_") {
            command.env_remove(variable);
        }
    }
    let output = command.output().map_err(|source| TestEnvError::Start {
        program: cargo,
        source,
    })?;
    let failed = |reason: String| TestEnvError::Build {
        target: name.to_owned(),
        reason,
    };
    if !output.status.success() {
        return Err(failed(format!("ended with {}", output.status)));
    }
    let messages = String::from_utf8_lossy(&output.stdout);
    executable(&messages, name).ok_or_else(|| failed("reported no binary for it".to_owned()))
}

/// The binary of a test target, from cargo's messages in JSON, one per line.
fn executable(messages: &str, name: &str) -> Option<PathBuf> {
    let messages = messages
        .lines()
        .filter_map(|line| serde_json::from_str(line).ok());
    let mut tests = messages.filter(|message: &Value| {
        let target = &message["target"];
        target["name"] == name && target["kind"] == serde_json::json!(["test"])
    });
    tests.find_map(|test| test["executable"].as_str().map(PathBuf::from))
}
