//! Why a type cannot run an image.

use crate::names::Kind;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "image-")]
pub enum ImageError {
    #[error("`--image` is for a type and its controller, and one of them is not wanted")]
    Parts {
        /// The option by which that was typed.
        typed: Option<&'static str>,
    },
    #[error("`{kind}` would be cluster-scoped, but what runs an image is in a namespace")]
    Scope { kind: Kind },
}

impl ImageError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::Parts {
                typed: Some(option),
            } => format!("leave out `{option}` or `--image`"),
            Self::Parts { typed: None } => {
                "leave out `--image`; the kind may have a controller already: for another one, add \
                 `--controller=true --controller-name NAME`"
                    .to_owned()
            }
            Self::Scope { .. } => "leave `--namespaced=false` out".to_owned(),
        }
    }
}
