//! What the errors of all modules have in common. This module does not depend on any of them.
//!
//! Each module has its own errors, next to the code that fails: an enum whose variants carry the facts.
//! `thiserror` describes what is wrong and where, miette's `help` what to type instead, and programs recognize
//! an error by its `code`; `kbr help errors` lists the codes. If several things are wrong at once,
//! `related` lists them one by one. [`crate::commands::error`] collects all errors. Nothing here prints.

use std::fmt::Display;
use std::io;
use std::path::PathBuf;

use miette::Diagnostic;
use thiserror::Error;

/// The system did not let kbr use a file, a folder or a stream.
#[derive(Debug, Error, Diagnostic)]
#[error("could not {verb} `{}`: {source}", .path.display())]
#[diagnostic(code("system"), help("{}", help(.source)))]
pub(crate) struct IoError {
    /// The operation that failed, such as `read`.
    pub(crate) verb: &'static str,
    pub(crate) path: PathBuf,
    pub(crate) source: io::Error,
}

impl IoError {
    /// For `map_err`: adds the operation and the path.
    pub(crate) fn at(
        verb: &'static str,
        path: impl Into<PathBuf>,
    ) -> impl FnOnce(io::Error) -> Self {
        let path = path.into();
        move |source| Self { verb, path, source }
    }
}

fn help(source: &io::Error) -> &'static str {
    match source.kind() {
        io::ErrorKind::StorageFull => "free some space on that disk, and run the command again",
        _ => "",
    }
}

/// Returns what to type or do instead, unless the message already says it.
pub(crate) fn help_of(error: &dyn Diagnostic) -> Option<String> {
    let help = error.help()?.to_string();
    (!help.is_empty()).then_some(help)
}

/// Formats several problems, one per line.
pub(crate) fn lines<T: Display>(problems: &[T]) -> String {
    join(problems, "\n", T::to_string)
}

/// Formats several problems, one per line, each followed by its own help.
pub(crate) fn lines_with_help<T: Diagnostic>(problems: &[T]) -> String {
    join(problems, "\n", |problem| match help_of(problem) {
        Some(help) => format!("{problem}; {help}"),
        None => problem.to_string(),
    })
}

/// The help texts of the errors, each once and on its own line.
pub(crate) fn helps<T: Diagnostic>(errors: &[T]) -> String {
    let mut helps: Vec<String> = errors.iter().filter_map(|it| help_of(it)).collect();
    helps.dedup();
    helps.join("\n help: ")
}

/// Formats names for a sentence: `` `a`, `b` ``.
pub(crate) fn quoted(names: &[impl Display]) -> String {
    join(names, ", ", |name| format!("`{name}`"))
}

/// Formats alternatives for a sentence: `` `a` or `b` ``.
pub(crate) fn either(ways: &[impl Display]) -> String {
    join(ways, " or ", |way| format!("`{way}`"))
}

/// The first line of somebody else's message, or its beginning.
pub(crate) fn beginning(message: &str, longest: usize) -> String {
    let line = message.lines().next().unwrap_or_default();
    match line.char_indices().nth(longest) {
        Some((end, _)) => format!("{}…", &line[..end]),
        None => line.to_owned(),
    }
}

pub(crate) fn join<T>(items: &[T], separator: &str, show: impl Fn(&T) -> String) -> String {
    let shown: Vec<String> = items.iter().map(show).collect();
    shown.join(separator)
}
