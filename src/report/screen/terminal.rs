//! The terminal while it shows a screen.

use std::io::{self, IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};

use rustix::termios::{
    LocalModes, OptionalActions, SpecialCodeIndex, Termios, tcgetattr, tcgetwinsize, tcsetattr,
};

/// The other screen of the terminal, without a cursor, and without a line that goes on in the next.
const ENTER: &str = "\x1b[?1049h\x1b[?25l\x1b[?7l";

const LEAVE: &str = "\x1b[?7h\x1b[?25h\x1b[?1049l";

/// In between, a terminal that knows this shows nothing.
const BEGIN: &str = "\x1b[?2026h\x1b[H";

const END: &str = "\x1b[?2026l";

/// Before each line: after a line that is as wide as the terminal, it would take the last character away.
const CLEAR: &str = "\x1b[2K";

/// The terminal, which becomes what it was when this is dropped, and also when any thread panics.
pub(super) struct Terminal {
    /// What it was before, unless it is that again.
    before: Arc<Mutex<Option<Termios>>>,
}

impl Terminal {
    /// `None` if standard input, output and error are not all a terminal: what is printed would end up in the screen.
    pub(super) fn take() -> io::Result<Option<Self>> {
        let (stdin, stdout) = (io::stdin(), io::stdout());
        if !(stdin.is_terminal() && stdout.is_terminal() && io::stderr().is_terminal()) {
            return Ok(None);
        }
        let before = tcgetattr(&stdin)?;
        let mut keys = before.clone();
        // Keys arrive without Enter. Ctrl-C remains a signal, but one that would leave the screen behind does not.
        keys.local_modes
            .remove(LocalModes::ICANON | LocalModes::ECHO);
        for code in [SpecialCodeIndex::VSUSP, SpecialCodeIndex::VQUIT] {
            keys.special_codes[code] = 0;
        }
        tcsetattr(&stdin, OptionalActions::Now, &keys)?;
        let terminal = Self {
            before: Arc::new(Mutex::new(Some(before))),
        };
        write(ENTER);
        let (before, other) = (Arc::clone(&terminal.before), std::panic::take_hook());
        std::panic::set_hook(Box::new(move |panic| {
            restore(&before);
            other(panic);
        }));
        Ok(Some(terminal))
    }

    /// Whether it still shows the screen.
    pub(super) fn is_on(&self) -> bool {
        lock(&self.before).is_some()
    }

    /// Columns and rows.
    pub(super) fn size(&self) -> (usize, usize) {
        match tcgetwinsize(io::stdout()) {
            Ok(size) if size.ws_col > 0 && size.ws_row > 0 => {
                (size.ws_col.into(), size.ws_row.into())
            }
            _ => (80, 24),
        }
    }

    /// Shows these lines, of which there are as many as rows.
    pub(super) fn show(&self, lines: &[String]) {
        let guard = lock(&self.before);
        if guard.is_some() {
            let lines = lines.join(&format!("\r\n{CLEAR}"));
            write(&format!("{BEGIN}{CLEAR}{lines}{END}"));
        }
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        restore(&self.before);
    }
}

fn restore(before: &Mutex<Option<Termios>>) {
    if let Some(before) = lock(before).take() {
        write(LEAVE);
        // It is gone if this fails.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &before);
    }
}

fn lock(before: &Mutex<Option<Termios>>) -> std::sync::MutexGuard<'_, Option<Termios>> {
    before.lock().unwrap_or_else(PoisonError::into_inner)
}

fn write(text: &str) {
    let mut stdout = io::stdout().lock();
    let _ = stdout.write_all(text.as_bytes());
    let _ = stdout.flush();
}
