//! Why nothing can be made from `config/`.

use miette::Diagnostic;
use thiserror::Error;

use crate::layout;
use crate::yaml::YamlError;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum KustomizeError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] YamlError),
    #[error("`{path}` {what}, and kustomize needs a file there")]
    #[diagnostic(code("kustomize-root"))]
    #[diagnostic(help("restore the file from version control"))]
    Root {
        path: &'static str,
        what: &'static str,
    },
    #[error(
        "`kubectl kustomize {}` prints an object of the kind `{kind}` with the name `{name}` that is malformed, or does not say which file it comes from",
        layout::DEFAULT
    )]
    #[diagnostic(code("kustomize-object"))]
    #[diagnostic(help("correct its file; kubectl must be of version 1.30 or newer"))]
    Object { kind: String, name: String },
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
