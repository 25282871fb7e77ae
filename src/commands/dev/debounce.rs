//! When to look at files that change: once they are quiet, or have been changing for a while. Pure.

use std::time::{Duration, Instant};

/// An editor writes several files, or one in several steps, within this time.
const QUIET: Duration = Duration::from_millis(50);

/// The longest wait while files keep changing.
const LONGEST: Duration = Duration::from_millis(500);

/// The changes that nobody has looked at yet.
#[derive(Debug, Default)]
pub(super) struct Debounce {
    first_and_last: Option<(Instant, Instant)>,
}

impl Debounce {
    pub(super) fn touch(&mut self, now: Instant) {
        let first = self.first_and_last.map_or(now, |(first, _)| first);
        self.first_and_last = Some((first, now));
    }

    /// When to look, if something has changed.
    pub(super) fn due(&self) -> Option<Instant> {
        let (first, last) = self.first_and_last?;
        Some((last + QUIET).min(first + LONGEST))
    }

    /// If it is time to look: when the first of these changes was. Later changes are new ones.
    pub(super) fn take(&mut self, now: Instant) -> Option<Instant> {
        if self.due()? > now {
            return None;
        }
        self.first_and_last.take().map(|(first, _)| first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(start: Instant, milliseconds: u64) -> Instant {
        start + Duration::from_millis(milliseconds)
    }

    #[test]
    fn several_writes_are_one_change() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        assert_eq!(debounce.take(start), None);

        for milliseconds in [0, 20, 40] {
            debounce.touch(at(start, milliseconds));
            assert_eq!(debounce.take(at(start, milliseconds + 10)), None);
        }

        assert_eq!(debounce.due(), Some(at(start, 90)));
        assert_eq!(debounce.take(at(start, 90)), Some(start));
        assert_eq!(debounce.take(at(start, 200)), None);
    }

    #[test]
    fn a_hundred_saves_a_second_are_looked_at_twice() {
        let start = Instant::now();
        let mut debounce = Debounce::default();
        let looks = (0..100).filter(|save| {
            let now = at(start, save * 10);
            debounce.touch(now);
            debounce.take(now).is_some()
        });
        assert_eq!(looks.count(), 1);
        assert_eq!(debounce.take(at(start, 1010)), Some(at(start, 510)));
    }
}
