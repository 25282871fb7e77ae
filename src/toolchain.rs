//! The only module that starts processes: the project's own crdgen through cargo, cargo on copies of its
//! manifests, rustfmt, git, Go, kubectl, and what `kbr dev` runs. It also follows files, signals and keys for `kbr dev`.
//!
//! crdgen runs as `cargo run --bin crdgen` from the root of the workspace, never with `-p`: with `-p`,
//! cargo resolves other features and compiles dozens of crates a second time.

mod bounded;
pub(crate) mod child;
pub(crate) mod environment;
mod error;
pub(crate) mod git;
pub(crate) mod keys;
pub(crate) mod kubectl;
pub(crate) mod secret_file;
pub(crate) mod signals;

use std::collections::VecDeque;
use std::ffi::OsString;
use std::fs;
use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::Color;
use crate::error::IoError;

pub(crate) use error::{CargoError, GitError, KubectlError};

/// What a program without input prints, or all that it says if it fails.
fn output(command: &mut Command) -> io::Result<Result<String, String>> {
    let output = command.stdin(Stdio::null()).output()?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let stdout = text(&output.stdout);
    Ok(if output.status.success() {
        Ok(stdout)
    } else {
        Err((stdout + &text(&output.stderr)).trim().to_owned())
    })
}

/// Compiles the API types of the project at `root`, with cargo's progress on standard error, and
/// returns the output of its crdgen. With `is_locked`, the lock file must be up to date.
pub(crate) fn crdgen(root: &Path, color: Color, is_locked: bool) -> Result<String, CargoError> {
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
    // On Unix, cargo replaces itself with the program, so this is crdgen's own status if it crashes.
    match output.status.code() {
        Some(0) => {}
        Some(_) => return Err(CargoError::Failed),
        None => return Err(CargoError::Crashed),
    }
    String::from_utf8(output.stdout).map_err(|error| CargoError::Crdgen {
        reason: error.to_string(),
    })
}

/// Runs cargo with `arguments` in a folder with copies of `files`, and returns the texts of the files at
/// `results`. cargo's messages go to standard error; it uses the configuration of the project at `root`.
pub(crate) fn cargo_edit(
    root: &Path,
    files: &[(&str, &str)],
    arguments: &[&str],
    results: &[&str],
) -> Result<Vec<String>, CargoError> {
    let folder = tempfile::tempdir().map_err(IoError::at("create", "a temporary folder"))?;
    for (path, text) in files {
        let copy = folder.path().join(path);
        let parent = copy.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(IoError::at("create", parent))?;
        fs::write(&copy, text).map_err(IoError::at("write", &copy))?;
    }
    let mut command = Command::new("cargo");
    if let Ok(config) = fs::canonicalize(root.join(".cargo/config.toml")) {
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
    let read = |result: &&str| {
        let path = folder.path().join(result);
        Ok(fs::read_to_string(&path).map_err(IoError::at("read", &path))?)
    };
    results.iter().map(read).collect()
}

/// Formats `text` with rustfmt, by the configuration of the project at `root`; `None` if rustfmt is not
/// installed or the text is not Rust.
fn rustfmt(root: &Path, text: &str) -> Option<String> {
    let mut child = Command::new("rustfmt")
        .args(["--edition", "2024", "--emit", "stdout", "--quiet"])
        .current_dir(root)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .ok()?;
    // rustfmt reads all its input before it writes anything.
    let written = child.stdin.take()?.write_all(text.as_bytes());
    let output = child.wait_with_output().ok()?;
    written.ok()?;
    let formatted = String::from_utf8(output.stdout).ok()?;
    output.status.success().then_some(formatted)
}

/// Returns the new text of a user's file, formatted if the old text was formatted.
pub(crate) fn formatted(root: &Path, before: &str, after: String) -> String {
    if rustfmt(root, before).is_none_or(|formatted| formatted != before) {
        return after;
    }
    rustfmt(root, &after).unwrap_or(after)
}

/// How many of the last lines of Go's output are kept for the message.
const LAST: usize = 40;

/// How a run of Go ended.
pub(crate) struct GoRun {
    pub(crate) is_success: bool,
    pub(crate) stdout: String,
    /// The last lines of standard error, without those about progress.
    pub(crate) messages: String,
}

/// Runs Go in `folder` with `variables` in its environment. Calls `each` with every line of standard
/// error as it arrives; `each` returns whether the line is about progress. `missing` says what to do if Go
/// cannot be started. If Go outlives kbr, it ends when it writes its next line.
pub(crate) fn go<E: From<IoError>>(
    folder: &Path,
    variables: &[(&str, OsString)],
    args: &[OsString],
    each: &mut dyn FnMut(&str) -> bool,
    missing: impl FnOnce(io::Error) -> E,
) -> Result<GoRun, E> {
    let mut child = Command::new("go")
        .args(args)
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(missing)?;
    let mut last = VecDeque::with_capacity(LAST + 1);
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let bytes = line.map_err(IoError::at("read", "the standard error of `go`"))?;
            let line = String::from_utf8_lossy(&bytes);
            if !each(&line) {
                last.push_back(line.into_owned());
            }
            if last.len() > LAST {
                last.pop_front();
            }
        }
    }
    let finished = child.wait_with_output();
    let output = finished.map_err(IoError::at("read", "the standard output of `go`"))?;
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
    fn a_file_is_formatted_only_if_it_was_before() {
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
