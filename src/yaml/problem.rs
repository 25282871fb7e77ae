//! Why a YAML document cannot be read, and what to do about it.

use thiserror::Error;

/// Why a document cannot be read. Its text continues a sentence that begins with the place.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
pub(crate) enum Problem {
    #[error("is not YAML: {0}")]
    Syntax(String),
    #[error("is a Helm template, not YAML: `{{{{` has no meaning there")]
    Template,
    #[error(
        "is nested more than 128 levels deep, as a YAML anchor is that contains an alias of itself"
    )]
    TooDeep,
    #[error("repeats YAML anchors so often that it would not fit into memory")]
    TooManyAliases,
    #[error("{0}, and kbr reads only text files of at most 8 MiB")]
    Unread(&'static str),
}

impl Problem {
    /// What to type or write instead.
    pub(crate) fn help(&self) -> &'static str {
        match self {
            Self::Syntax(_) => {
                "correct the line: YAML needs quotes around a text that begins with `!`, `{`, `[`, `*` or `&`, or has \
                 `: ` or ` #` in it"
            }
            Self::Template => {
                "render the chart, and name the result: `helm template CHART --include-crds > crds.yaml`"
            }
            Self::Unread(_) => "put a file with its text there, or the file elsewhere",
            Self::TooDeep | Self::TooManyAliases => "write it without YAML anchors",
        }
    }
}
