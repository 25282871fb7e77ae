//! Why there can be no chart.

use miette::Diagnostic;
use thiserror::Error;

use crate::kustomize::KustomizeError;

#[derive(Debug, Error, Diagnostic)]
pub enum ChartError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kustomize(#[from] KustomizeError),
    #[error(
        "a Helm release of this chart takes {size} bytes, and Helm keeps it in a Secret of at most {limit}"
    )]
    #[diagnostic(code("chart-too-large"))]
    #[diagnostic(help(
        "type `kbr manifests --max-desc-len 0`, or take some CRDs out of `config/crd/kustomization.yaml` and \
         install them before the chart"
    ))]
    TooLarge { size: usize, limit: usize },
}
