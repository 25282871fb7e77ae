//! kubectl, for clusters of the user's kubeconfig, and as kustomize.

use std::ffi::OsStr;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{KubectlError, environment};
use crate::error::IoError;
use crate::layout;

/// What kubectl prints in the folder `root` with these words, separated by spaces, and more arguments, or what it says
/// about its failure.
pub fn output(root: &Path, words: &str, more: &[&str]) -> Result<String, String> {
    let arguments = words.split(' ').chain(more.iter().copied());
    let program = environment::variable("KUBECTL", "kubectl");
    let output = super::output(Command::new(&program).args(arguments).current_dir(root));
    output.map_err(|error| format!("{}: {error}", program.display()))?
}

/// What `kubectl kustomize FOLDER` prints for a copy of `config/` of the project at `root` in which the file at a path has
/// another text. `fallback` is the kubectl to use if none is on the PATH.
pub fn kustomize(
    root: &Path,
    folder: &str,
    (path, text): (&str, &str),
    fallback: Option<&Path>,
) -> Result<String, KubectlError> {
    let copy = tempfile::tempdir().map_err(IoError::at("create", "a temporary folder"))?;
    // kubectl names files by their real paths.
    let real = fs::canonicalize(copy.path()).map_err(IoError::at("read", copy.path()))?;
    copied(root, &real)?;
    let changed = real.join(path);
    // The owner's may be read-only.
    let _ = fs::remove_file(&changed);
    fs::write(&changed, text).map_err(IoError::at("write", &changed))?;
    let run = |program: &OsStr| {
        let mut command = Command::new(program);
        super::output(command.args(["kustomize", folder]).current_dir(&real))
    };
    let chosen = environment::variable("KUBECTL", "");
    let output = match (chosen.is_empty(), fallback) {
        (true, Some(fallback)) => run("kubectl".as_ref()).or_else(|_| run(fallback.as_os_str())),
        (true, None) => run("kubectl".as_ref()),
        (false, _) => run(&chosen),
    };
    let output = output.map_err(|source| KubectlError::Missing { source })?;
    output.map_err(|reason| {
        let folder = folder.to_owned();
        let reason = innermost(&reason.replace(&format!("{}/", real.display()), ""));
        KubectlError::Kustomize { folder, reason }
    })
}

/// What kubectl says is wrong, without what leads there.
fn innermost(reason: &str) -> String {
    // It repeats the way to the innermost kustomization.
    let inner = reason.rsplit_once("recursed accumulation of path ");
    let reason = inner.map_or(reason, |(_, reason)| reason);
    // A kubectl that another program starts writes a line of its log.
    let logged = reason.rsplit_once("\"command failed\" err=");
    let reason = logged.map_or(reason, |(_, reason)| reason);
    let reason = reason.trim().trim_matches(['"', '<', '>']).trim();
    reason.trim_start_matches("error: ").to_owned()
}

/// Copies `config/` of the project at `root` to another folder, which gets links to everything else.
fn copied(root: &Path, to: &Path) -> Result<(), IoError> {
    let config = layout::CONFIG.trim_end_matches('/');
    copy_folder(&root.join(config), &to.join(config))?;
    let root = fs::canonicalize(root).map_err(IoError::at("read", root))?;
    for entry in fs::read_dir(&root).map_err(IoError::at("read", &root))? {
        let name = entry.map_err(IoError::at("read", &root))?.file_name();
        if name != config {
            link(&root.join(&name), &to.join(&name))?;
        }
    }
    Ok(())
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), IoError> {
    fs::create_dir_all(to).map_err(IoError::at("create", to))?;
    for entry in fs::read_dir(from).map_err(IoError::at("read", from))? {
        let entry = entry.map_err(IoError::at("read", from))?;
        let (path, to) = (entry.path(), to.join(entry.file_name()));
        let kind = entry.file_type().map_err(IoError::at("read", &path))?;
        if kind.is_dir() {
            copy_folder(&path, &to)?;
        } else if kind.is_symlink() {
            let target = fs::read_link(&path).map_err(IoError::at("read", &path))?;
            link(&target, &to)?;
        } else if kind.is_file() {
            // kubectl says what is wrong with a file if it needs it.
            let _ = fs::copy(&path, &to);
        }
    }
    Ok(())
}

/// Makes a link, where links need no permission of their own.
fn link(target: &Path, at: &Path) -> Result<(), IoError> {
    #[cfg(unix)]
    std::os::unix::fs::symlink(target, at).map_err(IoError::at("create", at))?;
    #[cfg(not(unix))]
    let _ = (target, at);
    Ok(())
}
