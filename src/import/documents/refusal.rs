//! Why a file, or a CRD in it, cannot be read.

use miette::Diagnostic;
use thiserror::Error;

use super::definition::Problem;
use super::reason::Reason;

/// Where something is wrong, and what.
#[derive(Debug, Error, Diagnostic)]
#[error("{place}{reason}")]
#[diagnostic(code("crd-unreadable"), help("{}", .reason.help()))]
pub(crate) struct Refusal {
    /// Such as `crds/things.yaml:3: `, with the CRD, the version and the field.
    place: String,
    /// The name of the CRD, if it is known.
    pub(crate) crd: Option<String>,
    pub(crate) reason: Reason,
}

impl Refusal {
    pub(crate) fn of_url(url: &str) -> Self {
        let reason = Reason::Url {
            url: url.to_owned(),
        };
        Self::of_path(url, reason)
    }

    pub(super) fn of_path(path: &str, reason: Reason) -> Self {
        let place = format!("`{path}` ");
        Self {
            place,
            crd: None,
            reason,
        }
    }

    pub(super) fn of_line(file: &str, line: usize, reason: Reason) -> Self {
        let place = format!("`{file}:{line}` ");
        Self {
            place,
            crd: None,
            reason,
        }
    }

    pub(super) fn of_crd(file: &str, line: usize, name: &str, problem: Problem) -> Self {
        let version = match problem.version.as_str() {
            "" => String::new(),
            version => format!(", {version}"),
        };
        let crd = (!name.is_empty()).then(|| name.to_owned());
        let name = if name.is_empty() { "the CRD" } else { name };
        let field = match problem.path.as_str() {
            "" => String::new(),
            path => format!("`{path}` "),
        };
        let place = format!("`{file}:{line}`: {name}{version}: {field}");
        Self {
            place,
            crd,
            reason: problem.reason,
        }
    }
}
