//! The contexts of the user's kubeconfig whose clusters `kbr dev` may use: those that were allowed once by name.
//!
//! They are the lines of `<config>/kbr/contexts`, where `<config>` is `$XDG_CONFIG_HOME` or `~/.config` on Linux and
//! `~/Library/Application Support` on macOS. They belong to the user, and not to the project: nobody else's clone allows
//! a cluster of theirs.

use std::path::{Path, PathBuf};

use super::error::DevError;
use crate::apply;
use crate::commands::error::Result;
use crate::report::{Happening, Level, Report};
use crate::toolchain::{environment, kubectl};
use crate::tree::read_text;

/// Allows a context, which must exist.
pub(super) fn allow(root: &Path, name: &str, report: &Report) -> Result<()> {
    let server = server(root, name)?;
    let path = file()?;
    let mut text = read(&path)?;
    if !is_in(&text, name) {
        text += &format!("{name}\n");
        apply::write_config(&path, &text)?;
    }
    let text = format!(
        "`kbr dev --context {name}`: {server}\nin {}",
        path.display()
    );
    report.happening(&Happening::new("allowed", Level::Good, "Allowed").text(&text));
    Ok(())
}

/// Refuses a context that was not allowed, or does not exist.
pub(super) fn check(root: &Path, name: &str) -> Result<()> {
    let server = server(root, name)?;
    if !is_in(&read(&file()?)?, name) {
        let context = name.to_owned();
        return Err(DevError::NotAllowed { context, server }.into());
    }
    Ok(())
}

fn is_in(text: &str, name: &str) -> bool {
    text.lines().any(|line| line == name)
}

fn file() -> Result<PathBuf> {
    let folder = environment::config().ok_or(DevError::NoConfigFolder)?;
    Ok(folder.join("contexts"))
}

fn read(path: &Path) -> Result<String> {
    let text = path.exists().then(|| read_text(path)).transpose()?;
    Ok(text.flatten().unwrap_or_default())
}

/// The URL of the context's cluster.
fn server(root: &Path, context: &str) -> Result<String> {
    let failed = |reason| DevError::Kubectl { reason };
    let known = kubectl::output(root, "config get-contexts --output=name", &[]).map_err(failed)?;
    if !is_in(&known, context) {
        let known: Vec<_> = known.lines().map(|name| format!("`{name}`")).collect();
        let (context, known) = (context.to_owned(), known.join(", "));
        return Err(DevError::NoContext { context, known }.into());
    }
    let path = "jsonpath={.clusters[0].cluster.server}";
    let context = format!("--context={context}");
    let server = kubectl::output(root, "config view --minify --output", &[path, &context]);
    Ok(server.map_err(failed)?)
}
