//! A progress line for long work.
//!
//! On a terminal the line is rewritten, and cleared when the work is done. Elsewhere, such as in a log,
//! a new line is printed every half minute.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use super::{DONE, Report, speak};

/// The interval between updates on a terminal.
const TERMINAL: Duration = Duration::from_millis(100);

/// The interval between lines in a log.
const LOG: Duration = Duration::from_secs(30);

/// Clears the line with the cursor.
const CLEAR: &str = "\r\x1b[2K";

/// The progress line of one piece of work.
pub(crate) struct Progress<'a> {
    report: &'a Report,
    word: &'static str,
    is_terminal: bool,
    last: Instant,
}

impl Report {
    /// Starts a progress line with this status word.
    pub(crate) fn progress(&self, word: &'static str) -> Progress<'_> {
        Progress {
            report: self,
            word,
            is_terminal: io::stderr().is_terminal(),
            last: Instant::now(),
        }
    }
}

impl Progress<'_> {
    /// Shows `text`, unless the line was updated a moment ago.
    pub(crate) fn show(&mut self, text: impl FnOnce() -> String) {
        let pause = if self.is_terminal { TERMINAL } else { LOG };
        if self.last.elapsed() < pause {
            return;
        }
        self.last = Instant::now();
        let line = self.report.line(self.word, DONE, &text());
        if self.is_terminal {
            speak(&format!("{CLEAR}{}", line.trim_end()));
        } else {
            speak(&line);
        }
    }
}

impl Drop for Progress<'_> {
    fn drop(&mut self) {
        if self.is_terminal {
            speak(CLEAR);
        }
    }
}
