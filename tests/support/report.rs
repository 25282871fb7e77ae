//! What `--output json` prints, as a program reads it.

use serde::Deserialize;

use super::Run;

/// The document as a program reads it: each field must be present, and no other.
#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Report {
    api_version: String,
    kind: String,
    #[serde(deserialize_with = "Option::deserialize")]
    pub command: Option<String>,
    pub dry_run: bool,
    pub files: Vec<File>,
    pub warnings: Vec<String>,
    #[serde(default)]
    pub safe: Vec<String>,
    #[serde(default)]
    pub rollback: Vec<String>,
    pub next: Vec<String>,
    pub errors: Vec<Problem>,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct File {
    pub path: String,
    pub outcome: Outcome,
    pub diff: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    Created,
    Edited,
    Updated,
    Removed,
    Unchanged,
    Kept,
}

#[derive(Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Problem {
    pub code: String,
    pub message: String,
    pub hint: String,
}

impl Report {
    /// Parses the output of a run, which must be the document and nothing else.
    #[track_caller]
    pub fn of(run: &Run) -> Self {
        assert_eq!(run.stderr, "");
        Self::parse(&run.stdout)
    }

    #[track_caller]
    pub fn parse(text: &str) -> Self {
        let report: Self =
            serde_json::from_str(text).unwrap_or_else(|error| panic!("{error}:\n{text}"));
        assert_eq!(report.api_version, "kbr/v1alpha1");
        assert_eq!(report.kind, "Report");
        report
    }

    /// The paths of the files with that outcome.
    pub fn paths(&self, outcome: Outcome) -> Vec<&str> {
        let files = self.files.iter().filter(|file| file.outcome == outcome);
        files.map(|file| file.path.as_str()).collect()
    }
}
