//! The one printer: status lines as cargo has them, errors, and the exit code.
//!
//! Everything a person reads goes to standard error; standard output is for what another program
//! takes: a completion script, the versions, a folder. A reader that has gone away is no error.

mod progress;

use std::io::{self, BufRead, IsTerminal, Write};
use std::process::ExitCode;

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};

use crate::cli::Color;
use crate::error::{Error, Result};
use crate::layout::VENDORED;
use crate::plan::{Outcome, Plan};

pub use progress::Progress;

const DONE: Style = AnsiColor::Green.on_default().bold();
const NOTE: Style = AnsiColor::Cyan.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// Width to which cargo aligns its status words.
const WIDTH: usize = 12;

/// Speaks to the user, in colour or without.
pub struct Report {
    is_coloured: bool,
}

impl Report {
    pub fn new(color: Color) -> Self {
        let is_coloured = match color {
            Color::Auto => AutoStream::choice(&io::stderr()) != ColorChoice::Never,
            Color::Always => true,
            Color::Never => false,
        };
        Self { is_coloured }
    }

    /// A line for each file of the plan, and one for all that are vendored.
    pub fn plan(&self, plan: &Plan) {
        let mut vendored = None;
        let lines = plan.steps.iter().filter_map(|step| {
            let is_vendored = step.path.starts_with(VENDORED);
            if is_vendored && vendored.replace(step.outcome) == Some(step.outcome) {
                return None;
            }
            let path = if is_vendored { VENDORED } else { &step.path };
            let (word, style) = match step.outcome {
                Outcome::Created => ("Created", DONE),
                Outcome::Edited => ("Edited", DONE),
                Outcome::Updated => ("Updated", DONE),
                Outcome::Removed => ("Removed", DONE),
                Outcome::Unchanged => ("Unchanged", NOTE),
                Outcome::Kept => ("Kept", NOTE),
            };
            Some(self.line(word, style, path))
        });
        speak(&lines.collect::<String>());
    }

    /// The next command to type.
    pub fn next(&self, command: &str) {
        speak(&self.line("Next", NOTE, command));
    }

    /// One thing that was done, or is about to be.
    pub fn status(&self, word: &str, text: &str) {
        speak(&self.line(word, DONE, text));
    }

    /// One thing that was left as it is.
    pub fn note(&self, word: &str, text: &str) {
        speak(&self.line(word, NOTE, text));
    }

    /// A line that moves while work under this word goes on.
    pub fn progress(&self, word: &'static str) -> Progress<'_> {
        Progress::new(self, word)
    }

    /// What goes wrong if it is not looked at, though the command succeeds.
    pub fn warn(&self, message: &str) {
        speak(&self.line("Warning", WARNING, message));
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

    /// Text for another program, to standard output; a path is not always Unicode.
    pub fn output(&self, text: impl AsRef<[u8]>) {
        let _ = io::stdout().write_all(text.as_ref());
    }

    /// Asks a question to which Enter means yes; nobody is asked where nobody sits.
    pub fn confirm(&self, question: &str) -> Result<bool> {
        if !io::stdin().is_terminal() || !io::stdout().is_terminal() {
            return Ok(true);
        }
        loop {
            speak(&format!("{question} [Y/n] "));
            let mut answer = String::new();
            let read = io::stdin()
                .lock()
                .read_line(&mut answer)
                .map_err(Error::io("read", "standard input"))?;
            match answer.trim().to_ascii_lowercase().as_str() {
                "y" | "yes" => return Ok(true),
                "" if read > 0 => return Ok(true),
                "n" | "no" => return Ok(false),
                "" => return Err(Error::NoAnswer),
                _ => {}
            }
        }
    }

    /// The end of a command: what went wrong, if anything, and the exit code.
    pub fn finish(&self, result: Result<()>) -> ExitCode {
        let Err(error) = result else {
            return ExitCode::SUCCESS;
        };
        let message = error.to_string().replace('\n', "\n       ");
        let mut text = format!("{}: {message}\n", self.paint("error", BAD));
        let help = error.help();
        if !help.is_empty() {
            text += &format!("{}: {help}\n", self.paint(" help", NOTE));
        }
        speak(&text);
        ExitCode::FAILURE
    }
}

/// Writes to standard error, all at once: it has no buffer, and a line is a system call.
fn speak(text: &str) {
    let _ = io::stderr().write_all(text.as_bytes());
}
