//! From PROJECT's text to the value; first checks which program and version wrote the file.

use miette::Diagnostic;
use serde::Deserialize;
use serde_yaml::Value;
use thiserror::Error;

use super::{FORMAT, LAYOUT, LAYOUT_0_1, Project};
use crate::names::ProjectName;

/// Why a PROJECT file cannot be used.
#[derive(Debug, Error, Diagnostic)]
pub enum ProjectError {
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
            "keep both sides: all lines under `files`, all entries under `resources`, each of them whole"
        )
    )]
    Merge { line: usize },
    #[error("PROJECT has the layout `{layout}`: this is a Go project of kubebuilder")]
    #[diagnostic(
        code("go-layout"),
        help("use kubebuilder here, or run kbr in another folder")
    )]
    GoLayout { layout: String },
    #[error("this project was scaffolded by kbr 0.1.0, with its own crate in `runtime/`")]
    #[diagnostic(
        code("old-layout"),
        help(
            "type `kbr update`, and in your own files replace `runtime::testing` with `kbr_testing`, then `runtime` with `kbr_runtime`"
        )
    )]
    OldLayout,
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
    pub fn parse(text: &str) -> Result<Self, ProjectError> {
        let project = Self::parse_earlier(text)?;
        match project.is_of_0_1() {
            true => Err(ProjectError::OldLayout),
            false => Ok(project),
        }
    }

    /// Like [`Self::parse`], but also accepts the layout of kbr 0.1, for `kbr update`.
    pub fn parse_earlier(text: &str) -> Result<Self, ProjectError> {
        if let Some(at) = text.lines().position(|line| line.starts_with("<<<<<<< ")) {
            return Err(ProjectError::Merge { line: at + 1 });
        }
        let envelope: Envelope = serde_yaml::from_str(text).map_err(unreadable)?;
        let layout = check_envelope(&envelope)?;
        let parsed = match layout == LAYOUT_0_1 {
            true => of_0_1(text),
            false => serde_yaml::from_str::<Self>(text),
        };
        let project = parsed.map_err(unreadable)?;
        project.check().map_err(unreadable)?;
        Ok(project)
    }
}

fn unreadable(reason: impl ToString) -> ProjectError {
    let reason = reason.to_string();
    ProjectError::Unreadable { reason }
}

/// Reads a project of kbr 0.1, whose managers had no Lease.
fn of_0_1(text: &str) -> serde_yaml::Result<Project> {
    let mut keys: serde_yaml::Mapping = serde_yaml::from_str(text)?;
    if let Some(value) = keys.get("projectName").cloned() {
        let name: ProjectName = serde_yaml::from_value(value)?;
        let lease = name.lease_name().to_string();
        keys.entry("leaderElectionId".into())
            .or_insert_with(|| lease.into());
    }
    serde_yaml::from_value(keys.into())
}

/// The layout, if this kbr knows it.
fn check_envelope(envelope: &Envelope) -> Result<String, ProjectError> {
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
    if layout != LAYOUT && layout != LAYOUT_0_1 {
        let found = if layout.is_empty() {
            "missing".to_owned()
        } else {
            format!("`{}`", layout.escape_debug())
        };
        let reason = format!("`layout` is {found}; this kbr knows `{LAYOUT}`");
        return Err(unreadable(reason));
    }
    let found = match &envelope.version {
        Value::String(version) if version == FORMAT => return Ok(layout),
        Value::Null => "missing".to_owned(),
        Value::String(text) => format!("{text:?}"),
        Value::Number(number) => format!("the number {number}"),
        _ => "not a string".to_owned(),
    };
    let reason = format!("`version` is {found}; this kbr knows \"{FORMAT}\"");
    Err(unreadable(reason))
}
