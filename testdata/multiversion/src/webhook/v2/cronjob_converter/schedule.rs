// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! A schedule as one text, and as its five fields.

use api::v2::CronSchedule;

/// What says nothing in a field.
const ANY: &str = "*";

/// The five fields of a schedule as cron writes them.
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

/// What the fields can say of a schedule: without its time zone, and nothing of an interval.
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
    fn what_fields_can_say_of_other_schedules_they_say() {
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
