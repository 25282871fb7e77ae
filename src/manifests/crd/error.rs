//! Why types cannot become CRDs.

use miette::Diagnostic;
use thiserror::Error;

use super::attributes::InvalidAttribute;
use crate::error::quoted;
use crate::manifests::schema::Refusal;

/// One thing that keeps a type from becoming a CRD. Each `kind` is written with its group, `Foo.example.com`.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum CrdError {
    #[error("`crdgen` printed something other than its JSON document: {0}")]
    #[diagnostic(
        code("types-unreadable"),
        help(
            "restore `api/src/bin/crdgen.rs` from version control, and print nothing from the types"
        )
    )]
    Unreadable(serde_json::Error),
    #[error("`{name}`: {refusal}")]
    #[diagnostic(code("types-refused"), help("{}", refusal.reason.help()))]
    Refused { name: String, refusal: Refusal },
    #[error("`{name}`: `#[kube({})]` {}", .attribute.text, .attribute.problem)]
    #[diagnostic(code("types-attribute"), help("{}", attribute.help))]
    Attribute {
        name: String,
        attribute: InvalidAttribute,
    },
    #[error("`{name}` panicked while it described itself: {message}")]
    #[diagnostic(
        code("types-panicked"),
        help("find the attribute of the type that the message refers to")
    )]
    Panicked { name: String, message: String },
    #[error("`{kind}` has no stored version")]
    #[diagnostic(
        code("types-stored-version-unset"),
        help("set one of its versions as the stored version in PROJECT")
    )]
    StoredVersionUnset { kind: String },
    #[error("the stored version `{stored}` of `{kind}` is not one of {}", quoted(.versions))]
    #[diagnostic(
        code("types-stored-version-unknown"),
        help("set one of its versions as the stored version in PROJECT")
    )]
    StoredVersionUnknown {
        kind: String,
        stored: String,
        versions: Vec<String>,
    },
    #[error("`{kind}` has two types for version `{version}`")]
    #[diagnostic(
        code("types-version-twice"),
        help("give one of them another `version` in `#[kube(…)]`")
    )]
    VersionTwice { kind: String, version: String },
    #[error("the versions of `{kind}` differ in their {property}")]
    #[diagnostic(
        code("types-versions-differ"),
        help("write the same value in the `#[kube(…)]` of each version")
    )]
    Mismatch {
        kind: String,
        property: &'static str,
    },
}
