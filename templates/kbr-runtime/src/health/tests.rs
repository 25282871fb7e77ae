// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

const HOUR: Duration = Duration::from_secs(3600);

fn health() -> Health {
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let health = Health::new(ApiServer::new(nowhere));
    health.server.has_answered_for(HOUR);
    health
}

fn object() -> Key {
    Key::of_meta(&kube::api::ObjectMeta::default())
}

#[tokio::test]
async fn who_has_nothing_to_do_is_not_stuck() {
    let mut health = health();
    let work = health.add("idle", Counts::unread());
    work.has_waited(HOUR);
    assert!(health.stuck().is_some());

    work.started(&object());
    work.finished(&object());

    assert_eq!(health.stuck(), None);
    work.lock().last_finished = Instant::now().checked_sub(HOUR).unwrap();
    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn who_finishes_some_work_is_not_stuck() {
    let mut health = health();
    let work = health.add("busy", Counts::unread());
    work.has_waited(HOUR);

    work.lock().last_finished = Instant::now();

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn a_reconcile_may_take_as_long_as_it_is_allowed_to() {
    let mut health = health();
    let work = health.add("slow", Counts::unread());
    work.has_waited(HOUR);

    work.limit(HOUR);

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn after_an_outage_there_is_time_to_catch_up() {
    let mut health = health();
    health.add("busy", Counts::unread()).has_waited(HOUR);

    health.server.has_answered_for(Duration::from_secs(1));

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn what_is_gone_is_no_work() {
    let mut health = health();
    let work = health.add("busy", Counts::unread());
    work.has_waited(HOUR);

    work.gone(&object());

    assert_eq!(work.stuck_for(), None);
}

#[tokio::test]
async fn the_backlog_is_what_waits_and_what_runs() {
    let work = Work::new(Counts::unread());
    let other = kube::api::ObjectMeta {
        name: Some("other".to_owned()),
        ..Default::default()
    };
    let (object, other) = (object(), Key::of_meta(&other));
    assert_eq!(work.backlog(), Backlog::default());

    for key in [&object, &object, &other] {
        work.waits(key);
    }
    assert_eq!(work.backlog().waiting, 2);
    work.started(&object);
    work.started(&other);
    work.lock()
        .running
        .insert(other.clone(), Instant::now().checked_sub(HOUR).unwrap());
    let backlog = work.backlog();
    assert_eq!((backlog.waiting, backlog.running), (0, 2));
    assert!(backlog.longest >= HOUR && backlog.unfinished >= backlog.longest);

    work.finished(&object);
    work.gone(&other);
    assert_eq!(work.backlog(), Backlog::default());
}
