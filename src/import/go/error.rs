//! Why a Go project cannot be imported.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum GoError {
    #[error("`{dir}` is not a project of kubebuilder or operator-sdk: it has no PROJECT file")]
    #[diagnostic(code("import-no-project"))]
    #[diagnostic(help("name the folder that contains PROJECT"))]
    NoProject { dir: String },
    #[error("`{dir}` is already a kbr project")]
    #[diagnostic(code("import-is-kbr"))]
    #[diagnostic(help("name the folder of a project in Go"))]
    IsKbr { dir: String },
    #[error("PROJECT of `{dir}` cannot be read: {reason}")]
    #[diagnostic(code("import-project-unreadable"))]
    #[diagnostic(help("repair it: kubebuilder cannot read it either"))]
    Unreadable { dir: String, reason: String },
    #[error(
        "`{dir}` is {what}, and kbr imports projects in Go with the layout `go.kubebuilder.io/v3` or `v4`"
    )]
    #[diagnostic(code("import-layout"))]
    #[diagnostic(help("{help}"))]
    Layout {
        dir: String,
        what: String,
        help: &'static str,
    },
    #[error("{path}:{line}: not valid Go: {message}")]
    #[diagnostic(code("import-not-go"))]
    #[diagnostic(help("repair the file: Go cannot compile it either"))]
    NotGo {
        path: String,
        line: usize,
        message: String,
    },
    #[error("`config/crd/bases` has no CRD of {}, which PROJECT lists", quoted(.kinds))]
    #[diagnostic(code("import-no-crd"))]
    #[diagnostic(help(
        "type `make manifests` in `{dir}` first, or copy the CRDs there if they are elsewhere: the types are made from them"
    ))]
    NoCrd { dir: String, kinds: Vec<String> },
    #[error("PROJECT of `{dir}` has {what} that kbr cannot use: {reason}")]
    #[diagnostic(code("import-name"))]
    #[diagnostic(help("{remedy}"))]
    Name {
        dir: String,
        what: &'static str,
        reason: String,
        remedy: String,
    },
}
