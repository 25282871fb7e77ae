//! The one process starter: runs the project's own crdgen through cargo, cargo on copies of its manifests,
//! rustfmt, git, and Go.
//!
//! `cargo run --bin crdgen` from the root of the workspace, never `-p`: with `-p` cargo resolves
//! other features and compiles dozens of crates a second time.

mod error;
pub mod git;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use thiserror::Error;

use crate::cli::Color;
use crate::error::IoError;

pub use error::{CargoError, GitError};

/// Compiles the API types of the project at `root`, with cargo's own progress on standard error,
/// and returns what its crdgen prints. Where nothing may be written, the lock file must fit.
pub fn crdgen(root: &Path, color: Color, is_locked: bool) -> Result<String, CargoError> {
    let color = match color {
        Color::Auto => "auto",
        Color::Always => "always",
        Color::Never => "never",
    };
    let output = Command::new("cargo")
        .args(["run", "--bin", "crdgen", "--color", color])
        .args(is_locked.then_some("--locked"))
        .current_dir(root)
        .stdin(Stdio::null())
        .stderr(Stdio::inherit())
        .output()
        .map_err(|source| CargoError::Missing { source })?;
    // On Unix, cargo becomes the program that it runs, so that a crash of crdgen is seen here.
    match output.status.code() {
        Some(0) => {}
        Some(_) => return Err(CargoError::Failed),
        None => return Err(CargoError::Crashed),
    }
    String::from_utf8(output.stdout).map_err(|error| CargoError::Crdgen {
        reason: error.to_string(),
    })
}

/// What becomes of the files at `results` when cargo runs with `arguments` among copies of `files`, with
/// its messages on standard error. It has the configuration of the project at `root`.
pub fn cargo_edit(
    root: &Path,
    files: &[(&str, &str)],
    arguments: &[&str],
    results: &[&str],
) -> Result<Vec<String>, CargoError> {
    let folder = tempfile::tempdir().map_err(IoError::at("create", "a temporary folder"))?;
    for (path, text) in files {
        let path = folder.path().join(path);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(IoError::at("create", parent))?;
        fs::write(&path, text).map_err(IoError::at("write", &path))?;
    }
    let mut command = Command::new("cargo");
    let config = root.join(".cargo/config.toml");
    if let Ok(config) = fs::canonicalize(config) {
        command.arg("--config").arg(config);
    }
    let status = command
        .args(arguments)
        .current_dir(folder.path())
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .status()
        .map_err(|source| CargoError::Missing { source })?;
    if !status.success() {
        let command = arguments.join(" ");
        return Err(CargoError::Edit { command });
    }
    let read = |path: &&str| {
        let path = folder.path().join(path);
        Ok(fs::read_to_string(&path).map_err(IoError::at("read", &path))?)
    };
    results.iter().map(read).collect()
}

/// `text` as rustfmt prints it, with the configuration of the project at `root`; nothing where there
/// is no rustfmt or where it finds no Rust.
fn rustfmt(root: &Path, text: &str) -> Option<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // It reads everything before it writes anything.
    let written = child.stdin.take()?.write_all(text.as_bytes());
    let output = child.wait_with_output().ok()?;
    written.ok()?;
    let formatted = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(formatted)
}

/// What kbr made of a user's file, formatted if the file was.
pub fn formatted(root: &Path, before: &str, after: String) -> String {
    if rustfmt(root, before).is_none_or(|formatted| formatted != before) {
        return after;
    }
    rustfmt(root, &after).unwrap_or(after)
}

/// How many of Go's last lines are kept for the message.
const LAST: usize = 40;

/// What can go wrong with Go; what to do about it depends on what it is for.
#[derive(Debug, Error)]
pub enum GoError {
    #[error("could not start `go`: {source}")]
    Missing { source: io::Error },
    #[error(transparent)]
    Io(#[from] IoError),
}

/// How a run of Go ended.
pub struct GoRun {
    pub is_success: bool,
    pub stdout: String,
    /// The last lines of standard error, those about its progress aside.
    pub messages: String,
}

/// Runs Go in `folder` with `variables` in its environment, and calls `each` for each line of
/// standard error as it comes, which says whether the line is about progress. A Go that outlives kbr ends when it writes its next line.
pub fn go(
    folder: &Path,
    variables: &[(&str, OsString)],
    args: &[OsString],
    each: &mut dyn FnMut(&str) -> bool,
) -> Result<GoRun, GoError> {
    let mut child = Command::new("go")
        .args(args)
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| GoError::Missing { source })?;
    let mut last = VecDeque::with_capacity(LAST + 1);
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = line.map_err(IoError::at("read", "the standard error of `go`"))?;
            let line = String::from_utf8_lossy(&line);
            if !each(&line) {
                last.push_back(line.into_owned());
            }
            if last.len() > LAST {
                last.pop_front();
            }
        }
    }
    let output = child.wait_with_output();
    let output = output.map_err(IoError::at("read", "the standard output of `go`"))?;
    Ok(GoRun {
        is_success: output.status.success(),
        stdout: String::from_utf8_lossy(&output.stdout).into_owned(),
        messages: Vec::from(last).join("\n"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_formatted_if_it_was() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR"));
        let after = || "use b;\nuse a;\n".to_owned();
        let cases = [
            ("use a;\nuse b;\n", "use a;\nuse b;\n"),
            ("use  a;\n", "use b;\nuse a;\n"),
            ("no code", "use b;\nuse a;\n"),
        ];
        for (before, expected) in cases {
            assert_eq!(formatted(root, before, after()), expected, "{before}");
        }
        let broken = || "use b;\nuse".to_owned();
        assert_eq!(formatted(root, "use a;\n", broken()), broken());
    }
}
