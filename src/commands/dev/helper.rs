//! What the helper of the project tells, line by line.

use std::collections::BTreeMap;
use std::path::PathBuf;

use serde::Deserialize;

use super::wrote::Wrote;

/// A line of the helper's standard output.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(tag = "event", rename_all = "kebab-case")]
pub(super) enum Told {
    Operator(Launch),
    Ready(Ready),
    Applied {
        object: String,
        what: String,
    },
    Refused {
        object: String,
        reason: String,
    },
    Note {
        text: String,
    },
    Misfit {
        object: String,
        field: String,
        reason: String,
    },
    MissingRight {
        marker: String,
        controller: Option<String>,
        message: String,
    },
    Wrote(Wrote),
    /// What it was asked for is done.
    Done,
    /// What a later kbr-testing tells.
    #[serde(other)]
    Other,
}

/// How to start the operator.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Launch {
    pub(crate) arguments: Vec<String>,
    pub(crate) environment: BTreeMap<String, String>,
}

/// Where the API server is.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub(super) struct Ready {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) logs: PathBuf,
    /// The file with the CRDs as the API server has them.
    pub(crate) crds: PathBuf,
    pub(crate) has_controllers: bool,
}

/// What the helper is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Request {
    /// Apply `config/default` where it has changed.
    Config,
    /// Apply `config/samples`.
    Samples,
}

impl Request {
    /// The line that asks for it.
    pub(super) fn line(self) -> &'static str {
        match self {
            Self::Config => "config",
            Self::Samples => "samples",
        }
    }
}

impl Told {
    /// `None` for a line that is not from the helper's protocol.
    pub(super) fn of(line: &str) -> Option<Self> {
        serde_json::from_str(line).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_of_a_later_helper_is_no_error() {
        let line = r#"{"event":"weather","is":"fine"}"#;
        assert_eq!(Told::of(line), Some(Told::Other));
        assert_eq!(Told::of("hello"), None);
    }

    #[test]
    fn what_is_done_is_told() {
        let line = format!(
            r#"{{"event":"done","request":"{}"}}"#,
            Request::Config.line()
        );
        assert_eq!(Told::of(&line), Some(Told::Done));
    }
}
