//! Why a kind, a version or a group cannot get another name.

use crate::names::Kind;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "rename-")]
pub enum RenameError {
    #[error("`{name}` is not in PROJECT")]
    Unknown {
        name: String,
        /// The options that name what can be renamed.
        there: Vec<String>,
    },
    #[error("`{name}` is not the project's own, and nothing else can be renamed")]
    NotOwn { name: String, there: Vec<String> },
    #[error("`{name}` is its name already")]
    SameName { name: String },
    #[error("`{name}` is in PROJECT already")]
    Taken { name: String },
    #[error("`{kind}` is also `{other}`: kbr cannot tell which of them the code means")]
    Ambiguous { kind: Kind, other: String },
    #[error("{reason}")]
    CannotBe { reason: String },
    #[error("`{name}` is a name in `{path}` already")]
    NameInUse { name: String, path: String },
}

impl RenameError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::Unknown { there, .. } | Self::NotOwn { there, .. } if there.is_empty() => {
                "PROJECT has no kind of its own: there is nothing to rename".to_owned()
            }
            Self::Unknown { there, .. } | Self::NotOwn { there, .. } => {
                format!("type one that PROJECT has: `{}`", there.join("`, `"))
            }
            Self::SameName { .. } => "type another name after `--to`".to_owned(),
            Self::Ambiguous { .. } => {
                "add the new kind with `kbr create api`, move your code to it, and delete \
                                       the old one with `kbr delete api`"
                    .to_owned()
            }
            Self::Taken { .. } => {
                "choose another `--to`, or delete that with `kbr delete api` first".to_owned()
            }
            Self::CannotBe { .. } => "choose another `--to`, or `--plural` for a kind".to_owned(),
            Self::NameInUse { .. } => {
                "choose another `--to`, or give that one another name first".to_owned()
            }
        }
    }
}
