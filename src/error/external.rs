//! Why a type of another operator cannot be used in a project.

use std::path::PathBuf;

use crate::names::{CrateSpec, Kind, TypePath};
use crate::project::Gvk;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "external-")]
pub enum ExternalError {
    #[error("`--external-api-path` names a type that exists, and `--resource` would create one")]
    Resource,
    #[error("the API group of `{kind}` is not named")]
    NoGroup { kind: Kind },
    #[error("`{gvk}` is new to the project, and no file has its CRD")]
    NoCrd { gvk: Gvk },
    #[error("`{gvk}` is the project's own type")]
    IsOwn { gvk: Gvk },
    #[error("`{gvk}` is Kubernetes' own")]
    IsCore { gvk: Gvk },
    #[error("`{gvk}` is `{path}` in PROJECT{}", .module.as_ref().map(|it| format!(", of `{it}`")).unwrap_or_default())]
    Differs {
        gvk: String,
        path: TypePath,
        module: Option<CrateSpec>,
    },
    #[error("`{}` cannot be read as YAML: {reason}", .file.display())]
    Unreadable { file: PathBuf, reason: String },
    #[error("`{}` has no CRD of `{kind}`{}", .file.display(), there(.kinds))]
    NoKind {
        file: PathBuf,
        /// Group and kind.
        kind: String,
        /// Group and kind of those that it has.
        kinds: Vec<String>,
    },
    #[error("`{}` does not serve `{gvk}`", .file.display())]
    NoVersion {
        file: PathBuf,
        gvk: String,
        /// The versions that are served.
        versions: Vec<String>,
    },
    #[error("`cargo {command}` failed: cargo's messages stand above")]
    Cargo { command: String },
    #[error(
        "`{module}` needs {package} {theirs}, and the project has {ours}: its types are of other traits"
    )]
    OtherKube {
        module: CrateSpec,
        package: &'static str,
        theirs: String,
        ours: String,
    },
}

fn there(kinds: &[String]) -> String {
    match kinds {
        [] => String::new(),
        kinds => format!(", but of `{}`", kinds.join("`, `")),
    }
}

impl ExternalError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::Resource => "leave one of them out".to_owned(),
            Self::NoGroup { .. } => {
                "add `--group GROUP`, the whole group or what stands before `--external-api-domain`"
                    .to_owned()
            }
            Self::NoCrd { .. } => {
                "add `--external-api-crd FILE`, such as what `kubectl get crd NAME -o yaml` prints: \
                 the tests install it"
                    .to_owned()
            }
            Self::IsOwn { .. } | Self::IsCore { .. } => {
                "leave `--external-api-path` out".to_owned()
            }
            Self::Differs { .. } => {
                "leave the `--external-api` options out, or delete what the project has for the type first"
                    .to_owned()
            }
            Self::Unreadable { .. } => {
                "name a file of plain YAML: `helm template` makes it of a chart".to_owned()
            }
            Self::NoKind { .. } => {
                "check `--kind`, `--group` and `--external-api-domain`, or name another file after \
                 `--external-api-crd`"
                    .to_owned()
            }
            Self::NoVersion { versions, .. } => {
                format!("type one that it serves after `--version`: {}", versions.join(", "))
            }
            Self::Cargo { command } => format!(
                "type `cargo {command}` yourself, and leave `--external-api-module` out"
            ),
            Self::OtherKube { package, ours, .. } => format!(
                "choose a version of the crate that is made for {package} {ours}, or write the types in the \
                 project's own crate `api`, and leave `--external-api-module` out"
            ),
        }
    }
}
