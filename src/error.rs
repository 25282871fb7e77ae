//! What the errors of all modules have in common. This module knows none of them.
//!
//! Each module has its own errors, next to what fails: an enum whose variants carry the facts.
//! `thiserror` says what is wrong and where, miette's `help` what to type instead, and its `code` is
//! what a program knows the error by; README.md lists them. Where several things are wrong at once,
//! `related` has them one by one. [`crate::commands::error`] collects all of it. Nothing here prints.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

/// A file, a folder or a stream that the system did not let kbr use.
#[derive(Debug, Error, Diagnostic)]
#[error("could not {verb} `{}`: {source}", .path.display())]
#[diagnostic(code("io"), help("{}", help(.source)))]
pub struct IoError {
    /// What was being done, such as `read`.
    pub verb: &'static str,
    pub path: PathBuf,
    pub source: io::Error,
}

impl IoError {
    /// For `map_err`: what was being done to which path.
    pub fn at(verb: &'static str, path: impl Into<PathBuf>) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { verb, path, source }
    }
}

fn help(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull => {
            "free some space on that disk, and type the same command again"
        }
        _ => "",
    }
}

/// What to type or do instead, if the message does not already say it.
pub fn help_of(error: &dyn Diagnostic) -> Option<String> {
    let help = error.help()?.to_string();
    (!help.is_empty()).then_some(help)
}

/// Several problems, one a line.
pub fn lines<T: Display>(problems: &[T]) -> String {
    join(problems, "\n", T::to_string)
}

/// Several problems, one a line, each with its own help behind it.
pub fn lines_with_help<T: Diagnostic>(problems: &[T]) -> String {
    join(problems, "\n", |problem| match help_of(problem) {
        Some(help) => format!("{problem}; {help}"),
        None => problem.to_string(),
    })
}

/// The help of each, once, as lines of their own.
pub fn helps<T: Diagnostic>(errors: &[T]) -> String {
    let mut helps: Vec<String> = errors.iter().filter_map(|it| help_of(it)).collect();
    helps.dedup();
    helps.join("\n help: ")
}

/// Names as a sentence has them: `` `a`, `b` ``.
pub fn quoted(names: &[impl Display]) -> String {
    join(names, ", ", |name| format!("`{name}`"))
}

/// Alternatives as a sentence has them: `` `a` or `b` ``.
pub fn either(ways: &[impl Display]) -> String {
    join(ways, " or ", |way| format!("`{way}`"))
}

pub fn join<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    let items: Vec<String> = items.iter().map(show).collect();
    items.join(separator)
}
