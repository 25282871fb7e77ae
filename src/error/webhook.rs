//! Why a webhook cannot stand in a project.

use super::kubernetes_own;
use crate::names::{Kind, Version, WebhookPath};
use crate::project::{Admission, Gvk};

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "webhook-")]
pub enum WebhookError {
    #[error("`{wanted}` cannot stand beside `{existing}`: both need the same files")]
    SameFiles { wanted: String, existing: String },

    #[error("neither defaulting, validation nor conversion is wanted: nothing to do")]
    NothingWanted,
    #[error("`{gvk}` is not in PROJECT")]
    UnknownType {
        gvk: String,
        /// The options that name where PROJECT has the kind.
        there: Vec<String>,
        /// The command that makes it.
        create: String,
        /// Kubernetes' own kinds of that group and version.
        core: Vec<&'static str>,
        /// The options that name Kubernetes' own kind of that name, where no group was typed.
        core_options: Option<String>,
    },
    #[error("of Kubernetes' `{group}`, kbr knows `{kind}` in `{version}` only")]
    CoreVersion {
        group: &'static str,
        version: &'static str,
        kind: &'static str,
        /// The command that makes a kind of one's own.
        create: String,
    },
    #[error("`{gvk}` has a {admission} webhook already")]
    Exists { gvk: Gvk, admission: Admission },
    #[error(
        "the webhook's name `{name}` is longer than {} characters: no API server takes it",
        crate::names::WEBHOOK_NAME_MAX
    )]
    NameTooLong { name: String },
    #[error("`{path}` is the path of another webhook already")]
    PathTaken {
        path: WebhookPath,
        admission: Admission,
    },
    #[error("`{gvk}` is not the project's own: whoever defines it converts it")]
    CoreConversion { gvk: Gvk },
    #[error(
        "`{gvk}` can have no webhook: while the operator does not answer, the cluster itself could not \
         work"
    )]
    ControllersAlone {
        gvk: Gvk,
        /// The command that makes a controller for it.
        create: String,
    },
    #[error("no version is named that `{gvk}` is to be converted to")]
    NoSpoke { gvk: Gvk },
    #[error("the spoke `{spoke}` is named twice")]
    SpokeTwice { spoke: Version },
    #[error("`{hub}` is the hub, and so no spoke")]
    SpokeIsHub { hub: Version },
    #[error("`{gvk}` is not in PROJECT, and so no spoke")]
    UnknownSpoke { gvk: Gvk, create: String },
    #[error("`{spoke}` is a spoke of `{hub}` already")]
    SpokeExists { spoke: Version, hub: Gvk },
    #[error("`{kind}` has the hub `{hub}` already, and a kind can have only one")]
    SecondHub { kind: Kind, hub: Version },
}

impl WebhookError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::SameFiles { .. } => {
                "choose another `--version`, or keep the two in projects of their own".to_owned()
            }
            Self::NothingWanted => {
                "add `--defaulting`, `--programmatic-validation`, or `--conversion --spoke VERSION`"
                    .to_owned()
            }
            Self::UnknownType {
                there,
                create,
                core,
                core_options,
                ..
            } => {
                let mut ways = Vec::new();
                if there.is_empty() {
                    ways.push(format!("type `{create}` first"));
                } else {
                    let there = there.join("` or `");
                    ways.push(format!("type `{there}`, where PROJECT has the kind"));
                }
                ways.extend(kubernetes_own(core, core_options.as_deref()));
                ways.join(", or ")
            }
            Self::CoreVersion {
                version, create, ..
            } => format!("type `--version {version}`, or `{create}` first for a kind of your own"),
            Self::Exists { admission, .. } => {
                format!(
                    "add `--force` to write its files anew, or leave `{}` out",
                    admission.option()
                )
            }
            Self::NameTooLong { .. } => "choose a shorter group, kind or version".to_owned(),
            Self::PathTaken { admission, .. } => {
                format!("type another path after `{}`", admission.path_option())
            }
            Self::CoreConversion { .. } => "leave `--conversion` and `--spoke` out".to_owned(),
            Self::ControllersAlone { create, .. } => {
                format!("type `{create}` for a controller, which sees every change of it")
            }
            Self::NoSpoke { .. } => "type `--spoke VERSION`, such as `--spoke v2`".to_owned(),
            Self::SpokeTwice { .. } => "name each version once after `--spoke`".to_owned(),
            Self::SpokeIsHub { .. } => "name other versions after `--spoke`".to_owned(),
            Self::UnknownSpoke { create, .. } => format!("type `{create}` first"),
            Self::SpokeExists { .. } => {
                "add `--force` to write its files anew, or leave it out".to_owned()
            }
            Self::SecondHub { hub, .. } => {
                format!("type `--version {hub}`, and the other versions after `--spoke`")
            }
        }
    }
}
