//! What `--output json` prints, as `kbr help json` describes it. A field may be added; a field is removed
//! or changes its meaning only with another [`API_VERSION`].

use std::fmt;

use serde::Serialize;

use crate::plan::Outcome;

use super::problem::Problem;

const API_VERSION: &str = "kbr/v1alpha1";

/// One run of a command.
#[derive(Default, Serialize)]
#[serde(rename_all = "camelCase")]
pub(super) struct JsonReport {
    api_version: &'static str,
    kind: &'static str,
    /// `None` if the command line could not be parsed.
    command: Option<String>,
    dry_run: bool,
    pub(crate) files: Vec<ReportedFile>,
    pub(crate) warnings: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) safe: Vec<String>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub(crate) rollback: Vec<String>,
    pub(crate) next: Vec<String>,
    pub(crate) errors: Vec<Problem>,
}

/// One file of the plan.
#[derive(Serialize)]
pub(super) struct ReportedFile {
    pub(crate) path: String,
    pub(crate) outcome: Outcome,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) diff: Option<String>,
}

impl JsonReport {
    pub(super) fn new(command: Option<String>, dry_run: bool) -> Self {
        Self {
            api_version: API_VERSION,
            kind: "Report",
            command,
            dry_run,
            ..Self::default()
        }
    }
}

impl fmt::Display for JsonReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let json = serde_json::to_string_pretty(self).map_err(|_| fmt::Error)?;
        writeln!(f, "{json}")
    }
}
