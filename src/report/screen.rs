//! The screen of a command that runs until somebody stops it.

mod chooser;
mod entries;
mod state;
#[cfg_attr(not(unix), path = "screen/no_terminal.rs")]
mod terminal;
mod wrapped;

use std::cell::RefCell;
use std::time::Instant;

use super::Report;
use super::happening::Happening;
use state::State;
use terminal::Terminal;

/// What a key is for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Pressed {
    /// Something that only concerns the screen.
    Own,
    /// To pause or resume that object.
    Pause { controller: String, object: String },
    /// The screen does not know.
    Other,
}

/// The screen, while there is one.
#[derive(Default)]
pub(super) struct Screen(RefCell<Option<Shown>>);

struct Shown {
    terminal: Terminal,
    state: State,
    start: Instant,
}

impl Screen {
    /// Calls `with` if the screen is shown, and returns whether it is. After a panic on another thread it is not.
    fn with(&self, with: impl FnOnce(&mut Shown)) -> bool {
        let mut shown = self.0.borrow_mut();
        let shown = shown.as_mut().filter(|shown| shown.terminal.is_on());
        shown.map(with).is_some()
    }

    pub(super) fn take(&self, happening: &Happening) -> bool {
        self.with(|shown| shown.state.take(shown.start.elapsed(), happening))
    }

    pub(super) fn take_messages(&self, text: &str) -> bool {
        self.with(|shown| shown.state.take_messages(shown.start.elapsed(), text))
    }
}

impl Report {
    /// Shows what happens on a screen, if there is a terminal for it; otherwise lines are printed.
    pub(crate) fn start_screen(&self, name: &str) {
        if self.document.is_some() {
            return;
        }
        // Lines can be printed to any terminal.
        if let Ok(Some(terminal)) = Terminal::take() {
            *self.screen.0.borrow_mut() = Some(Shown {
                terminal,
                state: State::new(name, self.is_diff_coloured),
                start: Instant::now(),
            });
        }
    }

    pub(crate) fn has_screen(&self) -> bool {
        self.screen.with(|_| {})
    }

    /// Shows what has happened since the last time.
    pub(crate) fn refresh(&self) {
        self.screen.with(|shown| {
            let (columns, rows) = shown.terminal.size();
            shown.terminal.show(&shown.state.lines(columns, rows));
        });
    }

    /// Gives a key to the screen, if there is one.
    pub(crate) fn key(&self, key: &str) -> Pressed {
        let mut pressed = Pressed::Other;
        self.screen.with(|shown| pressed = shown.state.key(key));
        pressed
    }

    /// From now on, lines are printed.
    pub(crate) fn end_screen(&self) {
        self.screen.0.borrow_mut().take();
    }
}
