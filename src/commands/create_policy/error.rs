//! Why a policy cannot be added to a project.

use miette::Diagnostic;
use thiserror::Error;

use crate::project::{Gvk, PolicyType};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum PolicyCommandError {
    #[error("nothing to do: no policy is requested")]
    #[diagnostic(code("policy-nothing-requested"))]
    #[diagnostic(help(
        "add `--validating` to refuse requests, `--mutating` to change objects, or both"
    ))]
    NothingWanted,
    #[error("`{gvk}` already has a {policy} policy")]
    #[diagnostic(code("policy-exists"))]
    #[diagnostic(help("add `--force` to overwrite its files, or omit `{}`", policy.option()))]
    Exists { gvk: Gvk, policy: PolicyType },
}
