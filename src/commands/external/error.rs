//! Why a type of another operator cannot be used in a project.

use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::names::{CrateSpec, Kind};
use crate::project::Gvk;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ExternalError {
    #[error(
        "the `--external-api` options are for a type that exists, and `--resource` would create one"
    )]
    #[diagnostic(code("external-resource"), help("omit one of them"))]
    Resource,
    #[error("the API group of `{kind}` is missing")]
    #[diagnostic(code("external-no-group"))]
    #[diagnostic(help(
        "add `--group GROUP`, either the whole group or the part before `--external-api-domain`"
    ))]
    NoGroup { kind: Kind },
    #[error("the CRD of `{gvk}` is missing")]
    #[diagnostic(code("external-no-crd"))]
    #[diagnostic(help(
        "add `--external-api-crd FILE`, such as what `kubectl get crd NAME -o yaml` prints: the tests \
         install it"
    ))]
    NoCrd { gvk: Gvk },
    #[error("`{gvk}` is the project's own type")]
    #[diagnostic(code("external-is-own"), help("omit the `--external-api` options"))]
    IsOwn { gvk: Gvk },
    #[error("`{gvk}` is Kubernetes' own")]
    #[diagnostic(code("external-is-core"), help("omit the `--external-api` options"))]
    IsCore { gvk: Gvk },
    #[error("`{gvk}` is `{path}` in PROJECT{}", .module.as_ref().map(|it| format!(", of `{it}`")).unwrap_or_default())]
    #[diagnostic(code("external-differs"))]
    #[diagnostic(help(
        "omit the `--external-api` options, or delete what the project has for the type first"
    ))]
    Differs {
        gvk: String,
        path: String,
        module: Option<CrateSpec>,
    },
    #[error("`{}` is not UTF-8", .file.display())]
    #[diagnostic(code("external-unreadable"))]
    #[diagnostic(help("name a file of YAML, such as `helm template` renders from a chart"))]
    NotText { file: PathBuf },
    #[error("`{}` has no CRD for `{kind}`{}", .file.display(), only_for(.kinds))]
    #[diagnostic(code("external-no-kind"))]
    #[diagnostic(help(
        "check `--kind`, `--group` and `--external-api-domain`, or name another file after \
         `--external-api-crd`"
    ))]
    NoKind {
        file: PathBuf,
        /// Group and kind.
        kind: String,
        /// Group and kind of each CRD that the file has.
        kinds: Vec<String>,
    },
    #[error("`{}` does not serve `{gvk}`", .file.display())]
    #[diagnostic(code("external-no-version"))]
    #[diagnostic(help("type one that it serves after `--version`: {}", versions.join(", ")))]
    NoVersion {
        file: PathBuf,
        gvk: String,
        /// The versions that are served.
        versions: Vec<String>,
    },
    #[error(
        "`{module}` needs {package} {theirs}, but the project uses {ours}, so its types would not implement this project's traits"
    )]
    #[diagnostic(code("external-other-kube"))]
    #[diagnostic(help(
        "choose a version of the crate that is made for {package} {ours}, or omit `--external-api-path` and \
         `--external-api-module`: then kbr makes the type from its CRD"
    ))]
    OtherKube {
        module: CrateSpec,
        package: &'static str,
        theirs: String,
        ours: String,
    },
}

fn only_for(kinds: &[String]) -> String {
    match kinds {
        [] => String::new(),
        kinds => format!(", only for {}", quoted(kinds)),
    }
}
