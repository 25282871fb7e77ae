//! The work that needs cargo: one job at a time, since cargo locks its target directory.

use std::path::{Path, PathBuf};
use std::time::Instant;

use serde_json::Value;

use crate::cli::Color;
use crate::error::IoError;
use crate::layout;
use crate::toolchain::child::{Child, Line, Output};
use crate::toolchain::environment;

/// What a job makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// `kbr manifests`.
    Manifests,
    /// The helper that runs the API server.
    Helper,
    Operator,
}

impl Kind {
    /// The word for programs.
    pub(super) fn word(self) -> &'static str {
        match self {
            Self::Manifests => "manifests",
            Self::Helper => "helper",
            Self::Operator => "operator",
        }
    }
}

/// A job that runs.
pub(super) struct Job {
    pub(crate) kind: Kind,
    pub(crate) started: Instant,
    /// Killed when this is dropped.
    _process: Child,
    out: Vec<String>,
    err: Vec<String>,
}

/// How a job ended.
pub(super) struct Finished {
    pub(crate) kind: Kind,
    pub(crate) is_success: bool,
    pub(crate) started: Instant,
    /// The lines of standard output.
    pub(crate) out: Vec<String>,
    /// What cargo said, as it said it.
    pub(crate) messages: Vec<String>,
}

impl Job {
    /// Starts the job in the project at `root`, whose operator is the binary `name`.
    pub(super) fn start(
        kind: Kind,
        root: &Path,
        name: &str,
        color: Color,
        each: impl Fn(Output) + Clone + Send + 'static,
    ) -> Result<Self, IoError> {
        let color = match color {
            Color::Never => "never",
            Color::Always | Color::Auto => "always",
        };
        let format = "--message-format=json-render-diagnostics";
        let line = match kind {
            Kind::Manifests => Line::new(
                environment::path(),
                &["manifests", "--output=json", "--color", color],
            )
            .with("CARGO_TERM_QUIET", "true"),
            Kind::Helper => Line::new("cargo", &["build", "--quiet", "--color", color, format])
                .and(&["--example", HELPER])
                .and(helper_features(root)),
            Kind::Operator => Line::new("cargo", &["build", "--quiet", "--color", color, format])
                .and(&["--bin", name]),
        };
        Ok(Self {
            kind,
            started: Instant::now(),
            _process: Child::start(&line, root, each)?,
            out: Vec::new(),
            err: Vec::new(),
        })
    }

    /// Takes what the process prints; returns how it ended, once it has.
    pub(super) fn take(&mut self, output: Output) -> Option<Finished> {
        match output {
            Output::Out(line) => self.out.push(line),
            Output::Err(line) => self.err.push(line),
            Output::Ended(code) => {
                return Some(Finished {
                    kind: self.kind,
                    is_success: code == Some(0),
                    started: self.started,
                    out: std::mem::take(&mut self.out),
                    messages: std::mem::take(&mut self.err),
                });
            }
        }
        None
    }
}

/// The example with the helper.
const HELPER: &str = "run-local";

/// The part of `kbr-testing` that the helper needs.
const HELPER_FEATURE: &str = "kbr-testing/development";

/// The features that the helper is built with: a project of an earlier kbr has no such feature.
fn helper_features(root: &Path) -> &'static [&'static str] {
    let manifest = std::fs::read_to_string(root.join(layout::MANIFEST));
    if manifest.is_ok_and(|text| text.contains(HELPER_FEATURE)) {
        &["--features", HELPER_FEATURE]
    } else {
        &[]
    }
}

impl Finished {
    /// The program that cargo has built.
    pub(super) fn executable(&self) -> Option<PathBuf> {
        let messages = self.out.iter();
        let artifacts = messages.filter(|line| line.contains("\"executable\":\""));
        let mut paths = artifacts.filter_map(|line| {
            let message: Value = serde_json::from_str(line).ok()?;
            Some(message["executable"].as_str()?.into())
        });
        paths.next_back()
    }
}

/// The code of the error that the types do not compile.
const UNCOMPILED: &str = "cargo-failed";

/// What `kbr manifests --output json` reports: the files that it changed, and sentences about warnings and errors.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Manifests {
    pub(crate) files: Vec<String>,
    pub(crate) warnings: Vec<String>,
    pub(crate) errors: Vec<String>,
    /// Whether cargo could not compile the types, which it has explained.
    pub(crate) is_uncompiled: bool,
}

impl Manifests {
    pub(super) fn of(out: &[String]) -> Self {
        let report: Value = serde_json::from_str(&out.join("\n")).unwrap_or_default();
        let items = |name: &str| report[name].as_array().cloned().unwrap_or_default();
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let files = items("files").into_iter();
        let files =
            files.filter(|file| file["outcome"] != "unchanged" && file["outcome"] != "kept");
        Self {
            files: files.map(|file| text(&file["path"])).collect(),
            warnings: items("warnings").iter().map(text).collect(),
            errors: items("errors")
                .iter()
                .map(|it| match it["code"].as_str() {
                    Some(UNCOMPILED) => "the types could not be compiled".to_owned(),
                    _ => format!("{}\n{}", text(&it["message"]), text(&it["hint"])),
                })
                .map(|it| it.trim_end().to_owned())
                .collect(),
            is_uncompiled: items("errors").iter().any(|it| it["code"] == UNCOMPILED),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_of_kbr_manifests_is_read() {
        let report = r#"{"files":[{"path":"a","outcome":"updated"},{"path":"b","outcome":"unchanged"}],
            "warnings":["careful"],"errors":[{"code":"x","message":"wrong","hint":"do that"},{"message":"bad","hint":""}]}"#;
        let lines: Vec<String> = report.lines().map(str::to_owned).collect();
        let expected = Manifests {
            files: vec!["a".to_owned()],
            warnings: vec!["careful".to_owned()],
            errors: vec!["wrong\ndo that".to_owned(), "bad".to_owned()],
            is_uncompiled: false,
        };
        assert_eq!(Manifests::of(&lines), expected);
        assert_eq!(Manifests::of(&[]), Manifests::default());
    }
}
