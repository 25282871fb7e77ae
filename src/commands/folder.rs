//! The folder that a command works in: the project in it or above it, and how to type its path.

pub(super) mod error;

use std::fs;
use std::path::{Component, Path};

use semver::Version;

use crate::commands::error::{Error, Result};
use crate::commands::update::error::UpdateError;
use crate::error::IoError;
use crate::evolve::error::ConflictError;
use crate::evolve::has_conflict;
use crate::layout;
use crate::names::ProjectName;
use crate::plan::is_generated;
use crate::project::{PROJECT_FILE, Project, ProjectError};
use crate::tree::{Entry, Tree, find_above};
use crate::yaml;
use error::FolderError;

/// Refuses a project of a newer kbr.
fn check_version(project: &Project) -> Result<()> {
    if version(project).is_some_and(|version| Some(version) > own_version()) {
        let project = project.cli_version.clone();
        return Err(UpdateError::Newer { project, own: OWN }.into());
    }
    Ok(())
}

/// The version of this kbr.
const OWN: &str = env!("CARGO_PKG_VERSION");

fn own_version() -> Option<Version> {
    OWN.parse().ok()
}

/// The version of the kbr that created the project or last updated it.
fn version(project: &Project) -> Option<Version> {
    project.cli_version.parse().ok()
}

/// A warning if an earlier kbr wrote PROJECT.
pub(super) fn older(tree: &Tree) -> Option<String> {
    let project = Project::parse(tree.text(PROJECT_FILE)?).ok()?;
    let made = version(&project)?;
    (Some(&made) < own_version().as_ref()).then(|| {
        format!("PROJECT was written by kbr {made}, and this is kbr {OWN}: type `kbr update`")
    })
}

/// Loads the project at `root` and its files.
pub(super) fn load(root: &Path) -> Result<(Project, Tree)> {
    let mut tree = Tree::load(root)?;
    match tree.entry(PROJECT_FILE) {
        Some(Entry::File(text)) => {
            let project = Project::parse(text)?;
            check_version(&project)?;
            tree.read_also(root, project.files.keys().map(String::as_str))?;
            resolved(&project, &tree)?;
            Ok((project, tree))
        }
        Some(other) => {
            let problem = match other {
                Entry::Folder => "it is a folder",
                Entry::Link => "it is a symbolic link, which may lead out of the project",
                _ => "it is not a text file",
            };
            let reason = problem.to_owned();
            Err(ProjectError::Unreadable { reason }.into())
        }
        None => {
            let dir = root.to_owned();
            Err(match project_above(root) {
                Some(project) => FolderError::BelowProject { dir, project },
                None => FolderError::NotAProject { dir },
            }
            .into())
        }
    }
}

/// Refuses files in which a command has left conflicts that are still there, and kustomizations that cannot be read. Other
/// files, such as CRDs of half a megabyte, are parsed by the commands that need them.
pub(super) fn resolved(project: &Project, tree: &Tree) -> Result<()> {
    let files = project.files.keys();
    let files = files.filter(|path| tree.text(path).is_some_and(has_conflict));
    match files.cloned().collect::<Vec<String>>() {
        files if files.is_empty() => {}
        files => return Err(ConflictError { files, undo: None }.into()),
    }
    let kustomizations = project
        .files
        .keys()
        .filter(|path| path.starts_with(layout::CONFIG) && path.ends_with("/kustomization.yaml"));
    let texts = kustomizations.filter_map(|path| Some((path, tree.text(path)?)));
    Error::all(texts.filter_map(|(path, text)| yaml::read(path, text).err()))
}

/// The folder of the project that contains `folder`, quoted for a shell.
pub(super) fn project_above(folder: &Path) -> Option<String> {
    let (project, text) = find_above(folder, PROJECT_FILE)?;
    // kubebuilder's project file has the same name.
    is_generated(&text).then(|| shell_word(&project))
}

/// The default name of the project: the folder's name in lower case.
pub(super) fn folder_name(root: &Path) -> Result<ProjectName> {
    let absolute = match fs::canonicalize(root) {
        Ok(path) => path,
        Err(_) => std::path::absolute(root).map_err(IoError::at("find", root))?,
    };
    let name = absolute
        .file_name()
        .map(|name| name.to_string_lossy().to_lowercase())
        .unwrap_or_default();
    Ok(name
        .parse()
        .map_err(|source| FolderError::Name { name, source })?)
}

/// Adapts a command for the project at `root` so that it works in the user's folder.
pub(super) fn from_here(root: &Path, command: &str) -> String {
    if root == Path::new(".") {
        return command.to_owned();
    }
    format!("cd {} && {command}", shell_word(root))
}

/// A folder that exists, as it is typed in `root`, which need not exist yet.
pub(super) fn seen_from(root: &Path, folder: &Path) -> String {
    let real = |path: &Path| {
        let path = std::path::absolute(path).ok()?;
        let existing = path.ancestors().find(|it| it.exists())?;
        let below = path.strip_prefix(existing).ok()?;
        Some(fs::canonicalize(existing).ok()?.join(below))
    };
    let relative = || {
        let (to, from) = (real(folder)?, real(root)?);
        let both = to.components().zip(from.components());
        let shared = both.take_while(|(a, b)| a == b).count();
        let up = from.components().skip(shared).map(|_| Component::ParentDir);
        Some(up.chain(to.components().skip(shared)).collect())
    };
    let relative = if folder.is_absolute() {
        None
    } else {
        relative()
    };
    shell_word(&relative.unwrap_or_else(|| folder.to_owned()))
}

/// A path as one word for a shell, quoted if necessary.
fn shell_word(path: &Path) -> String {
    let text = path.display().to_string();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./~".contains(c);
    if text.chars().all(is_plain) {
        return text;
    }
    format!("'{}'", text.replace('\'', "'\\''"))
}
