// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! A schedule as a single string, and as its five fields.

use api::v2::CronSchedule;

/// A field without a restriction.
const ANY: &str = "*";

/// The five fields of a schedule in the syntax of cron.
pub(super) fn to_text(schedule: &CronSchedule) -> String {
    let fields = [
        &schedule.minute,
        &schedule.hour,
        &schedule.day_of_month,
        &schedule.month,
        &schedule.day_of_week,
    ];
    fields
        .map(|field| field.as_deref().unwrap_or(ANY))
        .join(" ")
}

/// The part of a schedule that the fields can express: neither time zones nor intervals.
pub(super) fn to_fields(text: &str) -> CronSchedule {
    let fields: Vec<&str> = match text.trim() {
        "@yearly" | "@annually" => vec!["0", "0", "1", "1", ANY],
        "@monthly" => vec!["0", "0", "1", ANY, ANY],
        "@weekly" => vec!["0", "0", ANY, ANY, "0"],
        "@daily" | "@midnight" => vec!["0", "0", ANY, ANY, ANY],
        "@hourly" => vec!["0", ANY, ANY, ANY, ANY],
        text => without_zone(text).split_whitespace().collect(),
    };
    let [minute, hour, day_of_month, month, day_of_week] = fields[..] else {
        return CronSchedule::default();
    };
    let field = |text: &str| (text != ANY).then(|| text.to_owned());
    CronSchedule {
        minute: field(minute),
        hour: field(hour),
        day_of_month: field(day_of_month),
        month: field(month),
        day_of_week: field(day_of_week),
    }
}

fn without_zone(text: &str) -> &str {
    match text.split_once(char::is_whitespace) {
        Some((zone, rest)) if zone.starts_with("CRON_TZ=") || zone.starts_with("TZ=") => rest,
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(fields: [Option<&str>; 5]) -> CronSchedule {
        let [minute, hour, day_of_month, month, day_of_week] =
            fields.map(|field| field.map(str::to_owned));
        CronSchedule {
            minute,
            hour,
            day_of_month,
            month,
            day_of_week,
        }
    }

    #[test]
    fn five_fields_are_the_same_in_both() {
        for (text, fields) in [
            ("* * * * *", [None; 5]),
            ("*/5 * * * *", [Some("*/5"), None, None, None, None]),
            (
                "0 6 1,15 1-6 1",
                [Some("0"), Some("6"), Some("1,15"), Some("1-6"), Some("1")],
            ),
        ] {
            assert_eq!(to_fields(text), schedule(fields), "{text}");
            assert_eq!(to_text(&schedule(fields)), text);
        }
    }

    #[test]
    fn other_schedules_are_expressed_as_far_as_possible() {
        for (text, fields) in [
            ("@hourly", "0 * * * *"),
            ("@midnight", "0 0 * * *"),
            ("@weekly", "0 0 * * 0"),
            ("@monthly", "0 0 1 * *"),
            ("@annually", "0 0 1 1 *"),
            (" 0   6 * * * ", "0 6 * * *"),
            ("CRON_TZ=Europe/Berlin 30 6 * * *", "30 6 * * *"),
            ("TZ=Asia/Seoul 30 6 * * *", "30 6 * * *"),
            ("@every 90m", "* * * * *"),
            ("often", "* * * * *"),
            ("", "* * * * *"),
        ] {
            assert_eq!(to_text(&to_fields(text)), fields, "{text}");
        }
    }
}
