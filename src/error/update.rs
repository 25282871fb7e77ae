//! Why a project cannot be updated, or not without its owner.

use std::io;
use std::path::PathBuf;

#[derive(Debug, strum::IntoStaticStr, thiserror::Error)]
#[cfg_attr(test, derive(strum::VariantNames))]
#[strum(serialize_all = "kebab-case", prefix = "update-")]
pub enum UpdateError {
    #[error("these files have edits where the scaffold has changed: {}", quoted(.files))]
    Conflict { files: Vec<String> },
    #[error("these files have changes that are not committed: {}", quoted(.files))]
    Dirty { files: Vec<String> },
    #[error("could not run `git`: {source}")]
    GitMissing { source: io::Error },
    #[error("PROJECT was written by kbr {project}, and this is kbr {own}")]
    Newer { project: String, own: &'static str },
    #[error("`{}` is not in a git repository", .dir.display())]
    NoRepository { dir: PathBuf },
}

fn quoted(files: &[String]) -> String {
    let files: Vec<String> = files.iter().map(|file| format!("`{file}`")).collect();
    files.join(", ")
}

impl UpdateError {
    /// What to type instead.
    pub fn help(&self) -> String {
        match self {
            Self::Conflict { .. } => {
                "choose between the two texts at each `<<<<<<<`, and compile; `git checkout .` takes the update back"
                    .to_owned()
            }
            Self::Dirty { .. } => {
                "commit them first, so that `git checkout .` can take the update back; or add `--allow-dirty`"
                    .to_owned()
            }
            Self::GitMissing { .. } => "install git, or add `--allow-dirty`".to_owned(),
            Self::Newer { project, .. } => {
                format!("type `cargo install --locked kbr@{project}`, or take a newer kbr")
            }
            Self::NoRepository { .. } => {
                "commit the project first, so that the update can be taken back; or add `--allow-dirty`"
                    .to_owned()
            }
        }
    }
}
