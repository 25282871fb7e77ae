//! Why there can be no chart.

use miette::Diagnostic;
use thiserror::Error;

use crate::cargo_toml::ManifestError;
use crate::kustomize::KustomizeError;
use crate::yaml::YamlError;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ChartError {
    #[error(transparent)]
    #[diagnostic(transparent)]
    Kustomize(#[from] KustomizeError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Yaml(#[from] YamlError),
    #[error(transparent)]
    #[diagnostic(transparent)]
    Manifest(#[from] ManifestError),
    #[error(
        "`{path}` has an object of the kind `{kind}`, whose CRD is in the chart, and Helm cannot install both at once"
    )]
    #[diagnostic(code("chart-own-kind"))]
    #[diagnostic(help(
        "take the file out of the `resources` of `config/default`: whoever installs the chart creates such objects later"
    ))]
    OwnKind { path: String, kind: String },
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
