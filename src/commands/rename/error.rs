//! Why a kind, a version or a group cannot be renamed.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::quoted;
use crate::names::Kind;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum RenameError {
    #[error("`{name}` is not in PROJECT")]
    #[diagnostic(code("rename-unknown"), help("{}", known(existing)))]
    Unknown {
        name: String,
        /// The options for everything that can be renamed.
        existing: Vec<String>,
    },
    #[error("`{name}` is not defined in this project, so it cannot be renamed")]
    #[diagnostic(code("rename-not-own"), help("{}", known(existing)))]
    NotOwn { name: String, existing: Vec<String> },
    #[error("the name is already `{name}`")]
    #[diagnostic(code("rename-same-name"), help("type another name after `--to`"))]
    SameName { name: String },
    #[error("`{name}` is already in PROJECT")]
    #[diagnostic(code("rename-taken"))]
    #[diagnostic(help("choose another `--to`, or delete that one with `kbr delete api` first"))]
    Taken { name: String },
    #[error("`{kind}` is also `{other}`: kbr cannot tell which of them the code means")]
    #[diagnostic(code("rename-ambiguous"))]
    #[diagnostic(help(
        "add the new kind with `kbr create api`, move your code to it, and delete the old one with \
         `kbr delete api`"
    ))]
    Ambiguous { kind: Kind, other: String },
    #[error("{reason}")]
    #[diagnostic(code("rename-cannot-be"))]
    #[diagnostic(help("choose another `--to`, or `--plural` for a kind"))]
    CannotBe { reason: String },
    #[error("`{name}` is already a name in `{path}`")]
    #[diagnostic(code("rename-name-in-use"))]
    #[diagnostic(help("choose another `--to`, or rename that one first"))]
    NameInUse { name: String, path: String },
}

fn known(existing: &[String]) -> String {
    match existing {
        [] => "this project defines no kinds to rename".to_owned(),
        existing => format!("PROJECT has {}", quoted(existing)),
    }
}
