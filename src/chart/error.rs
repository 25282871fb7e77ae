//! Why there can be no chart.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::layout;

#[derive(Debug, Error, Diagnostic)]
pub enum ChartError {
    #[error("`{path}` does not exist, but `{by}` needs it")]
    #[diagnostic(code("chart-missing"))]
    #[diagnostic(help("{}", missing(.path)))]
    Missing { path: String, by: String },
    #[error("`{path}` is not what kustomize expects: {reason}")]
    #[diagnostic(code("chart-unreadable"))]
    #[diagnostic(help(
        "correct the file: `kubectl kustomize config/default` must succeed as well"
    ))]
    Unreadable { path: String, reason: String },
    #[error("`{path}` has `{what}`, which `kbr chart` does not understand")]
    #[diagnostic(code("chart-kustomization"))]
    #[diagnostic(help(
        "write it as an object in `resources`, a list of operations (JSON 6902) in `patches`, or an entry of \
         `replacements` or `images`"
    ))]
    Unknown { path: String, what: String },
    #[error("`config/default` has no Deployment `controller-manager` with a container `manager`")]
    #[diagnostic(code("chart-no-manager"))]
    #[diagnostic(help("restore `config/manager/manager.yaml` from version control"))]
    NoManager,
    #[error(
        "a Helm release of this chart takes {size} bytes, and Helm keeps it in a Secret of at most {limit}"
    )]
    #[diagnostic(code("chart-too-large"))]
    #[diagnostic(help(
        "type `kbr manifests --max-desc-len 0`, or take some CRDs out of `config/crd/kustomization.yaml` and \
         install them before the chart"
    ))]
    TooLarge { size: usize, limit: usize },
    #[error("these files have edits where the chart has changed: {}", quoted(.files))]
    #[diagnostic(code("chart-conflict"))]
    #[diagnostic(help("choose between the two texts at each `<<<<<<<`, then type `kbr chart`"))]
    Conflict { files: Vec<String> },
}

/// What to do if a file does not exist.
fn missing(path: &str) -> &'static str {
    match layout::is_recorded(path) {
        true => "restore the file from version control",
        false => "type `kbr manifests`, then `kbr chart`",
    }
}
