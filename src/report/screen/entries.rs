//! What has happened, as the lines of a screen. Pure.

use std::collections::VecDeque;
use std::time::Duration;

use anstyle::Style;
use serde_json::Value;

use super::super::happening::{Happening, Level};
use super::super::{ADDED, HUNK, REMOVED, WIDTH};
use super::wrapped::wrapped;

/// How many are kept.
const MOST: usize = 5000;

/// How many writes are looked at to find those of a reconcile.
const RECENT: usize = 200;

/// Where the text of a line begins: after the time and the word.
const INDENT: usize = 7 + WIDTH + 1;

/// What has happened so far; the oldest is forgotten.
#[derive(Default)]
pub(super) struct Entries {
    all: VecDeque<Entry>,
    /// How many there have been.
    count: u64,
}

/// One thing that has happened.
struct Entry {
    number: u64,
    /// Since the start.
    at: Duration,
    level: Level,
    word: &'static str,
    text: String,
    write: Option<Write>,
}

/// A write of the operator.
struct Write {
    controller: Option<String>,
    /// The object and its owner, each with its namespace.
    objects: Vec<String>,
    /// Whether it is shown below the reconcile that did it.
    is_below: bool,
    diff: Vec<String>,
}

impl Write {
    fn of(happening: &Happening) -> Option<Self> {
        if happening.event != "wrote" {
            return None;
        }
        let text = |name: &str| happening.fact(name).as_str().map(str::to_owned);
        // The first word is the kind.
        let object = text("object").and_then(|it| Some(it.split_once(' ')?.1.to_owned()));
        Some(Self {
            controller: text("controller"),
            objects: object.into_iter().chain(text("owner")).collect(),
            is_below: false,
            diff: happening.text.lines().skip(1).map(str::to_owned).collect(),
        })
    }

    /// Whether a reconcile of `object` by `controller` did this. Deletions do not say who does them, and objects need no
    /// owner.
    fn is_of(&self, controller: &str, object: &str) -> bool {
        let is_about = self.objects.iter().any(|it| it == object);
        match &self.controller {
            Some(name) => name == controller && (is_about || self.objects.len() == 1),
            None => is_about,
        }
    }
}

impl Entries {
    /// Adds what has happened. A reconcile comes before its writes, which were told when they happened.
    pub(super) fn add(&mut self, at: Duration, happening: &Happening) {
        let write = Write::of(happening);
        let text = match &write {
            Some(_) => happening.text.lines().next().unwrap_or_default(),
            None => &happening.text,
        };
        let mut below = Vec::new();
        let fact = |name: &str| happening.fact(name).as_str();
        // A reconcile that fails ends with an error in the log.
        let is_end = happening.event == "reconciled" || happening.level == Level::Bad;
        if is_end && let (Some(controller), Some(object)) = (fact("controller"), fact("object")) {
            below = self.take_writes(controller, object);
        }
        self.push(at, happening.level, happening.word, text, write);
        for mut entry in below {
            entry.number = self.number();
            self.all.push_back(entry);
        }
    }

    /// Adds what cargo said.
    pub(super) fn add_messages(&mut self, at: Duration, text: &str) {
        self.push(at, Level::Note, "", text, None);
    }

    fn push(
        &mut self,
        at: Duration,
        level: Level,
        word: &'static str,
        text: &str,
        write: Option<Write>,
    ) {
        let (number, text) = (self.number(), text.to_owned());
        self.all.push_back(Entry {
            number,
            at,
            level,
            word,
            text,
            write,
        });
        while self.all.len() > MOST {
            self.all.pop_front();
        }
    }

    fn number(&mut self) -> u64 {
        self.count += 1;
        self.count
    }

    /// Removes the writes of a reconcile, to be shown below it.
    fn take_writes(&mut self, controller: &str, object: &str) -> Vec<Entry> {
        let recent = self.all.len().saturating_sub(RECENT);
        let (mut mine, mut others) = (Vec::new(), Vec::new());
        for mut entry in self.all.drain(recent..) {
            match &mut entry.write {
                Some(write) if !write.is_below && write.is_of(controller, object) => {
                    write.is_below = true;
                    mine.push(entry);
                }
                _ => others.push(entry),
            }
        }
        self.all.extend(others);
        mine
    }

    /// The number of the last one.
    pub(super) fn last(&self) -> u64 {
        self.count
    }

    /// The last `most` lines of the screen of those with a number up to `until`.
    pub(super) fn lines(
        &self,
        width: usize,
        most: usize,
        until: u64,
        has_diffs: bool,
    ) -> Vec<String> {
        let mut lines = VecDeque::new();
        let shown = self.all.iter().filter(|entry| entry.number <= until);
        for entry in shown.rev() {
            if lines.len() >= most {
                break;
            }
            for line in entry.lines(width, has_diffs).into_iter().rev() {
                lines.push_front(line);
            }
        }
        let extra = lines.len().saturating_sub(most);
        lines.drain(..extra);
        lines.into()
    }
}

impl Entry {
    fn lines(&self, width: usize, has_diffs: bool) -> Vec<String> {
        if self.word.is_empty() {
            return wrapped(&self.text, width);
        }
        let style = self.level.style();
        let is_below = self.write.as_ref().is_some_and(|write| write.is_below);
        let head = if is_below {
            " ".repeat(INDENT)
        } else {
            format!(
                "{} {} ",
                time(self.at),
                painted(style, &format!("{:>WIDTH$}", self.word))
            )
        };
        // What needs attention stands out with all of its text.
        let text = |line: String| match self.level {
            Level::Bad | Level::Warning => painted(style, &line),
            Level::Good | Level::Note => line,
        };
        let mut lines = Vec::new();
        for line in wrapped(&self.text, width.saturating_sub(INDENT).max(1)) {
            let head = if lines.is_empty() {
                head.clone()
            } else {
                " ".repeat(INDENT)
            };
            lines.push(head + &text(line));
        }
        let diff = self.write.iter().flat_map(|write| &write.diff);
        for line in diff.filter(|_| has_diffs) {
            let style = match line.as_bytes().first() {
                Some(b'+') => ADDED,
                Some(b'-') => REMOVED,
                _ => HUNK,
            };
            let indent = " ".repeat(INDENT + 2);
            for line in wrapped(line, width.saturating_sub(INDENT + 2).max(1)) {
                lines.push(format!("{indent}{}", painted(style, &line)));
            }
        }
        lines
    }
}

/// Minutes and seconds.
fn time(at: Duration) -> String {
    format!("{:>3}:{:02}", at.as_secs() / 60, at.as_secs() % 60)
}

pub(super) fn painted(style: Style, text: &str) -> String {
    format!("{style}{text}{style:#}")
}

/// A number of things.
pub(super) fn counted(count: usize, one: &str, many: &str) -> String {
    format!("{count} {}", if count == 1 { one } else { many })
}

/// A fact that is a text.
pub(super) fn text_of<'a>(happening: &'a Happening, name: &str) -> &'a str {
    happening.fact(name).as_str().unwrap_or_default()
}

/// A fact that is a number.
pub(super) fn number_of(happening: &Happening, name: &str) -> Option<f64> {
    Value::as_f64(happening.fact(name))
}
