//! Why an API or a controller cannot stand in a project.

use super::kubernetes_own;
use crate::names::{ControllerName, Kind, Version};
use crate::project::Gvk;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case")]
pub enum ApiError {
    #[error("`{gvk}` exists already")]
    ApiExists {
        gvk: Gvk,
        /// Whether a controller of the kind exists too.
        has_controller: bool,
    },
    #[error("`{kind}` has a controller already, for `{version}`")]
    ControllerExists {
        kind: Kind,
        version: Version,
        /// Whether it is this very version's, and so may be written anew.
        same_version: bool,
    },
    #[error("`{gvk}` has a controller called `{name}` already")]
    ControllerNameTaken { name: String, gvk: Gvk },
    #[error("`{name}` would be the name of a controller, and none is wanted")]
    ControllerNotWanted { name: ControllerName },
    #[error("`{gvk}` is not in PROJECT")]
    UnknownType {
        gvk: Gvk,
        /// Kubernetes' own kinds of that group and version.
        core: Vec<&'static str>,
        /// The options that name Kubernetes' own kind of that name, where no group was typed.
        core_options: Option<String>,
    },
    #[error(
        "`{kind}` is in no namespace, but the operator has its rights in namespaces alone: PROJECT has \
         `namespaced: true`"
    )]
    CoreScope { kind: Kind },
    #[error("kbr knows no `{version}` of Kubernetes' own `{kind}`")]
    CoreVersion {
        group: &'static str,
        version: Version,
        kind: Kind,
        known: &'static str,
    },
    #[error("neither the resource nor the controller is wanted: nothing to do")]
    NothingWanted {
        /// The options by which that was typed; none where questions were answered.
        typed: Vec<&'static str>,
    },
    #[error("the project has one API group, `{existing}`, and `{wanted}` would be a second")]
    SecondGroup { existing: String, wanted: String },
    #[error(
        "`{wanted}` cannot stand beside `{existing}`: both would be the Rust module `{module}`"
    )]
    GroupClash {
        wanted: String,
        existing: String,
        module: String,
    },
    #[error("the API group `{group}` is protected: only Kubernetes itself defines types in it")]
    ProtectedGroup { group: String },
    #[error("the API group `{group}` has no dot: the API server refuses such a CRD")]
    GroupWithoutDot { group: String },
    #[error(
        "the CRD's name `{name}` is longer than {} characters: its file's name would be too long",
        crate::names::CRD_NAME_MAX
    )]
    CrdNameTooLong { name: String },
    #[error("`{wanted}` cannot stand beside `{existing}`: {clash}")]
    KindClash {
        wanted: String,
        existing: String,
        clash: String,
    },
    #[error(
        "`{kind}` would be cluster-scoped, but the operator has its rights in namespaces alone: PROJECT has \
         `namespaced: true`"
    )]
    ClusterScope { kind: Kind },
    #[error("`{kind}` has the scope `namespaced: {existing}` already")]
    OtherScope { kind: Kind, existing: bool },
    #[error("`{kind}` has the plural `{existing}` in {place}")]
    OtherPlural {
        kind: String,
        existing: String,
        place: &'static str,
    },
}

impl ApiError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::ApiExists { has_controller, .. } => format!(
                "add `--force` to write its files anew, {}or choose another kind or version",
                if *has_controller {
                    ""
                } else {
                    "`--resource=false` to add only a controller, "
                }
            ),
            Self::ControllerExists {
                same_version: true, ..
            } => "add `--force` to write it anew, `--controller-name NAME` for another one, or \
                  `--controller=false` to leave it alone"
                .to_owned(),
            Self::ControllerExists { .. } => {
                "add `--controller=false`: one controller serves all versions of a kind; for another \
                 one, add `--controller-name NAME`"
                    .to_owned()
            }
            Self::ControllerNameTaken { .. } => {
                "choose another `--controller-name`, or add `--force` to write that one anew where it \
                 is of the same type"
                    .to_owned()
            }
            Self::ControllerNotWanted { .. } => {
                "leave `--controller=false` or `--controller-name` out".to_owned()
            }
            Self::UnknownType {
                core, core_options, ..
            } => {
                let mut ways = vec!["leave `--resource=false` out to create the type".to_owned()];
                ways.extend(kubernetes_own(core, core_options.as_deref()));
                ways.join(", or ")
            }
            Self::CoreScope { .. } => {
                "choose a kind that is in namespaces, or use a project of its own, made without \
                 `--namespaced`"
                    .to_owned()
            }
            Self::CoreVersion {
                group, kind, known, ..
            } => format!(
                "type `kbr create api --group {group} --version {known} --kind {kind} --resource=false`"
            ),
            Self::NothingWanted { typed } if typed.is_empty() => String::new(),
            Self::NothingWanted { typed } => format!("leave out {}", typed.join(" or ")),
            Self::SecondGroup { .. } => {
                "type `kbr edit --multigroup` first, or use the same `--group` as before".to_owned()
            }
            Self::GroupClash { .. } => "choose another `--group`".to_owned(),
            Self::ProtectedGroup { .. } => {
                "choose a group of your own; a CRD there needs the annotation `api-approved.kubernetes.io`"
                    .to_owned()
            }
            Self::GroupWithoutDot { .. } => {
                "add `--group GROUP`, such as `--group batch`".to_owned()
            }
            Self::CrdNameTooLong { .. } => {
                "choose a shorter `--group`, `--kind` or `--plural`".to_owned()
            }
            Self::KindClash { .. } => "choose another `--kind` or `--plural`".to_owned(),
            Self::ClusterScope { .. } => "keep it `namespaced`".to_owned(),
            Self::OtherScope { existing, .. } => format!(
                "type `--namespaced={existing}`, or leave it out; a kind has one scope in all versions"
            ),
            Self::OtherPlural { existing, .. } => {
                format!("type `--plural {existing}`, or leave it out")
            }
        }
    }
}
