//! Why something cannot be deleted from a project.

use crate::names::{ControllerName, Version};
use crate::project::Admission;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "delete-")]
pub enum DeleteError {
    #[error("`{gvk}` is not in PROJECT")]
    UnknownType {
        gvk: String,
        /// The options that name each type that PROJECT has.
        there: Vec<String>,
    },
    #[error("`{gvk}` is not the project's own: there is no type of it here to delete")]
    NotOwn {
        gvk: String,
        /// The commands that delete what the project has for it.
        commands: Vec<String>,
    },
    #[error("`{gvk}` is the version that is stored, and the kind has others")]
    StoredVersion {
        gvk: String,
        version: Version,
        other: Version,
    },
    #[error("objects may still be stored in `{gvk}`")]
    MayBeStored {
        gvk: String,
        version: Version,
        /// The file that says how they are migrated.
        migration: String,
    },
    #[error("`{gvk}` has webhooks")]
    HasWebhooks { gvk: String, command: String },
    #[error("`{gvk}` is a spoke of `{hub}`")]
    IsSpoke {
        gvk: String,
        hub: Version,
        command: String,
    },

    #[error("neither defaulting, validation nor conversion is named: nothing to do")]
    NothingWanted {
        /// The options that name all webhooks of the type.
        options: String,
    },
    #[error("`{gvk}` has no {admission} webhook")]
    NoAdmission { gvk: String, admission: Admission },
    #[error("`{gvk}` is the hub of no conversion")]
    NoConversion {
        gvk: String,
        /// The version that is the hub of the kind.
        hub: Option<Version>,
    },
    #[error("`{spoke}` is not a spoke of `{gvk}`")]
    NoSpoke {
        gvk: String,
        spoke: Version,
        spokes: Vec<Version>,
    },

    #[error("`{gvk}` has no controller {}", called(.name.as_ref()))]
    NoController {
        gvk: String,
        name: Option<ControllerName>,
        /// The commands that delete those that the kind has.
        commands: Vec<String>,
    },
}

impl DeleteError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::UnknownType { there, .. } if there.is_empty() => {
                "PROJECT has no type: there is nothing to delete".to_owned()
            }
            Self::UnknownType { there, .. } => {
                format!("type one that PROJECT has: `{}`", there.join("`, `"))
            }
            Self::NotOwn { commands, .. } => format!("type {}", quoted(commands)),
            Self::StoredVersion { version, other, .. } => format!(
                "in PROJECT, move `storage: true` from `{version}` to another version, such as `{other}`, and type \
                 `kbr manifests`, which says how the objects are migrated; after that, type the same command again"
            ),
            Self::MayBeStored {
                version, migration, ..
            } => format!(
                "type `kbr manifests`, and in each cluster what `{migration}` says; then remove `{version}` from \
                 `storedVersions` in PROJECT, type `kbr manifests` once more, and the same command again"
            ),
            Self::HasWebhooks { command, .. } | Self::IsSpoke { command, .. } => {
                format!("type `{command}` first")
            }
            Self::NothingWanted { options, .. } if options.is_empty() => {
                "the type has no webhooks: there is nothing to delete".to_owned()
            }
            Self::NothingWanted { options, .. } => {
                format!("add what is to be deleted; the type has `{options}`")
            }
            Self::NoAdmission { admission, .. } => format!("leave `{}` out", admission.option()),
            Self::NoConversion { hub: Some(hub), .. } => {
                format!("type `--version {hub}`, which is the hub")
            }
            Self::NoConversion { hub: None, .. } => "leave `--conversion` out".to_owned(),
            Self::NoSpoke { spokes, .. } => {
                let spokes: Vec<String> = spokes.iter().map(Version::to_string).collect();
                format!("name some of these after `--spoke`: {}", spokes.join(", "))
            }
            Self::NoController { commands, .. } if commands.is_empty() => {
                "the kind has no controller: there is nothing to delete".to_owned()
            }
            Self::NoController { commands, .. } => format!("type {}", quoted(commands)),
        }
    }
}

fn called(name: Option<&ControllerName>) -> String {
    match name {
        Some(name) => format!("called `{name}`"),
        None => "that is named after the kind".to_owned(),
    }
}

fn quoted(commands: &[String]) -> String {
    let commands: Vec<String> = commands.iter().map(|it| format!("`{it}`")).collect();
    commands.join(" or ")
}
