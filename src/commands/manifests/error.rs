//! Why no manifests can be generated from a project's code.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::lines_with_help;
use crate::manifests::schema::RECURSION_HELP;
use crate::manifests::{CrdError, MarkerError, PolicyError};
use crate::names::{Kind, Version};

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ManifestsError {
    #[error("{}", lines_with_help(.0))]
    Markers(#[related] Vec<MarkerError>),
    #[error("{}", lines_with_help(.0))]
    Types(#[related] Vec<CrdError>),
    #[error("{}", lines_with_help(.0))]
    Policies(#[related] Vec<PolicyError>),
    #[error("kube cannot describe a type that contains itself: {}", .0.join(", "))]
    #[diagnostic(code("types-recursive"), help("{RECURSION_HELP}"))]
    EndlessTypes(Vec<String>),
    #[error("the compiled types do not match PROJECT: {}", .differences.join(", "))]
    #[diagnostic(code("types-differ-from-project"))]
    #[diagnostic(help(
        "`group`, `version`, `kind` and `plural` of `#[kube(..)]` must match PROJECT; if a \
         type is missing, restore `api/src/bin/crdgen.rs` from version control"
    ))]
    TypesDisagree { differences: Vec<String> },
    #[error(
        "`{version}` of `{kind}` was removed, but it is the stored version in `{crd}`: objects may be stored in it"
    )]
    #[diagnostic(code("types-stored-version-removed"))]
    #[diagnostic(help(
        "restore `{version}` from version control, in PROJECT and in the code, move `storage: true` to \
         another version, and type `kbr manifests`; if no cluster has such objects, remove `{crd}` instead, \
         and run the command again"
    ))]
    StoredVersionGone {
        kind: Kind,
        version: String,
        crd: String,
    },
    #[error(
        "`{stored}` is the stored version of `{kind}`, but its hub is `{hub}`: an object that cannot be converted to the hub would break every list that contains it"
    )]
    #[diagnostic(code("types-hub-not-stored"))]
    #[diagnostic(help(
        "move the line `storage: true` in PROJECT to `{hub}`, or type `{command}` to make `{stored}` the hub; \
         then run the command again"
    ))]
    HubNotStored {
        kind: Kind,
        stored: Version,
        hub: Version,
        /// The command that makes the stored version the hub.
        command: String,
    },
}
