//! The one process starter: runs the project's own crdgen through cargo, cargo on copies of its manifests,
//! rustfmt, git, and Go.
//!
//! `cargo run --bin crdgen` from the root of the workspace, never `-p`: with `-p` cargo resolves
//! other features and compiles dozens of crates a second time.

pub mod git;

use std::collections::{BTreeMap, VecDeque};
use std::ffi::OsString;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Command, Stdio};

use crate::cli::Color;
use crate::envtest::error::EnvtestError;
use crate::envtest::source::is_progress;
use crate::error::{AgainstError, Error, ExternalError, Result};
use crate::project::PROJECT_FILE;

/// Texts of files, by their paths.
pub type Files = BTreeMap<String, String>;

/// Compiles the API types of the project at `root`, with cargo's own progress on standard error,
/// and returns what its crdgen prints. Where nothing may be written, the lock file must fit.
pub fn crdgen(root: &Path, color: Color, is_locked: bool) -> Result<String> {
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
        .map_err(|source| Error::CargoMissing { source })?;
    // On Unix, cargo becomes the program that it runs, so that a crash of crdgen is seen here.
    match output.status.code() {
        Some(0) => {}
        Some(_) => return Err(Error::CargoFailed),
        None => return Err(Error::CrdgenCrashed),
    }
    String::from_utf8(output.stdout).map_err(|error| Error::Crdgen {
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
) -> Result<Vec<String>> {
    let folder = tempfile::tempdir().map_err(Error::io("create", "a temporary folder"))?;
    for (path, text) in files {
        let path = folder.path().join(path);
        let parent = path.parent().unwrap_or(folder.path());
        fs::create_dir_all(parent).map_err(Error::io("create", parent))?;
        fs::write(&path, text).map_err(Error::io("write", &path))?;
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
        .map_err(|source| Error::CargoMissing { source })?;
    if !status.success() {
        let command = arguments.join(" ");
        return Err(ExternalError::Cargo { command }.into());
    }
    let read = |path: &&str| {
        let path = folder.path().join(path);
        fs::read_to_string(&path).map_err(Error::io("read", &path))
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

/// A commit's texts of the project at `root`: PROJECT, what is in `folder`, and `file` where it is there.
pub fn committed(root: &Path, git_ref: &str, folder: &str, file: &str) -> Result<Files> {
    let git = |args: &[&str]| {
        let mut git = Command::new("git");
        git.args(args).current_dir(root).stdin(Stdio::null());
        let output = git.output();
        output.map_err(|source| AgainstError::GitMissing { source })
    };
    if !git(&["rev-parse", "--git-dir"])?.status.success() {
        let dir = root.to_owned();
        return Err(AgainstError::NoRepository { dir }.into());
    }
    let git_ref = || git_ref.to_owned();
    // With that ending, no reference is taken for an option.
    let commit = format!("{}^{{commit}}", git_ref());
    let found = git(&[
        "rev-parse",
        "--verify",
        "--quiet",
        "--end-of-options",
        &commit,
    ])?;
    let commit = String::from_utf8_lossy(&found.stdout).trim().to_owned();
    if !found.status.success() || commit.is_empty() {
        let git_ref = git_ref();
        return Err(AgainstError::UnknownRef { git_ref }.into());
    }
    let text = |command, args: &[&str]| {
        let output = git(args)?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let reason = String::from_utf8_lossy(&output.stderr).trim().to_owned();
        Err(Error::from(AgainstError::Git { command, reason }))
    };
    let list = [
        "ls-tree",
        "-z",
        "--name-only",
        &commit,
        PROJECT_FILE,
        folder,
        file,
    ];
    let listed = text("ls-tree", &list)?;
    let paths: Vec<&str> = listed.split_terminator('\0').collect();
    if !paths.contains(&PROJECT_FILE) {
        let git_ref = git_ref();
        return Err(AgainstError::NoProject { git_ref }.into());
    }
    let texts = paths.into_iter().map(|path| {
        let text = text("show", &["show", &format!("{commit}:./{path}")])?;
        Ok((path.to_owned(), text))
    });
    texts.collect()
}

/// How many of Go's last lines are kept for the message.
const LAST: usize = 40;

/// How a run of Go ended.
pub struct GoRun {
    pub is_success: bool,
    pub stdout: String,
    /// The last lines of standard error, those about its progress aside.
    pub messages: String,
}

/// Runs Go in `folder` with `variables` in its environment, and calls `each` for each line of
/// standard error as it comes. A Go that outlives kbr ends when it writes its next line.
pub fn go(
    folder: &Path,
    variables: &[(&str, OsString)],
    args: &[OsString],
    each: &mut dyn FnMut(&str),
) -> Result<GoRun> {
    let mut child = Command::new("go")
        .args(args)
        .current_dir(folder)
        .envs(variables.iter().map(|(name, value)| (name, value)))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|source| EnvtestError::GoMissing { source })?;
    let mut last = VecDeque::with_capacity(LAST + 1);
    if let Some(stderr) = child.stderr.take() {
        for line in BufReader::new(stderr).split(b'\n') {
            let line = line.map_err(Error::io("read", "the standard error of `go`"))?;
            let line = String::from_utf8_lossy(&line);
            each(&line);
            if !is_progress(&line) {
                last.push_back(line.into_owned());
            }
            if last.len() > LAST {
                last.pop_front();
            }
        }
    }
    let output = child.wait_with_output();
    let output = output.map_err(Error::io("read", "the standard output of `go`"))?;
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
