//! The only printer: status lines like cargo's or one JSON document, errors, and the exit code.
//!
//! Everything for people goes to standard error; standard output is for other programs:
//! JSON, a diff, a completion script, the versions, a folder. It is not an error if the reader
//! has closed the pipe.

mod document;
mod happening;
mod problem;
mod progress;
mod screen;

use std::cell::{Cell, RefCell};
use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use miette::Diagnostic;
use thiserror::Error;

use crate::cli::{Cli, Color, Command, Mode, Output};
use crate::error::{IoError, help_of};
use crate::layout::VENDORED;
use crate::plan::{Outcome, Plan, Step};

use document::{JsonReport, ReportedFile};
pub(crate) use happening::{Happening, Level};
pub(crate) use problem::Problem;
pub(crate) use screen::Pressed;

const DONE: Style = AnsiColor::Green.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

const ADDED: Style = AnsiColor::Green.on_default();
const REMOVED: Style = AnsiColor::Red.on_default();
const HUNK: Style = AnsiColor::Cyan.on_default();

/// Width to which cargo aligns its status words.
const WIDTH: usize = 12;

/// How many files are listed one by one on a terminal, which usually has 24 lines.
const LONGEST_LIST: usize = 22;

/// Why a question was not answered.
#[derive(Debug, Error, Diagnostic)]
pub(crate) enum AnswerError {
    #[error("no answer: standard input has ended")]
    #[diagnostic(code("answer-missing"))]
    #[diagnostic(help("type `--resource` and `--controller`, each with `=true` or `=false`"))]
    None,
    #[error(transparent)]
    #[diagnostic(transparent)]
    Io(#[from] IoError),
}

/// Prints for the user, with or without colour, or for a program.
pub(crate) struct Report {
    is_coloured: bool,
    is_diff_coloured: bool,
    has_diff: bool,
    /// Whether a long list of files is shortened: on a terminal, unless all files are requested.
    is_brief: bool,
    mode: Mode,
    /// Whether JSON is a line for each thing that happens, instead of one document.
    is_stream: bool,
    screen: screen::Screen,
    /// The JSON that [`Report::finish`] prints, if JSON is requested; nothing else is printed then.
    document: Option<RefCell<JsonReport>>,
    /// The exit code, if it is not that of success or failure.
    code: Cell<Option<u8>>,
}

impl Report {
    pub(crate) fn new(cli: &Cli) -> Self {
        let is_coloured = |default| match cli.color {
            Color::Auto => default != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        };
        let mode = cli.mode();
        let document = || JsonReport::new(Some(cli.name.clone()), mode != Mode::Apply);
        Self {
            is_coloured: is_coloured(AutoStream::choice(&io::stderr())),
            is_diff_coloured: is_coloured(AutoStream::choice(&io::stdout())),
            has_diff: cli.diff,
            is_brief: io::stderr().is_terminal() && !cli.verbose && mode == Mode::Apply,
            mode,
            is_stream: matches!(cli.command, Command::Dev(_)),
            screen: screen::Screen::default(),
            document: (cli.output == Output::Json).then(|| RefCell::new(document())),
            code: Cell::new(None),
        }
    }

    /// Prints what was done or would be done: the files, the warnings, the next command to type.
    pub(crate) fn plan(&self, plan: &Plan, warnings: Vec<String>, next: String) {
        let diff = |step: &Step| self.has_diff.then(|| step.diff());
        if let Some(document) = &self.document {
            let mut document = document.borrow_mut();
            let file = |step: &Step| ReportedFile {
                path: step.path.clone(),
                outcome: step.outcome,
                diff: diff(step),
            };
            document.files = plan.visible().map(file).collect();
            document.warnings.extend(warnings);
            document
                .next
                .extend((self.mode != Mode::Check).then_some(next));
            return;
        }
        let diffs: String = plan.visible().filter_map(diff).collect();
        self.output(if self.is_diff_coloured {
            painted(&diffs)
        } else {
            diffs
        });
        let mut text = String::new();
        if self.mode != Mode::Check {
            text += &self.files(plan);
        }
        for warning in warnings {
            text += &self.line("Warning", WARNING, &warning);
        }
        text += &match self.mode {
            Mode::Apply => self.line("Next", NOTE, &next),
            Mode::DryRun => {
                let next = format!("the same without --dry-run, then {next}");
                self.line("Next", NOTE, &next)
            }
            Mode::Check => String::new(),
        };
        speak(&text);
    }

    /// One line for each file of the plan, except that the files of a vendored crate share one. If the list is to be brief
    /// and does not fit a terminal, those of each top folder share one.
    fn files(&self, plan: &Plan) -> String {
        let files: Vec<(Outcome, &str)> = plan
            .visible()
            .map(|step| (step.outcome, step.path.as_str()))
            .collect();
        let vendored = |path| VENDORED.into_iter().find(|it| str::starts_with(path, it));
        let mut lines: Vec<(Outcome, String)> = files
            .iter()
            .map(|&(outcome, path)| (outcome, vendored(path).unwrap_or(path).to_owned()))
            .collect();
        lines.dedup();
        if self.is_brief && lines.len() > LONGEST_LIST {
            lines = by_folder(&files);
        }
        let is_planned = self.mode == Mode::DryRun;
        let line = |(outcome, path): &(Outcome, String)| {
            let (done, planned, style) = match outcome {
                Outcome::Created => ("Created", "Would create", DONE),
                Outcome::Edited => ("Edited", "Would edit", DONE),
                Outcome::Updated => ("Updated", "Would update", DONE),
                Outcome::Removed => ("Removed", "Would remove", DONE),
                Outcome::Unchanged => ("Unchanged", "Unchanged", NOTE),
                Outcome::Kept => ("Kept", "Would keep", NOTE),
            };
            self.line(if is_planned { planned } else { done }, style, path)
        };
        lines.iter().map(line).collect()
    }

    /// Prints changes that break nothing: all for programs, and these lines for people.
    pub(crate) fn safe(&self, all: &[String], lines: &[String]) {
        match &self.document {
            Some(document) => document.borrow_mut().safe = all.to_vec(),
            None => lines.iter().for_each(|change| self.note("Safe", change)),
        }
    }

    /// Prints what would break on a rollback to earlier CRDs: all for programs, and these lines for people.
    pub(crate) fn rollback(&self, all: &[String], lines: &[String]) {
        match &self.document {
            Some(document) => document.borrow_mut().rollback = all.to_vec(),
            None => lines
                .iter()
                .for_each(|change| self.note("Rollback", change)),
        }
    }

    /// Prints one thing that was done, or is about to be done.
    pub(crate) fn status(&self, word: &str, text: &str) {
        speak(&self.line(word, DONE, text));
    }

    /// Prints one thing that was left unchanged, or is left to the user.
    pub(crate) fn note(&self, word: &str, text: &str) {
        speak(&self.line(word, NOTE, text));
    }

    /// Prints a warning: the command succeeds, but something needs attention.
    pub(crate) fn warn(&self, message: &str) {
        match &self.document {
            Some(document) => document.borrow_mut().warnings.push(message.to_owned()),
            None => speak(&self.line("Warning", WARNING, message)),
        }
    }

    fn line(&self, word: &str, style: Style, text: &str) -> String {
        format!("{} {text}\n", self.paint(&format!("{word:>WIDTH$}"), style))
    }

    fn paint(&self, word: &str, style: Style) -> String {
        if self.is_coloured {
            format!("{style}{word}{style:#}")
        } else {
            word.to_owned()
        }
    }

    /// Writes text for another program to standard output; a path is not always Unicode.
    pub(crate) fn output(&self, text: impl AsRef<[u8]>) {
        output(text.as_ref());
    }

    /// From now on, `code` is the exit code, whether the command succeeds or fails.
    pub(crate) fn exit_with(&self, code: u8) {
        self.code.set(Some(code));
    }

    /// Whether JSON is requested.
    pub(crate) fn is_json(&self) -> bool {
        self.document.is_some()
    }

    /// What was typed on the command line, or else the user's answer to the question, which is asked only on a
    /// terminal; Enter means yes.
    pub(crate) fn answer(&self, typed: Option<bool>, question: &str) -> Result<bool, AnswerError> {
        let is_asked = io::stdin().is_terminal() && io::stderr().is_terminal();
        if typed.is_some() || self.document.is_some() || !is_asked {
            return Ok(typed.unwrap_or(true));
        }
        loop {
            speak(&format!("{question} [Y/n] "));
            let mut answer = String::new();
            let read = io::stdin()
                .lock()
                .read_line(&mut answer)
                .map_err(IoError::at("read", "standard input"))?;
            match answer.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "" if read > 0 => return Ok(true),
                "n" | "no" => return Ok(false),
                "" => return Err(AnswerError::None),
                _ => {}
            }
        }
    }

    /// Ends a command: prints what went wrong, if anything, and returns the exit code.
    pub(crate) fn finish(self, result: Result<(), impl Diagnostic>) -> ExitCode {
        self.end_screen();
        let code = self.code.get().unwrap_or(u8::from(result.is_err()));
        let code = ExitCode::from(code);
        if let Some(document) = self.document {
            let mut document = document.into_inner();
            let errors = result.err();
            document.errors = errors.iter().flat_map(|it| Problem::all(it)).collect();
            if self.is_stream {
                for problem in &document.errors {
                    output(happening::of_problem(problem).as_bytes());
                }
                return code;
            }
            output(document.to_string().as_bytes());
            return code;
        }
        let Err(error) = result else {
            return code;
        };
        let message = error.to_string().replace('\n', "\n       ");
        let mut text = format!("{}: {message}\n", self.paint("error", BAD));
        if let Some(help) = help_of(&error) {
            text += &format!("{}: {help}\n", self.paint(" help", NOTE));
        }
        speak(&text);
        code
    }
}

/// Prints a usage error as JSON, and returns the exit code.
pub(crate) fn usage(error: &clap::Error) -> ExitCode {
    let mut document = JsonReport::new(None, false);
    document.errors = vec![error.into()];
    output(document.to_string().as_bytes());
    ExitCode::from(2)
}

fn output(text: &[u8]) {
    let _ = io::stdout().write_all(text);
}

/// One line for each top folder, and each thing that happened to files in it. A file alone is named.
fn by_folder(files: &[(Outcome, &str)]) -> Vec<(Outcome, String)> {
    let mut groups: Vec<(Outcome, &str, Vec<&str>)> = Vec::new();
    for &(outcome, path) in files {
        let folder = path.split_once('/').map_or(".", |(folder, _)| folder);
        let mut known = groups.iter_mut();
        match known.find(|(other, of, _)| (*other, *of) == (outcome, folder)) {
            Some((_, _, paths)) => paths.push(path),
            None => groups.push((outcome, folder, vec![path])),
        }
    }
    let line = |(outcome, folder, paths): (Outcome, &str, Vec<&str>)| match paths[..] {
        [path] => (outcome, path.to_owned()),
        _ => (outcome, format!("{folder}/ ({} files)", paths.len())),
    };
    groups.into_iter().map(line).collect()
}

/// Colours a diff.
fn painted(diff: &str) -> String {
    let line = |line: &str| match line.as_bytes().first() {
        Some(b'+') => format!("{ADDED}{line}{ADDED:#}\n"),
        Some(b'-') => format!("{REMOVED}{line}{REMOVED:#}\n"),
        Some(b'@') => format!("{HUNK}{line}{HUNK:#}\n"),
        _ => format!("{line}\n"),
    };
    diff.lines().map(line).collect()
}

/// Writes to standard error in one call: it has no buffer, so each write is a system call.
fn speak(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
