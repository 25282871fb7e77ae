// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

mod property;

use jiff::SignedDuration;
use kbr_runtime::conditions::{self, ConditionStatus};

use super::*;
use crate::controller::cronjob_controller::fixtures::{
    at, being_deleted, cronjob, ended, job, job_of_run, set_last_run, shared,
};

/// The decision in short, with times as [`short`] prints them.
fn decided(cronjob: &CronJob, jobs: Vec<Job>, now: &str) -> String {
    let decision = decide(cronjob, &Jobs::from(shared(jobs)), at(now));
    let run = match decision.run {
        Run::NotDue => "nothing".to_owned(),
        Run::Suspended => "suspended".to_owned(),
        Run::BadSchedule(_) => "bad schedule".to_owned(),
        Run::Start { at, replaces } if replaces.is_empty() => format!("start {}", short(at)),
        Run::Start { at, replaces } => format!("start {} for {}", short(at), names(&replaces)),
        Run::Skip { running } => format!("skip for {running}"),
        Run::Missed { since } => format!("missed {}", short(since)),
        Run::TooManyMissed { since } => format!("too many since {}", short(since)),
    };
    match decision.next {
        Some(next) => format!("{run}, next {}", short(next)),
        None => run,
    }
}

/// A time on Monday, 2 March 2026, without the date, and without the seconds if there are none.
fn short(time: Timestamp) -> String {
    let time = time.to_string();
    let time = time.strip_prefix("2026-03-02T").unwrap_or(&time);
    time.trim_end_matches(":00Z")
        .trim_end_matches('Z')
        .to_owned()
}

fn names(jobs: &[Arc<Job>]) -> String {
    let names: Vec<_> = jobs.iter().map(|job| job.name_any()).collect();
    names.join(" ")
}

#[test]
fn a_run_starts_when_it_is_due() {
    let hourly = cronjob("0 * * * *", "10:10");
    let decided = |now| decided(&hourly, vec![], now);

    assert_eq!(decided("10:59:59"), "nothing, next 11:00");
    assert_eq!(decided("11:00"), "start 11:00, next 12:00");
    assert_eq!(decided("11:59:59"), "start 11:00, next 12:00");
    // Of several that are due, the latest starts and the others never do.
    assert_eq!(decided("14:30"), "start 14:00, next 15:00");
}

#[test]
fn no_run_starts_again() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    let job = || vec![job_of_run("a", "12:00")];

    // The Job records its run, whatever the status says, and so does the status without a Job.
    assert_eq!(decided(&hourly, job(), "12:30"), "nothing, next 13:00");
    set_last_run(&mut hourly, "11:00");
    assert_eq!(decided(&hourly, job(), "12:30"), "nothing, next 13:00");
    set_last_run(&mut hourly, "12:00");
    assert_eq!(decided(&hourly, vec![], "12:30"), "nothing, next 13:00");
    // An older Job does not make a run due again.
    let older = || vec![job_of_run("a", "11:00")];
    assert_eq!(decided(&hourly, older(), "12:30"), "nothing, next 13:00");
}

#[test]
fn a_time_in_the_future_does_not_count_as_a_run() {
    let future = || {
        let mut hourly = cronjob("0 * * * *", "10:10");
        set_last_run(&mut hourly, "2999-01-01T00:00:00Z");
        hourly
    };
    // It is unknown whether an earlier run has started: the next one starts.
    assert_eq!(decided(&future(), vec![], "12:30"), "nothing, next 13:00");

    let mut hourly = cronjob("0 * * * *", "10:10");
    let edited = || vec![job_of_run("a", "2999-01-01T00:00:00Z")];
    set_last_run(&mut hourly, "11:00");
    assert_eq!(
        decided(&hourly, edited(), "12:30"),
        "start 12:00, next 13:00"
    );
    hourly.spec.concurrency_policy = ConcurrencyPolicy::Replace;
    assert_eq!(
        decided(&hourly, edited(), "12:30"),
        "start 12:00 for a, next 13:00"
    );
}

#[test]
fn runs_resume_when_a_clock_that_was_ahead_is_corrected() {
    let mut minutely = cronjob("* * * * *", "09:00");
    set_last_run(&mut minutely, "11:00");
    let ahead = || vec![ended(job_of_run("a", "11:00"), "Complete")];

    let status = |cronjob: &CronJob| {
        let jobs = Jobs::from(shared(ahead()));
        last_run(cronjob, &jobs, at("10:00:20"))
    };
    assert_eq!(
        decided(&minutely, ahead(), "10:00:20"),
        "nothing, next 10:01"
    );
    assert_eq!(status(&minutely), Some(at("10:00:20")));

    // As the status then records it.
    set_last_run(&mut minutely, "10:00:20");
    assert_eq!(
        decided(&minutely, ahead(), "10:01"),
        "start 10:01, next 10:02"
    );
    // The run that was started while the clock was ahead is not started again when its time comes.
    set_last_run(&mut minutely, "10:59");
    assert_eq!(decided(&minutely, ahead(), "11:00"), "nothing, next 11:01");
}

#[test]
fn intervals_end_when_they_would_have_ended_if_no_clock_had_been_ahead() {
    let mut often = cronjob("@every 20m", "09:07");
    set_last_run(&mut often, "11:07");

    assert_eq!(decided(&often, vec![], "10:00:20"), "nothing, next 10:07");
    assert_eq!(
        last_run(&often, &Jobs::default(), at("10:00:20")),
        Some(at("09:47"))
    );
    // At the end of an interval, the run counts as done.
    assert_eq!(decided(&often, vec![], "10:07"), "nothing, next 10:27");
}

#[test]
fn if_this_clock_is_behind_the_time_of_the_api_server_counts() {
    let mut minutely = cronjob("* * * * *", "09:00");
    let counts =
        |cronjob: &CronJob, clock, server: Option<&str>| time(cronjob, at(clock), server.map(at));
    // Nothing is recorded: nothing shows which clock is right.
    assert_eq!(counts(&minutely, "10:00", Some("11:00")), at("10:00"));

    set_last_run(&mut minutely, "11:00");
    assert_eq!(counts(&minutely, "10:00", Some("11:00:30")), at("11:00:30"));
    assert_eq!(counts(&minutely, "10:59", Some("11:00:00")), at("11:00:00"));
    // The run was recorded while a clock was ahead, perhaps both.
    assert_eq!(counts(&minutely, "10:00", Some("10:00:02")), at("10:00"));
    assert_eq!(counts(&minutely, "10:00", None), at("10:00"));
    // This clock is not behind the record, or the API server's is behind.
    assert_eq!(counts(&minutely, "11:00:20", Some("11:05")), at("11:00:20"));
    assert_eq!(counts(&minutely, "11:00:20", Some("10:00")), at("11:00:20"));
}

#[test]
fn another_computers_clock_may_be_a_little_ahead() {
    let mut often = cronjob("@every 5s", "09:00");
    set_last_run(&mut often, "10:00:10");

    assert_eq!(decided(&often, vec![], "10:00"), "nothing, next 10:00:15");
    assert_eq!(decided(&often, vec![], "09:59:59"), "nothing, next 10:00");
}

#[test]
fn runs_of_a_cronjob_created_in_the_future_count_from_its_first_condition() {
    let mut hourly = cronjob("0 * * * *", "2999-01-01T00:00:00Z");
    assert_eq!(decided(&hourly, vec![], "11:00"), "nothing, next 12:00");

    let condition = |type_: &str, since: &str| {
        let status = ConditionStatus::True;
        conditions::new(type_, status, "Reason", Some(1), at(since))
    };
    let status = hourly.status.get_or_insert_default();
    status.conditions = vec![
        condition("Approved", "08:00"),
        condition("Available", "10:10"),
        condition("Progressing", "10:50"),
        condition("Degraded", "2999-01-01T00:00:00Z"),
    ];
    assert_eq!(decided(&hourly, vec![], "10:59"), "nothing, next 11:00");
    assert_eq!(decided(&hourly, vec![], "11:00"), "start 11:00, next 12:00");
}

#[test]
fn a_change_of_the_clock_is_noticed_within_a_minute() {
    let now = at("10:00");
    let waits = |run: Run, next: Option<&str>| wait(&run, next.map(at), now);
    let seconds = |seconds| Some(Duration::from_secs(seconds));
    let too_many = Run::TooManyMissed { since: now };

    assert_eq!(waits(Run::NotDue, Some("10:00:20")), seconds(20));
    assert_eq!(waits(Run::NotDue, Some("11:00")), seconds(60));
    assert_eq!(waits(Run::NotDue, Some("09:59")), seconds(0));
    assert_eq!(waits(Run::NotDue, None), seconds(60));
    assert_eq!(waits(too_many, None), seconds(60));
    // Whatever the time is, nothing starts.
    assert_eq!(waits(Run::Suspended, None), None);
}

#[test]
fn a_run_does_not_start_after_its_deadline() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    for (deadline, now, expected) in [
        (100, "11:01:40", "start 11:00, next 12:00"),
        (100, "11:01:41", "missed 11:00, next 12:00"),
        (100, "13:30", "missed 11:00, next 14:00"),
        (100, "14:00:30", "start 14:00, next 15:00"),
        (7200, "13:30", "start 13:00, next 14:00"),
        // Its whole second counts.
        (0, "2026-03-02T11:00:00.999Z", "start 11:00, next 12:00"),
        (0, "11:00:01", "missed 11:00, next 12:00"),
        (i64::MAX, "11:30", "start 11:00, next 12:00"),
    ] {
        hourly.spec.starting_deadline_seconds = Some(deadline);
        assert_eq!(decided(&hourly, vec![], now), expected, "{deadline} {now}");
    }
}

#[test]
fn the_policy_decides_while_jobs_are_active() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    let active = || vec![job("b", "10:30"), job("a", "10:40")];
    let finished = || vec![ended(job("a", "10:40"), "Complete")];
    let going = || vec![being_deleted(job("a", "10:40"))];
    for (policy, jobs, expected) in [
        (
            ConcurrencyPolicy::Allow,
            active(),
            "start 11:00, next 12:00",
        ),
        (
            ConcurrencyPolicy::Forbid,
            active(),
            "skip for b, next 12:00",
        ),
        (
            ConcurrencyPolicy::Forbid,
            finished(),
            "start 11:00, next 12:00",
        ),
        // Its pods may run until they are deleted.
        (ConcurrencyPolicy::Forbid, going(), "skip for a, next 12:00"),
        (
            ConcurrencyPolicy::Replace,
            active(),
            "start 11:00 for b a, next 12:00",
        ),
        (
            ConcurrencyPolicy::Replace,
            finished(),
            "start 11:00, next 12:00",
        ),
        (
            ConcurrencyPolicy::Replace,
            going(),
            "start 11:00, next 12:00",
        ),
    ] {
        hourly.spec.concurrency_policy = policy;
        assert_eq!(decided(&hourly, jobs, "11:00"), expected, "{policy:?}");
    }
}

#[test]
fn a_job_is_not_replaced_before_its_run_is_recorded() {
    let mut hourly = cronjob("0 * * * *", "09:10");
    hourly.spec.concurrency_policy = ConcurrencyPolicy::Replace;
    let jobs = || vec![job_of_run("a", "10:00")];

    assert_eq!(decided(&hourly, jobs(), "11:00"), "nothing, next 12:00");
    set_last_run(&mut hourly, "10:00");
    assert_eq!(
        decided(&hourly, jobs(), "11:00"),
        "start 11:00 for a, next 12:00"
    );
}

#[test]
fn a_skipped_run_starts_late_within_its_deadline() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    hourly.spec.concurrency_policy = ConcurrencyPolicy::Forbid;
    hourly.spec.starting_deadline_seconds = Some(600);
    let ended = || vec![ended(job("a", "10:30"), "Failed")];

    assert_eq!(
        decided(&hourly, ended(), "11:10"),
        "start 11:00, next 12:00"
    );
    assert_eq!(
        decided(&hourly, ended(), "11:11"),
        "missed 11:00, next 12:00"
    );
}

#[test]
fn nothing_starts_while_suspended_and_the_latest_run_does_afterwards() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    hourly.spec.suspend = Some(true);
    assert_eq!(decided(&hourly, vec![], "13:30"), "suspended");

    hourly.spec.suspend = Some(false);
    assert_eq!(decided(&hourly, vec![], "13:30"), "start 13:00, next 14:00");
}

#[test]
fn more_than_a_hundred_missed_runs_wait_for_a_change() {
    let mut minutely = cronjob("* * * * *", "08:00");
    assert_eq!(
        decided(&minutely, vec![], "09:40"),
        "start 09:40, next 09:41"
    );
    assert_eq!(decided(&minutely, vec![], "09:41"), "too many since 08:01");

    // The change that helps: only runs in time count.
    minutely.spec.starting_deadline_seconds = Some(6060);
    assert_eq!(decided(&minutely, vec![], "10:00"), "too many since 08:19");
    minutely.spec.starting_deadline_seconds = Some(300);
    assert_eq!(
        decided(&minutely, vec![], "09:41"),
        "start 09:41, next 09:42"
    );
}

#[test]
fn there_may_be_no_next_run() {
    assert_eq!(
        decided(&cronjob("0 0 31 2 *", "08:00"), vec![], "09:00"),
        "nothing"
    );
    assert_eq!(
        decided(&cronjob("60 * * * *", "08:00"), vec![], "09:00"),
        "bad schedule"
    );
}

#[test]
fn intervals_keep_their_pace() {
    let mut often = cronjob("@every 90s", "10:00");
    assert_eq!(
        decided(&often, vec![], "10:01:29"),
        "nothing, next 10:01:30"
    );
    // However late a run starts, the next ones do not shift.
    assert_eq!(
        decided(&often, vec![], "10:03:10"),
        "start 10:03, next 10:04:30"
    );

    // Nor does a deadline shorter than the interval shift them.
    often.spec.starting_deadline_seconds = Some(20);
    assert_eq!(
        decided(&often, vec![], "10:03:10"),
        "start 10:03, next 10:04:30"
    );
    assert_eq!(
        decided(&often, vec![], "10:03:21"),
        "missed 10:01:30, next 10:04:30"
    );
}

#[test]
fn the_hour_that_summer_time_skips_has_no_run() {
    for (zone, last, next) in [
        (
            "America/New_York",
            "2026-03-07T07:30:00Z",
            "2026-03-09T06:30:00Z",
        ),
        (
            "Europe/Berlin",
            "2026-03-28T01:30:00Z",
            "2026-03-30T00:30:00Z",
        ),
    ] {
        let mut daily = cronjob(&format!("CRON_TZ={zone} 30 2 * * *"), last);
        set_last_run(&mut daily, last);
        let day_of_the_change = at(last) + SignedDuration::from_hours(36);

        let decided = decided(&daily, vec![], &day_of_the_change.to_string());

        assert_eq!(
            decided,
            format!("nothing, next {}", short(at(next))),
            "{zone}"
        );
    }
}

#[test]
fn the_hour_that_winter_time_repeats_has_two_runs() {
    for (zone, first, second) in [
        (
            "America/New_York",
            "2026-11-01T05:30:00Z",
            "2026-11-01T06:30:00Z",
        ),
        (
            "Europe/Berlin",
            "2026-10-25T00:30:00Z",
            "2026-10-25T01:30:00Z",
        ),
    ] {
        let hour = if zone == "Europe/Berlin" { 2 } else { 1 };
        let mut daily = cronjob(&format!("CRON_TZ={zone} 30 {hour} * * *"), "10:00");
        set_last_run(&mut daily, first);

        let decided = decided(&daily, vec![], second);

        assert!(
            decided.starts_with(&format!("start {}", short(at(second)))),
            "{decided}"
        );
    }
}

/// The names of the Jobs that are deleted with these limits.
fn surplus(jobs: Vec<Job>, failed: Option<i32>, succeeded: Option<i32>) -> String {
    let mut hourly = cronjob("0 * * * *", "10:10");
    hourly.spec.failed_jobs_history_limit = failed;
    hourly.spec.successful_jobs_history_limit = succeeded;
    set_last_run(&mut hourly, "13:00");
    let decision = decide(&hourly, &Jobs::from(shared(jobs)), at("13:10"));
    names(&decision.surplus)
}

#[test]
fn the_oldest_jobs_beyond_the_limits_are_deleted() {
    let jobs = || {
        vec![
            ended(job("failed-2", "12:00"), "Failed"),
            ended(job("failed-1", "11:00"), "Failed"),
            ended(job("failed-3", "13:00"), "Failed"),
            ended(job("good-1", "11:30"), "Complete"),
            ended(job("good-2", "12:30"), "Complete"),
            job("active", "10:00"),
        ]
    };

    assert_eq!(surplus(jobs(), None, None), "");
    assert_eq!(surplus(jobs(), Some(3), Some(2)), "");
    assert_eq!(
        surplus(jobs(), Some(1), Some(1)),
        "failed-1 failed-2 good-1"
    );
    assert_eq!(surplus(jobs(), Some(0), None), "failed-1 failed-2 failed-3");
    assert_eq!(surplus(jobs(), None, Some(0)), "good-1 good-2");
}

#[test]
fn jobs_being_deleted_or_not_yet_recorded_stay() {
    let jobs = vec![
        being_deleted(ended(job("going", "11:00"), "Failed")),
        ended(job_of_run("recorded", "13:00"), "Failed"),
        ended(job_of_run("unrecorded", "13:00:05"), "Failed"),
        ended(job_of_run("future", "14:00"), "Failed"),
    ];

    assert_eq!(surplus(jobs, Some(0), None), "recorded");
}

#[test]
fn a_status_in_the_future_records_no_run() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    hourly.spec.successful_jobs_history_limit = Some(0);
    set_last_run(&mut hourly, "15:00");
    // Within the allowed skew of another computer's clock.
    let job = ended(job_of_run("a", "12:00:05"), "Complete");
    let jobs = Jobs::from(shared([job]));

    let decision = decide(&hourly, &jobs, at("12:00"));

    assert_eq!(names(&decision.surplus), "");
    assert_eq!(last_run(&hourly, &jobs, at("12:00")), Some(at("12:00:05")));
}

#[test]
fn a_suspended_cronjob_is_cleaned_up_as_well() {
    let mut hourly = cronjob("0 * * * *", "10:10");
    hourly.spec.suspend = Some(true);
    hourly.spec.failed_jobs_history_limit = Some(0);
    let jobs = Jobs::from(shared([ended(job("a", "11:00"), "Failed")]));

    assert_eq!(names(&decide(&hourly, &jobs, at("12:00")).surplus), "a");
}
