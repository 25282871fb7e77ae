//! What git knows of the project at a folder.

use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::error::{Result, UpdateError};

fn git(root: &Path, args: &[&str]) -> Result<Output> {
    let output = Command::new("git")
        .args(args)
        .current_dir(root)
        .stdin(Stdio::null())
        .output();
    Ok(output.map_err(|source| UpdateError::GitMissing { source })?)
}

fn lines(output: &Output) -> Vec<String> {
    let text = String::from_utf8_lossy(&output.stdout);
    text.lines().map(str::to_owned).collect()
}

/// Refuses a project that is not all committed.
pub fn check_clean(root: &Path) -> Result<()> {
    let status = git(root, &["status", "--porcelain", "--", "."])?;
    if !status.status.success() {
        let dir = root.to_owned();
        return Err(UpdateError::NoRepository { dir }.into());
    }
    let files = lines(&status);
    if files.is_empty() {
        return Ok(());
    }
    // Two letters and a space stand before each path.
    let files = files.iter().filter_map(|line| line.get(3..));
    let files = files
        .map(|path| path.trim_matches('"').to_owned())
        .collect();
    Err(UpdateError::Dirty { files }.into())
}

/// The newest text of a file in the history of the present commit that fits; nothing where there is no
/// history.
pub fn earlier(root: &Path, path: &str, fits: &dyn Fn(&str) -> bool) -> Option<String> {
    let commits = git(root, &["log", "--format=%H", "--", path]).ok()?;
    lines(&commits).iter().find_map(|commit| {
        let shown = git(root, &["show", &format!("{commit}:./{path}")]).ok()?;
        let text = String::from_utf8(shown.stdout).ok()?;
        (shown.status.success() && fits(&text)).then_some(text)
    })
}
