//! What can go wrong with the programs that kbr starts.

use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::error::IoError;
use crate::layout;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum CargoError {
    #[error("could not start `cargo`: {source}")]
    #[diagnostic(code("cargo-missing"))]
    #[diagnostic(help(
        "install Rust from https://rustup.rs, and make sure that `cargo` is on PATH"
    ))]
    Missing { source: io::Error },
    #[error("`cargo run --bin crdgen` failed: see cargo's messages above")]
    #[diagnostic(code("cargo-failed"))]
    #[diagnostic(help("fix the errors above, and run the command again"))]
    Failed,
    #[error("`cargo run --bin crdgen` was killed by a signal")]
    #[diagnostic(code("crdgen-crashed"))]
    #[diagnostic(help(
        "if its stack overflowed, a type that derives `KubeSchema` contains itself"
    ))]
    Crashed,
    #[error("crdgen printed something that is not its JSON document: {reason}")]
    #[diagnostic(code("crdgen-output"))]
    #[diagnostic(help(
        "`api/src/bin/crdgen.rs` must be the one that kbr wrote: restore it from version control"
    ))]
    Crdgen { reason: String },
    #[error("`cargo {command}` failed: see cargo's messages above")]
    #[diagnostic(code("cargo-edit"))]
    #[diagnostic(help("type `cargo {command}` yourself, and omit `--external-api-module`"))]
    Edit { command: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum KubectlError {
    #[error("could not run `{program}`: {source}")]
    #[diagnostic(code("kubectl-missing"))]
    #[diagnostic(help(
        "install kubectl 1.30 or newer, or type `kbr envtest use`, which brings one; KUBECTL can be another one, as a path or as words such as `minikube kubectl --`"
    ))]
    Missing { program: String, source: io::Error },
    #[error("kubectl {version} is older than 1.30, and `kubectl kustomize` failed: {reason}")]
    #[diagnostic(code("kubectl-old"))]
    #[diagnostic(help(
        "install kubectl 1.30 or newer, or set KUBECTL to one, such as that in the folder that `kbr envtest path` prints"
    ))]
    Old { version: String, reason: String },
    #[error("`kubectl kustomize {folder}` failed: {reason}")]
    #[diagnostic(code("kustomize-failed"), help("{}", correction(.reason)))]
    Kustomize { folder: String, reason: String },
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}

/// What to do about a failure of kustomize.
fn correction(reason: &str) -> &'static str {
    let words = reason.split([' ', '\'', ':', '`']);
    let mut files = words.filter(|it| it.starts_with(layout::CONFIG) && it.ends_with(".yaml"));
    match reason.contains("no such file") {
        true if files.any(|path| !layout::is_recorded(path)) => {
            "type `kbr manifests` and the same command again; if the file is yours, restore it from version control"
        }
        true => "restore the file from version control, or take its line out of the kustomization",
        false => "correct the file",
    }
}

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum GitError {
    #[error("could not start `git`: {source}")]
    #[diagnostic(code("git-missing"))]
    #[diagnostic(help("install git, and make sure that it is on PATH"))]
    Missing { source: io::Error },
    #[error("`{}` is not in a git repository", .dir.display())]
    #[diagnostic(code("git-no-repository"))]
    #[diagnostic(help(
        "type it in a clone of the project's repository; without `--against`, `--check` needs none"
    ))]
    NoRepository { dir: PathBuf },
    #[error("`{git_ref}` is not a commit of this repository")]
    #[diagnostic(code("git-unknown-ref"))]
    #[diagnostic(help(
        "name a branch, a tag or a commit of this clone; `git fetch --unshallow` fetches what a shallow \
         clone lacks"
    ))]
    UnknownRef { git_ref: String },
    #[error("there is no project in `{git_ref}`: it has no PROJECT file in this folder")]
    #[diagnostic(code("git-no-project"))]
    #[diagnostic(help("name a commit that has the project in the same folder"))]
    NoProject { git_ref: String },
    #[error(
        "`{path}` was edited, and this shallow clone lacks the text that kbr rendered, with which the edits are merged"
    )]
    #[diagnostic(code("git-shallow"))]
    #[diagnostic(help("type `git fetch --unshallow`, and the same command again"))]
    Shallow { path: String },
    #[error("`git {command}` failed: {reason}")]
    #[diagnostic(code("git-failed"))]
    Failed { command: String, reason: String },
}
