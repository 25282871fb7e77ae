//! What a screen shows, and what its keys do. Pure.

use std::collections::BTreeSet;
use std::time::Duration;

use anstream::adapter::strip_str;
use anstyle::Style;

use super::super::BAD;
use super::super::happening::{Happening, Level};
use super::Pressed;
use super::chooser::{Choice, Chooser};
use super::entries::{Entries, counted, number_of, painted, text_of};
use super::wrapped::wrapped;

const HELP: &str = "\
q         stop everything
r         build and apply everything again
p         pause an object, or resume it: it is not reconciled meanwhile
t         run the tests of the controllers and webhooks that have changed
d         show or hide what each write has changed
up, down  earlier and later lines; also page up, page down
end       the latest line
?         this help; any key leaves it";

const STATUS: Style = Style::new().invert();

/// Everything that a screen shows.
#[derive(Default)]
pub(super) struct State {
    name: String,
    is_coloured: bool,
    entries: Entries,
    hides_diffs: bool,
    has_help: bool,
    chooser: Option<Chooser>,
    /// Where the user has scrolled to: the last entry at that time, and how many lines before its end.
    scrolled: Option<(u64, usize)>,
    /// How many lines of entries there are.
    height: usize,
    /// What the operator does, or is waited for.
    doing: String,
    /// From the last change to the first reconcile.
    seconds: Option<f64>,
    /// The objects that were reconciled.
    objects: BTreeSet<(String, String)>,
    /// Since the last build began.
    errors: usize,
}

impl State {
    pub(super) fn new(name: &str, is_coloured: bool) -> Self {
        Self {
            name: name.to_owned(),
            is_coloured,
            doing: "starting".to_owned(),
            ..Self::default()
        }
    }

    /// Takes what has happened, `at` that time since the start.
    pub(super) fn take(&mut self, at: Duration, happening: &Happening) {
        let doing = match happening.event {
            "building" => {
                self.errors = 0;
                Some(format!("building the {}", text_of(happening, "what")))
            }
            "starting" => Some("starting the API server".to_owned()),
            "running" => Some("running".to_owned()),
            "build-failed" | "manifests-failed" => Some("build failed".to_owned()),
            "operator-ended" => Some("the operator has ended".to_owned()),
            "api-server-ended" | "api-server-failed" => Some("no API server".to_owned()),
            _ => None,
        };
        if let Some(doing) = doing {
            self.doing = doing.replace("the manifests", "manifests");
        }
        match happening.event {
            "first-reconcile" => self.seconds = number_of(happening, "seconds"),
            "reconciled" => {
                let fact = |name| text_of(happening, name).to_owned();
                self.objects.insert((fact("controller"), fact("object")));
            }
            _ => {}
        }
        self.errors += usize::from(happening.level == Level::Bad);
        self.entries.add(at, happening);
    }

    /// Takes what cargo said.
    pub(super) fn take_messages(&mut self, at: Duration, text: &str) {
        self.entries.add_messages(at, text);
    }

    /// Does what a key is for, as far as it concerns the screen.
    pub(super) fn key(&mut self, key: &str) -> Pressed {
        if std::mem::take(&mut self.has_help) {
            return Pressed::Own;
        }
        if let Some(chooser) = &mut self.chooser {
            let choice = chooser.key(key);
            if !matches!(choice, Choice::None) {
                self.chooser = None;
            }
            return match choice {
                Choice::Made(controller, object) => Pressed::Pause { controller, object },
                Choice::None | Choice::Left => Pressed::Own,
            };
        }
        let page = self.height.saturating_sub(1).max(1);
        match key {
            "?" => self.has_help = true,
            "d" => self.hides_diffs = !self.hides_diffs,
            "up" => self.scroll_up(1),
            "page-up" => self.scroll_up(page),
            "down" => self.scroll_down(1),
            "page-down" => self.scroll_down(page),
            "end" | "escape" => self.scrolled = None,
            "p" if !self.objects.is_empty() => {
                self.chooser = Chooser::of(self.objects.iter().cloned());
            }
            _ => return Pressed::Other,
        }
        Pressed::Own
    }

    fn scroll_up(&mut self, lines: usize) {
        let (until, back) = self.scrolled.unwrap_or((self.entries.last(), 0));
        self.scrolled = Some((until, back + lines));
    }

    fn scroll_down(&mut self, lines: usize) {
        let scrolled = self.scrolled.and_then(|(until, back)| {
            let back = back.checked_sub(lines).filter(|back| *back > 0)?;
            Some((until, back))
        });
        self.scrolled = scrolled;
    }

    /// The lines of a screen with that size, as many as it has rows.
    pub(super) fn lines(&mut self, columns: usize, rows: usize) -> Vec<String> {
        self.height = rows.saturating_sub(1);
        let mut lines = match &self.chooser {
            _ if self.has_help => wrapped(HELP, columns),
            Some(chooser) => chooser.lines(columns, self.height),
            None => self.body(columns),
        };
        lines.resize(self.height, String::new());
        lines.push(self.status(columns));
        if !self.is_coloured {
            for line in &mut lines {
                *line = strip_str(line).to_string();
            }
        }
        lines
    }

    fn body(&mut self, columns: usize) -> Vec<String> {
        let (until, back) = self.scrolled.unwrap_or((u64::MAX, 0));
        let most = self.height + back;
        let mut lines = self.entries.lines(columns, most, until, !self.hides_diffs);
        // There is nothing before the first line.
        let possible = lines.len().saturating_sub(self.height);
        if let Some((_, back)) = &mut self.scrolled {
            *back = possible.min(*back);
        }
        lines.truncate(lines.len() - back.min(possible));
        lines
    }

    fn status(&self, columns: usize) -> String {
        let mut parts = vec![self.name.clone(), self.doing.clone()];
        if let Some(seconds) = self.seconds {
            parts.push(format!("{seconds:.1} s to the first reconcile"));
        }
        parts.push(counted(self.objects.len(), "object", "objects"));
        let errors = counted(self.errors, "error", "errors");
        let is_scrolled = self.scrolled.is_some();
        let keys = if is_scrolled {
            "end: latest lines"
        } else {
            "? help  q quit"
        };
        let left = format!(" {} | {errors}", parts.join(" | "));
        let width: usize = left.chars().count() + keys.chars().count() + 1;
        let text = match columns.checked_sub(width) {
            Some(free) if free > 0 => format!("{left}{}{keys} ", " ".repeat(free)),
            _ => format!("{left:columns$}"),
        };
        let line = wrapped(&text, columns).into_iter().next();
        let line = line.unwrap_or_default();
        let style = if self.errors > 0 {
            BAD.invert()
        } else {
            STATUS
        };
        painted(style, &line)
    }
}

#[cfg(test)]
mod tests;
