//! Why nothing can be made from `config/`.

use miette::Diagnostic;
use thiserror::Error;

use crate::layout;
use crate::yaml::YamlError;

#[derive(Debug, Error, Diagnostic)]
pub enum KustomizeError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] YamlError),
    #[error("`{path}` does not exist, but `{by}` needs it")]
    #[diagnostic(code("kustomize-missing"))]
    #[diagnostic(help("{}, or take its line out of `{by}`", missing(.path)))]
    Missing { path: String, by: String },
    #[error("`{path}` {what}, and `{by}` needs a file")]
    #[diagnostic(code("kustomize-no-file"))]
    #[diagnostic(help("put a file of text there, or take its line out of `{by}`"))]
    NoFile {
        path: String,
        what: &'static str,
        by: String,
    },
    #[error("`{path}` is not what kustomize expects: {reason}")]
    #[diagnostic(code("kustomize-unreadable"))]
    #[diagnostic(help(
        "correct the file: `kubectl kustomize config/default` must succeed as well"
    ))]
    Unreadable { path: String, reason: String },
    #[error("`{path}` has `{what}`, which kbr does not understand")]
    #[diagnostic(code("kustomize-unknown"))]
    #[diagnostic(help(
        "write it as an object in `resources`, a list of operations (JSON 6902) in `patches`, or an entry of \
         `replacements` or `images`"
    ))]
    Unknown { path: String, what: String },
    #[error(
        "`config/default` has {found} Deployments with the label `control-plane: controller-manager` and a container \
         `manager`, and needs one"
    )]
    #[diagnostic(code("kustomize-manager"))]
    #[diagnostic(help(
        "restore `config/manager/manager.yaml` from version control; give other Deployments another label"
    ))]
    Manager { found: usize },
}

/// What to do if a file does not exist.
fn missing(path: &str) -> &'static str {
    match layout::is_recorded(path) {
        true => "restore the file from version control",
        false => "type `kbr manifests` and the same command again",
    }
}
