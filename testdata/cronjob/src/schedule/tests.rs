// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The runs were compared with those of robfig/cron v3.0.1; they differ only where a test says so.

use super::*;

/// A Saturday.
const AFTER: &str = "2026-01-10T10:20:30Z";

/// Each line of `table` is a schedule, `->`, and its first runs after `after`.
#[track_caller]
fn assert_runs(after: &str, table: &str) {
    for line in table.trim().lines() {
        let (schedule, runs) = line.split_once("->").unwrap();
        let expected: Vec<Timestamp> = runs
            .split_whitespace()
            .map(|run| run.parse().unwrap())
            .collect();
        let schedule: Schedule = schedule.trim().parse().unwrap();
        let after = after.parse().unwrap();
        let first = schedule.next(after, after);
        let runs = std::iter::successors(first, |run| schedule.next(*run, *run));
        assert_eq!(
            runs.take(expected.len()).collect::<Vec<_>>(),
            expected,
            "{line}"
        );
    }
}

#[track_caller]
fn refusal(schedule: &str) -> String {
    schedule.parse::<Schedule>().unwrap_err().to_string()
}

#[test]
fn fields_contain_stars_values_lists_ranges_and_steps() {
    assert_runs(
        AFTER,
        "
        * * * * *          -> 2026-01-10T10:21Z 2026-01-10T10:22Z
        ? ? ? ? ?          -> 2026-01-10T10:21Z 2026-01-10T10:22Z
        */5 * * * *        -> 2026-01-10T10:25Z 2026-01-10T10:30Z
        5/25 * * * *       -> 2026-01-10T10:30Z 2026-01-10T10:55Z 2026-01-10T11:05Z
        10-20/5 * * * *    -> 2026-01-10T11:10Z 2026-01-10T11:15Z 2026-01-10T11:20Z
        50,7,22-23 * * * * -> 2026-01-10T10:22Z 2026-01-10T10:23Z 2026-01-10T10:50Z
        */60 * * * *       -> 2026-01-10T11:00Z 2026-01-10T12:00Z
        05 04 * * *        -> 2026-01-11T04:05Z 2026-01-12T04:05Z
        0\t9  * *   *      -> 2026-01-11T09:00Z 2026-01-12T09:00Z
        ",
    );
}

#[test]
fn months_and_weekdays_have_names() {
    assert_runs(
        AFTER,
        "
        0 0 1 JAN *       -> 2027-01-01T00:00Z 2028-01-01T00:00Z
        0 0 1 feb-Apr/2 * -> 2026-02-01T00:00Z 2026-04-01T00:00Z
        0 0 * * Sun       -> 2026-01-11T00:00Z 2026-01-18T00:00Z
        0 0 * * 0         -> 2026-01-11T00:00Z 2026-01-18T00:00Z
        0 0 * * fri-SAT   -> 2026-01-16T00:00Z 2026-01-17T00:00Z
        0 0 * * 1/4       -> 2026-01-12T00:00Z 2026-01-16T00:00Z
        ",
    );
}

/// A step of one or a star in a list restricts nothing. A range does, even one of all days.
#[test]
fn day_of_month_and_day_of_week_are_alternatives_when_both_are_restricted() {
    assert_runs(
        AFTER,
        "
        0 0 13 * 5   -> 2026-01-13T00:00Z 2026-01-16T00:00Z
        0 0 */2 * 5  -> 2026-01-11T00:00Z 2026-01-13T00:00Z
        0 0 1-31 * 5 -> 2026-01-11T00:00Z 2026-01-12T00:00Z
        0 0 13 * *   -> 2026-01-13T00:00Z 2026-02-13T00:00Z
        0 0 ? * 5    -> 2026-01-16T00:00Z 2026-01-23T00:00Z
        0 0 */1 * 5  -> 2026-01-16T00:00Z 2026-01-23T00:00Z
        0 0 13,* * 5 -> 2026-01-16T00:00Z 2026-01-23T00:00Z
        ",
    );
}

#[test]
fn descriptors_stand_for_fields() {
    assert_runs(
        AFTER,
        "
        @yearly   -> 2027-01-01T00:00Z 2028-01-01T00:00Z
        @annually -> 2027-01-01T00:00Z 2028-01-01T00:00Z
        @monthly  -> 2026-02-01T00:00Z 2026-03-01T00:00Z
        @weekly   -> 2026-01-11T00:00Z 2026-01-18T00:00Z
        @daily    -> 2026-01-11T00:00Z 2026-01-12T00:00Z
        @midnight -> 2026-01-11T00:00Z 2026-01-12T00:00Z
        @hourly   -> 2026-01-10T11:00Z 2026-01-10T12:00Z
        ",
    );
}

#[test]
fn every_counts_whole_seconds() {
    for after in [AFTER, "2026-01-10T10:20:30.9Z"] {
        assert_runs(
            after,
            "
            @every 1h30m               -> 2026-01-10T11:50:30Z 2026-01-10T13:20:30Z
            @every 90s                 -> 2026-01-10T10:22:00Z 2026-01-10T10:23:30Z
            @every 1.5h                -> 2026-01-10T11:50:30Z 2026-01-10T13:20:30Z
            @every 2m3.25s             -> 2026-01-10T10:22:33Z 2026-01-10T10:24:36Z
            @every 500ms               -> 2026-01-10T10:20:31Z 2026-01-10T10:20:32Z
            TZ=Europe/Berlin @every 1h -> 2026-01-10T11:20:30Z 2026-01-10T12:20:30Z
            ",
        );
    }
}

#[test]
fn intervals_count_from_the_last_run() {
    let schedule: Schedule = "@every 90s".parse().unwrap();
    let last = "2026-01-10T10:00:00Z".parse().unwrap();
    for (after, next) in [
        ("2026-01-10T09:00:00Z", "2026-01-10T10:01:30Z"),
        ("2026-01-10T10:01:29.9Z", "2026-01-10T10:01:30Z"),
        ("2026-01-10T10:01:30Z", "2026-01-10T10:03:00Z"),
        ("2026-01-11T10:00:00Z", "2026-01-11T10:01:30Z"),
    ] {
        let run = schedule.next(last, after.parse().unwrap());
        assert_eq!(run, Some(next.parse().unwrap()), "{after}");
    }
}

#[test]
fn a_run_is_later_than_the_given_time() {
    assert_runs("2026-01-10T10:05:00Z", "5 * * * * -> 2026-01-10T11:05Z");
    assert_runs("2026-01-10T10:04:59.9Z", "5 * * * * -> 2026-01-10T10:05Z");
    assert_runs("1969-12-31T23:59:59.9Z", "* * * * * -> 1970-01-01T00:00Z");
}

#[test]
fn a_schedule_follows_the_clock_of_its_zone() {
    assert_runs(
        AFTER,
        "
        CRON_TZ=Asia/Seoul 0 6 * * * -> 2026-01-11T06:00+09:00 2026-01-12T06:00+09:00
        TZ=Asia/Kolkata  0 0 1 * *   -> 2026-02-01T00:00+05:30 2026-03-01T00:00+05:30
        TZ=America/New_York  @daily  -> 2026-01-11T00:00-05:00 2026-01-12T00:00-05:00
        TZ=US/Eastern 0 0 * * *      -> 2026-01-11T00:00-05:00 2026-01-12T00:00-05:00
        TZ=UTC 0 0 * * *             -> 2026-01-11T00:00Z 2026-01-12T00:00Z
        ",
    );
}

#[test]
fn a_time_that_the_clock_skips_has_no_run() {
    assert_runs(
        "2026-03-07T06:00:00Z",
        "
        TZ=America/New_York 30 2 * * * -> 2026-03-07T02:30-05:00 2026-03-09T02:30-04:00
        TZ=America/Havana 0 0 * * *    -> 2026-03-09T00:00-04:00 2026-03-10T00:00-04:00
        TZ=America/Havana 0 * 8 3 *    -> 2026-03-08T01:00-04:00 2026-03-08T02:00-04:00
        ",
    );
    assert_runs(
        "2026-03-28T06:00:00Z",
        "
        TZ=Europe/Berlin 30 2 * * *    -> 2026-03-30T02:30+02:00 2026-03-31T02:30+02:00
        TZ=Europe/Berlin 0 1-3 29 * *  -> 2026-03-29T01:00+01:00 2026-03-29T03:00+02:00
        ",
    );
}

#[test]
fn a_time_that_the_clock_repeats_has_two_runs() {
    assert_runs(
        "2026-11-01T00:00:00Z",
        "
        TZ=America/New_York 30 1 * * *   -> 2026-11-01T01:30-04:00 2026-11-01T01:30-05:00
        TZ=America/New_York 0,45 1 * * * -> 2026-11-01T01:00-04:00 2026-11-01T01:45-04:00
        TZ=America/Havana @daily         -> 2026-11-01T00:00-04:00 2026-11-01T00:00-05:00
        ",
    );
    assert_runs(
        "2026-10-25T00:30:00Z",
        "
        TZ=Europe/Berlin 30 2 * * *      -> 2026-10-25T02:30+01:00 2026-10-26T02:30+01:00
        TZ=Europe/Berlin 59 * * * *      -> 2026-10-25T02:59+02:00 2026-10-25T02:59+01:00
        ",
    );
}

/// Unlike robfig/cron, which loses the Sunday in Beirut, and takes it for a Saturday in Havana.
#[test]
fn a_day_without_midnight_is_a_day_like_any_other() {
    assert_runs(
        "2026-03-28T12:00:00Z",
        "TZ=Asia/Beirut 0 12 * * 0 -> 2026-03-29T12:00+03:00 2026-04-05T12:00+03:00",
    );
    assert_runs(
        "2027-03-13T06:00:00Z",
        "TZ=America/Havana 0 2 * 3 6 -> 2027-03-13T02:00-05:00 2027-03-20T02:00-04:00",
    );
}

/// Unlike robfig/cron, which loses the 5th on Lord Howe, and does not move on in St John's.
#[test]
fn a_clock_set_back_by_half_an_hour_or_across_midnight_is_followed() {
    assert_runs(
        "2026-04-04T12:00:00Z",
        "TZ=Australia/Lord_Howe 0 5 * * * -> 2026-04-05T05:00+10:30 2026-04-06T05:00+10:30",
    );
    assert_runs(
        "2010-11-06T12:00:00Z",
        "TZ=America/St_Johns 30 0 * * 0 -> 2010-11-07T00:30-03:30 2010-11-14T00:30-03:30",
    );
}

#[test]
fn a_rare_day_is_found() {
    assert_runs(
        AFTER,
        "
        0 0 29 2 *   -> 2028-02-29T00:00Z 2032-02-29T00:00Z
        0 0 31 */3 * -> 2026-01-31T00:00Z 2026-07-31T00:00Z
        ",
    );
    assert_runs("2099-06-01T00:00:00Z", "0 0 29 2 * -> 2104-02-29T00:00Z");
}

#[test]
fn a_day_that_never_comes_has_no_run() {
    for schedule in ["0 0 31 2 *", "0 0 30 feb ?", "TZ=Asia/Tokyo 0 0 31 4,6 *"] {
        let schedule: Schedule = schedule.parse().unwrap();
        let after = AFTER.parse().unwrap();
        assert_eq!(schedule.next(after, after), None);
    }
}

#[test]
fn a_refusal_says_what_is_expected() {
    let fields = refusal("invalid-cron-schedule");
    let minute = refusal("60 * * * *");
    let weekday = refusal("0 0 * * 7");
    let descriptor = refusal("@reboot");
    let duration = refusal("@every 1d");
    let zone = refusal("TZ=Nowhere * * * * *");

    assert_eq!(
        fields,
        "expected exactly 5 fields, found 1: [invalid-cron-schedule]"
    );
    assert_eq!(
        minute,
        "invalid minute `60`: expected `*`, 0-59 or ranges such as `1-5`, \
         with steps up to `/60`, in a list with commas"
    );
    assert_eq!(
        weekday,
        "invalid day of week `7`: expected `*`, 0-6, sun-sat or ranges such as `1-5`, \
         with steps up to `/7`, in a list with commas"
    );
    assert_eq!(
        descriptor,
        "unknown descriptor `@reboot`: expected `@yearly`, `@annually`, `@monthly`, `@weekly`, \
         `@daily`, `@midnight`, `@hourly` or `@every <duration>`"
    );
    assert_eq!(
        duration,
        "invalid duration `1d`: expected one such as `1h30m`, `90s` or `1.5h`"
    );
    assert_eq!(
        zone,
        "unknown time zone `Nowhere`: expected a name such as `Europe/Berlin` or `UTC`"
    );
}

#[test]
fn a_duration_is_written_as_in_go() {
    for duration in [
        "1d", "PT1H", "1 hour", "1h 30m", "-1h", "90", "h", "1:30:00", "",
    ] {
        let message = refusal(&format!("@every {duration}"));
        assert!(message.starts_with("invalid duration `"), "{message}");
    }
}

/// robfig/cron accepts those of the last line.
#[test]
fn a_refusal_names_the_field() {
    for line in "
        minute:       -1 * * * * | 5-1 * * * * | 1-2-3 * * * * | 1.5 * * * * | jan * * * *
        hour:         * 24 * * * | * */0 * * * | * 1/ * * *    | * /2 * * *  | * 1/2/3 * * *
        day of month: * * 0 * *  | * * 32 * *  | * * L * *     | * * 15W * * | * * H * *
        month:        * * * 0 *  | * * * 13 *  | * * * june *  | * * * sun * | * * * dec-jan *
        day of week:  * * * * 7  | * * * * 5-7 | * * * * 5L    | * * * * 5#3 | * * * * sat-sun
        minute:       +5 * * * * | 1,,3 * * * * | *-5 * * * *  | */61 * * * *
        "
    .trim()
    .lines()
    {
        let (field, schedules) = line.trim().split_once(':').unwrap();
        for schedule in schedules.split('|') {
            let message = refusal(schedule);
            assert!(
                message.starts_with(&format!("invalid {field} `")),
                "{message}"
            );
        }
    }
}

#[test]
fn missing_and_surplus_fields_are_counted() {
    for (schedule, found) in [
        ("", "0: []"),
        ("CRON_TZ=Asia/Seoul", "0: []"),
        ("0 0 * * * *", "6: [0 0 * * * *]"),
        ("0 0 * * * UTC", "6: [0 0 * * * UTC]"),
    ] {
        let message = format!("expected exactly 5 fields, found {found}");
        assert_eq!(refusal(schedule), message);
    }
}

#[test]
fn unusual_texts_and_times_are_handled() {
    let words = "* / - , 0 99999999999999999999 é @ @every 9999999h 1ns TZ= TZ=UTC TZ=Pacific/Apia";
    let words: Vec<&str> = words
        .split(' ')
        .chain(["* * * * *", "0 0 29 2 *", ""])
        .collect();
    for first in &words {
        for second in &words {
            for text in [format!("{first}{second}"), format!("{first} {second}")] {
                let Ok(schedule) = text.parse::<Schedule>() else {
                    continue;
                };
                for time in [Timestamp::MIN, Timestamp::UNIX_EPOCH, Timestamp::MAX] {
                    let run = schedule.next(time, time);
                    assert!(run.is_none_or(|run| run > time), "{text}");
                }
            }
        }
    }
}
