//! Why `kbr manifests --check --against` and `--against-crds` fail.

use miette::Diagnostic;
use thiserror::Error;

use crate::error::{join, lines, quoted};
use crate::layout::ALLOWED_BREAKS;
use crate::manifests::compat::CrdChange;

#[derive(Debug, Error, Diagnostic)]
pub(crate) enum AgainstError {
    #[error("`{path}` cannot be read: {reason}")]
    #[diagnostic(code("against-unreadable"))]
    #[diagnostic(help(
        "type another commit after `--against`: one in which this file is a valid CRD"
    ))]
    Unreadable { path: String, reason: String },
    #[error("`{ALLOWED_BREAKS}` cannot be read: {reason}")]
    #[diagnostic(code("against-allowed-unreadable"))]
    #[diagnostic(help("each line is `'BREAK': REASON`, with the break as this command prints it"))]
    AllowedUnreadable { reason: String },
    #[error("none of these CRDs belongs to this project{}", has(.own))]
    #[diagnostic(code("against-none-in-common"))]
    #[diagnostic(help("name files with CRDs of the same names after `--against-crds`"))]
    NoneInCommon { own: Vec<String> },
    #[error("{}", lines(.0))]
    #[diagnostic(help("{}", allow(.0)))]
    Breaks(#[related] Vec<Break>),
}

fn has(own: &[String]) -> String {
    match own {
        [] => ", which has none".to_owned(),
        own => format!(", which has {}", quoted(own)),
    }
}

/// A change that breaks objects stored in a cluster, or clients.
#[derive(Debug, Error, Diagnostic)]
#[error("{0}")]
#[diagnostic(code("against-break"), help("{}", allow(std::slice::from_ref(self))))]
pub(crate) struct Break(pub CrdChange);

/// How to declare breaks as intended.
fn allow(breaks: &[Break]) -> String {
    let lines = join(breaks, "", |Break(it)| {
        format!("\n       '{}': WHY", it.key().replace('\'', "''"))
    });
    format!(
        "if this is intended, add its line to `{ALLOWED_BREAKS}`, with the reason in place of WHY:{lines}"
    )
}
