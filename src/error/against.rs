//! Why `kbr manifests --check --against` fails.

use std::io;
use std::path::PathBuf;

use super::list;
use crate::layout::ALLOWED_BREAKS;
use crate::manifests::compat::Change;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "against-")]
pub enum AgainstError {
    #[error("could not start `git`: {source}")]
    GitMissing { source: io::Error },
    #[error("`{}` is in no repository of git's", .dir.display())]
    NoRepository { dir: PathBuf },
    #[error("`{git_ref}` is not a commit of this repository")]
    UnknownRef { git_ref: String },
    #[error("in `{git_ref}` there is no project: it has no PROJECT file here")]
    NoProject { git_ref: String },
    #[error("`git {command}` failed: {reason}")]
    Git {
        command: &'static str,
        reason: String,
    },
    #[error("`{path}` cannot be read: {reason}")]
    Unreadable { path: String, reason: String },
    #[error("{}", list(.0))]
    Break(Vec<Change>),
}

impl AgainstError {
    /// What to type or to do instead.
    pub fn help(&self) -> String {
        match self {
            Self::GitMissing { .. } => "install git, and see that it is on PATH".to_owned(),
            Self::NoRepository { .. } => {
                "type it in a clone of the project's repository; without `--against`, `--check` \
                 needs none"
                    .to_owned()
            }
            Self::UnknownRef { .. } => {
                "name a branch, a tag or a commit that is here; `git fetch --unshallow` fetches what a \
                 shallow clone lacks"
                    .to_owned()
            }
            Self::NoProject { .. } => {
                "name a commit that has the project in the same folder".to_owned()
            }
            Self::Git { .. } => String::new(),
            Self::Unreadable { path, .. } if path == ALLOWED_BREAKS => {
                "each line is `'BREAK': REASON`, with the break as this command prints it".to_owned()
            }
            Self::Unreadable { .. } => {
                "name a commit in which it is a CustomResourceDefinition".to_owned()
            }
            Self::Break(breaks) => allow(breaks),
        }
    }
}

/// How to say that breaks are meant.
pub(super) fn allow(breaks: &[Change]) -> String {
    let line = |it: &Change| format!("\n       '{}': WHY", it.key().replace('\'', "''"));
    let lines: String = breaks.iter().map(line).collect();
    format!(
        "for what is meant, write its line into `{ALLOWED_BREAKS}`, with the reason for WHY:{lines}"
    )
}
