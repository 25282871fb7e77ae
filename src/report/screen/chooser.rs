//! A list from which one object is chosen. Pure.

use anstyle::Style;

use super::entries::painted;
use super::wrapped::wrapped;

const TITLE: &str = "Pause or resume which object? Enter chooses, escape leaves";

/// The objects, as controller and name, and which of them the user is at.
pub(super) struct Chooser {
    objects: Vec<(String, String)>,
    at: usize,
}

/// What a key did.
pub(super) enum Choice {
    None,
    Left,
    Made(String, String),
}

impl Chooser {
    /// `None` if there is nothing to choose.
    pub(super) fn of(objects: impl Iterator<Item = (String, String)>) -> Option<Self> {
        let objects: Vec<_> = objects.collect();
        (!objects.is_empty()).then_some(Self { objects, at: 0 })
    }

    pub(super) fn key(&mut self, key: &str) -> Choice {
        match key {
            "up" => self.at = self.at.saturating_sub(1),
            "down" => self.at = (self.at + 1).min(self.objects.len() - 1),
            "escape" | "p" | "q" => return Choice::Left,
            "enter" => {
                let (controller, object) = self.objects[self.at].clone();
                return Choice::Made(controller, object);
            }
            _ => {}
        }
        Choice::None
    }

    /// The lines of the list, scrolled to the one that the user is at.
    pub(super) fn lines(&self, columns: usize, rows: usize) -> Vec<String> {
        let mut lines: Vec<_> = wrapped(TITLE, columns).into_iter().take(1).collect();
        let room = rows.saturating_sub(1).max(1);
        let first = (self.at + 1).saturating_sub(room);
        let objects = self.objects.iter().enumerate().skip(first).take(room);
        lines.extend(objects.map(|(at, (controller, object))| {
            let line = wrapped(&format!("  {object} by {controller}"), columns);
            let line = line.into_iter().next().unwrap_or_default();
            if at == self.at {
                painted(Style::new().invert(), &line)
            } else {
                line
            }
        }));
        lines.truncate(rows);
        lines
    }
}
