//! Why a command cannot work in a folder.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::names::NameError;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum FolderError {
    #[error("`{}` is already a project: it has a PROJECT file", .dir.display())]
    #[diagnostic(code("project-exists"))]
    #[diagnostic(help("to add an API, type `kbr create api --kind KIND`"))]
    AlreadyInitialized { dir: PathBuf },
    #[error("`{}` is not a kbr project: it has no PROJECT file", .dir.display())]
    #[diagnostic(code("project-not-found"))]
    #[diagnostic(help(
        "type `kbr init --domain DOMAIN` first, or name the project's folder with `-C DIR`"
    ))]
    NotAProject { dir: PathBuf },
    #[error("`{}` has no PROJECT file: it is inside the project {project}", .dir.display())]
    #[diagnostic(code("project-in-parent"))]
    #[diagnostic(help("type `cd {project}` first, or name that folder with `-C {project}`"))]
    BelowProject {
        dir: PathBuf,
        /// The project's folder, quoted for a shell.
        project: String,
    },
    #[error("`{}` is inside the project {project}, and projects do not nest", .dir.display())]
    #[diagnostic(code("project-nested"))]
    #[diagnostic(help(
        "to add an API, type `cd {project} && kbr create api --kind KIND`; for another project, name a \
         folder outside of this one with `kbr init DIR`"
    ))]
    NestedProject { dir: PathBuf, project: String },
    #[error("the folder name `{name}` cannot be the project name: {}", .source.reason)]
    #[diagnostic(code("project-folder-name"))]
    #[diagnostic(help("type `--project-name NAME`, such as `--project-name my-operator`"))]
    Name { name: String, source: NameError },
    #[error("there is no folder `{}`", .dir.display())]
    #[diagnostic(code("folder-not-found"))]
    #[diagnostic(help("type an existing folder after `-C`; `kbr init DIR` creates one"))]
    NoFolder { dir: PathBuf },
    #[error("there is no file or folder `{path}`")]
    #[diagnostic(code("file-not-found"), help("{}", existing_path(near.as_deref())))]
    NoFile {
        path: String,
        /// The path with the most similar name in the same folder.
        near: Option<String>,
    },
}

fn existing_path(near: Option<&str>) -> String {
    match near {
        Some(near) => format!("type `{near}`, which exists, or the path of another file or folder"),
        None => "type the path of a file or folder that exists".to_owned(),
    }
}
