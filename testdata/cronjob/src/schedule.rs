// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! When the runs of a CronJob are due.
//!
//! The syntax is that of Kubernetes' own CronJob, which is `ParseStandard` of Go's robfig/cron:
//! five fields, or a descriptor such as `@daily` or `@every 90m`, with `CRON_TZ=<zone>` or
//! `TZ=<zone>` before either. Without a zone the fields are read in UTC. No cron crate keeps all of
//! its rules: some count weekdays from one, some miss runs, or hang, when a clock is changed.
//!
//! Nothing here reads the clock: the caller says after when, and so can a test. What a calendar is,
//! and when clocks change, jiff knows. The crates for cron that there are read the fields in another
//! way, or hang at some of those changes.

#[cfg(test)]
mod tests;

use std::str::FromStr;

use jiff::civil::{Date, Time};
use jiff::tz::{TimeZone, TimeZoneDatabase};
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};

/// How far [`Schedule::next`] looks ahead. Leap days are four years apart, except around 2100.
const YEARS_AHEAD: i16 = 5;

/// Why a text is not a schedule, in words for the person who wrote it.
#[derive(Clone, Debug, Eq, PartialEq, thiserror::Error)]
pub enum Error {
    #[error("expected exactly 5 fields, found {found}: [{fields}]")]
    FieldCount { found: usize, fields: String },
    #[error("invalid {field} `{text}`: expected {expected}")]
    Field {
        field: &'static str,
        text: String,
        expected: String,
    },
    #[error(
        "unknown descriptor `{0}`: expected `@yearly`, `@annually`, `@monthly`, `@weekly`, \
         `@daily`, `@midnight`, `@hourly` or `@every <duration>`"
    )]
    Descriptor(String),
    #[error("invalid duration `{0}`: expected one such as `1h30m`, `90s` or `1.5h`")]
    Duration(String),
    #[error("unknown time zone `{0}`: expected a name such as `Europe/Berlin` or `UTC`")]
    TimeZone(String),
}

/// When runs are due. It is made from a text with [`str::parse`].
#[derive(Clone, Debug)]
pub struct Schedule(Rule);

#[derive(Clone, Debug)]
enum Rule {
    /// This long after the last run: whole seconds, at least one.
    Every(SignedDuration),
    /// Whenever calendar and clock of a time zone show what the fields select.
    Calendar(Calendar),
}

#[derive(Clone, Debug)]
struct Calendar {
    minutes: Values,
    hours: Values,
    days: Values,
    months: Values,
    weekdays: Values,
    zone: TimeZone,
}

impl FromStr for Schedule {
    type Err = Error;

    fn from_str(schedule: &str) -> Result<Self, Error> {
        let (zone, rule) = split_zone(schedule)?;
        if let Some(duration) = rule.strip_prefix("@every ") {
            return Ok(Self(Rule::Every(parse_duration(duration)?)));
        }
        let fields = match rule {
            "@yearly" | "@annually" => "0 0 1 1 *",
            "@monthly" => "0 0 1 * *",
            "@weekly" => "0 0 * * 0",
            "@daily" | "@midnight" => "0 0 * * *",
            "@hourly" => "0 * * * *",
            _ if rule.starts_with('@') => return Err(Error::Descriptor(rule.to_owned())),
            fields => fields,
        };
        let fields: Vec<&str> = fields.split_whitespace().collect();
        let [minute, hour, day, month, weekday] = fields[..] else {
            return Err(Error::FieldCount {
                found: fields.len(),
                fields: fields.join(" "),
            });
        };
        Ok(Self(Rule::Calendar(Calendar {
            minutes: MINUTE.parse(minute)?,
            hours: HOUR.parse(hour)?,
            days: DAY.parse(day)?,
            months: MONTH.parse(month)?,
            weekdays: WEEKDAY.parse(weekday)?,
            zone,
        })))
    }
}

impl Schedule {
    /// The first run after `after`, given that one was at `last`, from which intervals count.
    ///
    /// `None` when the next five years have none: no year has a 31 February. In spring, a time that
    /// the clock jumps over has no run. In autumn, a time that the clock shows twice has two.
    pub fn next(&self, last: Timestamp, after: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Rule::Every(interval) => {
                let last = whole_second(last)?;
                let passed = after.max(last).duration_since(last).as_secs();
                let intervals = passed / interval.as_secs() + 1;
                seconds_later(last, interval.as_secs().checked_mul(intervals)?)
            }
            Rule::Calendar(calendar) => calendar.next(after),
        }
    }
}

impl Calendar {
    /// Walks forward in steps that cannot pass a run: to the next month while the month is wrong,
    /// else to the next day while the day is wrong, and so on down to the minute.
    ///
    /// A day begins when the zone says so, also where the clock jumps over midnight. robfig/cron
    /// leaves such a day out or takes it for the day before; that is not copied.
    fn next(&self, after: Timestamp) -> Option<Timestamp> {
        let mut time = seconds_later(whole_second(after)?, 1)?;
        let last_year = self.zone.to_datetime(time).year() + YEARS_AHEAD;
        loop {
            let local = self.zone.to_datetime(time);
            let (minute, second) = (i64::from(local.minute()), i64::from(local.second()));
            if local.year() > last_year {
                return None;
            }
            let candidate = if !self.months.contains(local.month()) {
                self.day_after(local.date().last_of_month())?
            } else if !self.runs_on(local.date()) {
                self.day_after(local.date())?
            } else if !self.hours.contains(local.hour()) {
                seconds_later(time, 3600 - 60 * minute - second)?
            } else if !self.minutes.contains(local.minute()) || second != 0 {
                seconds_later(time, 60 - second)?
            } else {
                return Some(time);
            };
            // A day begins twice where the clock is put back across midnight: do not go back.
            time = candidate.max(seconds_later(time, 1)?);
        }
    }

    /// Two restricted fields are alternatives: `0 0 13 * 5` is each 13th and each Friday.
    fn runs_on(&self, date: Date) -> bool {
        let day = self.days.contains(date.day());
        let weekday = date.weekday().to_sunday_zero_offset();
        let weekday = self.weekdays.contains(weekday);
        if self.days.star || self.weekdays.star {
            day && weekday
        } else {
            day || weekday
        }
    }

    /// The first moment of the day after `date`.
    fn day_after(&self, date: Date) -> Option<Timestamp> {
        let midnight = date.tomorrow().ok()?.to_datetime(Time::midnight());
        self.zone.to_timestamp(midnight).ok()
    }
}

/// The values that a field selects.
#[derive(Clone, Copy, Debug)]
struct Values {
    /// Has the bit `1 << value` for each of them.
    bits: u64,
    /// Whether a `*` is among them, so that the field restricts nothing. `*/2` restricts.
    star: bool,
}

impl Values {
    fn contains(self, value: i8) -> bool {
        self.bits >> value & 1 == 1
    }
}

const MINUTE: Field = Field::new("minute", 0, 59, &[]);
const HOUR: Field = Field::new("hour", 0, 23, &[]);
const DAY: Field = Field::new("day of month", 1, 31, &[]);
const MONTH: Field = Field::new("month", 1, 12, &MONTHS);
const WEEKDAY: Field = Field::new("day of week", 0, 6, &WEEKDAYS);

const MONTHS: [&str; 12] = [
    "jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec",
];
const WEEKDAYS: [&str; 7] = ["sun", "mon", "tue", "wed", "thu", "fri", "sat"];

/// What may stand in one of the five fields.
struct Field {
    name: &'static str,
    min: u8,
    max: u8,
    /// What the values from `min` on can be called instead.
    names: &'static [&'static str],
}

impl Field {
    const fn new(name: &'static str, min: u8, max: u8, names: &'static [&'static str]) -> Self {
        Self {
            name,
            min,
            max,
            names,
        }
    }

    /// Reads a list such as `1,10-20/2,*/15`.
    ///
    /// robfig/cron also takes what must be a slip, such as `1,,3`, `+5`, `*-5` or `*/61`. Here
    /// those are refused.
    fn parse(&self, text: &str) -> Result<Values, Error> {
        let items: Option<Vec<Values>> = text.split(',').map(|item| self.item(item)).collect();
        let items = items.ok_or_else(|| Error::Field {
            field: self.name,
            text: text.to_owned(),
            expected: self.expected(),
        })?;
        Ok(Values {
            bits: items.iter().fold(0, |bits, item| bits | item.bits),
            star: items.iter().any(|item| item.star),
        })
    }

    /// Reads `*`, `?`, `5` or `1-5`, alone or with a step. `5/15` goes on to the end of the field.
    fn item(&self, text: &str) -> Option<Values> {
        let (range, step) = match text.split_once('/') {
            Some((range, step)) => (range, Some(number(step)?)),
            None => (text, None),
        };
        let any = range == "*" || range == "?";
        let (first, last) = match range.split_once('-') {
            _ if any => (self.min, self.max),
            Some((first, last)) => (self.value(first)?, self.value(last)?),
            None if step.is_some() => (self.value(range)?, self.max),
            None => (self.value(range)?, self.value(range)?),
        };
        let step = step.unwrap_or(1);
        if first > last || step < 1 || step > self.max_step() {
            return None;
        }
        let values = (first..=last).step_by(step.into());
        Some(Values {
            bits: values.fold(0, |bits, value| bits | 1 << value),
            star: any && step == 1,
        })
    }

    fn value(&self, text: &str) -> Option<u8> {
        let mut names = (self.min..).zip(self.names);
        let value = match names.find(|(_, name)| name.eq_ignore_ascii_case(text)) {
            Some((value, _)) => value,
            None => number(text)?,
        };
        (self.min..=self.max).contains(&value).then_some(value)
    }

    /// As many as the field has values. With this step only the first one is selected.
    fn max_step(&self) -> u8 {
        self.max - self.min + 1
    }

    fn expected(&self) -> String {
        let names = match self.names {
            [first, .., last] => format!(", {first}-{last}"),
            _ => String::new(),
        };
        format!(
            "`*`, {}-{}{names} or ranges such as `1-5`, with steps up to `/{}`, \
             in a list with commas",
            self.min,
            self.max,
            self.max_step()
        )
    }
}

/// Reads digits and nothing else: `u8` alone would take `+5`.
fn number(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Splits `TZ=<zone> <rule>`. It knows the zones compiled in, since an image may come without any.
fn split_zone(schedule: &str) -> Result<(TimeZone, &str), Error> {
    let zoned = schedule.strip_prefix("CRON_TZ=");
    let Some(zoned) = zoned.or_else(|| schedule.strip_prefix("TZ=")) else {
        return Ok((TimeZone::UTC, schedule));
    };
    let (name, rule) = zoned.split_once(' ').unwrap_or((zoned, ""));
    let zone = TimeZoneDatabase::bundled()
        .get(name)
        .map_err(|_| Error::TimeZone(name.to_owned()))?;
    Ok((zone, rule.trim()))
}

/// Reads a duration as Go writes it. Less than a second becomes one, further fractions are dropped.
fn parse_duration(text: &str) -> Result<SignedDuration, Error> {
    // jiff would also read `PT1H` and `1 hour ago`.
    let plain = text
        .chars()
        .all(|c| c.is_ascii_digit() || ".hmsuµn".contains(c));
    let duration = plain.then(|| text.parse::<SignedDuration>().ok()).flatten();
    let duration = duration.ok_or_else(|| Error::Duration(text.to_owned()))?;
    Ok(SignedDuration::from_secs(duration.as_secs().max(1)))
}

fn whole_second(time: Timestamp) -> Option<Timestamp> {
    let second = TimestampRound::new().smallest(Unit::Second);
    time.round(second.mode(RoundMode::Floor)).ok()
}

fn seconds_later(time: Timestamp, seconds: i64) -> Option<Timestamp> {
    time.checked_add(SignedDuration::from_secs(seconds)).ok()
}
