//! Why a PROJECT file cannot be used.

use miette::Diagnostic;
use thiserror::Error;

#[derive(Debug, Error, Diagnostic)]
pub enum ProjectError {
    #[error("PROJECT cannot be read: {reason}")]
    #[diagnostic(
        code("project-unreadable"),
        help("restore the file from version control, or update kbr if a newer one wrote it")
    )]
    Unreadable { reason: String },
    #[error("a merge has left a conflict in PROJECT: line {line}")]
    #[diagnostic(
        code("project-merge"),
        help(
            "keep both sides: all lines under `files`, all entries under `resources`, each of them whole"
        )
    )]
    Merge { line: usize },
    #[error("PROJECT has the layout `{layout}`: this is a Go project of kubebuilder")]
    #[diagnostic(
        code("go-layout"),
        help("use kubebuilder here, or run kbr in another folder")
    )]
    GoLayout { layout: String },
    #[error("this project was scaffolded by kbr 0.1.0, with its own crate in `runtime/`")]
    #[diagnostic(
        code("old-layout"),
        help("type `kbr update`, and replace `runtime` with `kbr_runtime` in your own files")
    )]
    OldLayout,
}
