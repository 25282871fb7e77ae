//! From PROJECT's text to the value; first checks which program and version wrote the file.

use miette::Diagnostic;
use serde::Deserialize;
use serde_yaml::Value;
use thiserror::Error;

use super::{FORMAT, LAYOUT, Project};

/// Why a PROJECT file cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum ProjectError {
    #[error("PROJECT cannot be read: {reason}")]
    #[diagnostic(
        code("project-unreadable"),
        help("restore the file from version control, or update kbr if a newer one wrote it")
    )]
    Unreadable { reason: String },
    #[error("a merge has left a conflict in PROJECT: line {line}")]
    #[diagnostic(
        code("project-merge"),
        help(
            "keep both sides: all lines under `files`, all entries under `resources`, each of them whole; of two lines for one file, and of its entries under `bases`, keep those of one side"
        )
    )]
    Merge { line: usize },
    #[error("PROJECT has the layout `{layout}`: this is a Go project of kubebuilder")]
    #[diagnostic(
        code("project-go-layout"),
        help("use kubebuilder here, or run kbr in another folder")
    )]
    GoLayout { layout: String },
}

/// The two keys that say which program wrote the file; read before the rest is checked.
#[derive(Deserialize)]
#[serde(expecting = "a mapping")]
struct Envelope {
    #[serde(default)]
    layout: Value,
    #[serde(default)]
    version: Value,
}

impl Project {
    /// Reads PROJECT's text, trusting nothing in it.
    pub(crate) fn parse(text: &str) -> Result<Self, ProjectError> {
        if let Some(at) = text.lines().position(|line| line.starts_with("<<<<<<< ")) {
            return Err(ProjectError::Merge { line: at + 1 });
        }
        let envelope: Envelope = serde_yaml::from_str(text).map_err(unreadable)?;
        check_envelope(&envelope)?;
        let project: Self = serde_yaml::from_str(text).map_err(unreadable)?;
        project.check().map_err(unreadable)?;
        Ok(project)
    }
}

fn unreadable(reason: impl ToString) -> ProjectError {
    let reason = reason.to_string();
    ProjectError::Unreadable { reason }
}

/// Refuses a layout or a version that this kbr does not know.
fn check_envelope(envelope: &Envelope) -> Result<(), ProjectError> {
    let layout = match &envelope.layout {
        Value::String(one) => one.clone(),
        Value::Sequence(many) => {
            let words: Vec<_> = many.iter().map(|key| key.as_str().unwrap_or("?")).collect();
            words.join(", ")
        }
        _ => String::new(),
    };
    if layout.contains("kubebuilder.io") || layout.contains("operator-sdk") {
        return Err(ProjectError::GoLayout { layout });
    }
    if layout != LAYOUT {
        let found = if layout.is_empty() {
            "missing".to_owned()
        } else {
            format!("`{}`", layout.escape_debug())
        };
        let reason = format!("`layout` is {found}; this kbr knows `{LAYOUT}`");
        return Err(unreadable(reason));
    }
    let found = match &envelope.version {
        Value::String(version) if version == FORMAT => return Ok(()),
        Value::Null => "missing".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => format!("the number {number}"),
        _ => "not a string".to_owned(),
    };
    let reason = format!("`version` is {found}; this kbr knows \"{FORMAT}\"");
    Err(unreadable(reason))
}
