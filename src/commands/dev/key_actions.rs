//! What a key does, or a line that is typed where there is no screen.

use std::time::Instant;

use super::session::Session;
use crate::report::{Happening, Level};

impl Session<'_> {
    pub(super) fn handle_key(&mut self, what: &str) {
        match what {
            "r" => {
                self.edited = Some(Instant::now());
                self.todo.manifests = true;
                self.todo.build = true;
                self.todo.helper = self.helper.is_none();
                self.todo.config = true;
            }
            "t" => self.test(),
            "p" if self.report.has_screen() => {
                self.tell(Happening::note("no object has been reconciled yet"));
            }
            "" => {}
            // `?` lists the keys.
            _ if self.report.has_screen() => {}
            _ => {
                let keys = "press q to stop, r to rebuild, or t to run the tests of what has changed, then Enter";
                self.tell(Happening::new("help", Level::Note, "Keys").text(keys));
            }
        }
    }
}
