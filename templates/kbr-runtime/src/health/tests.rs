// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::metrics::Counts;
use std::time::Duration;

const HOUR: Duration = Duration::from_secs(3600);

fn health() -> Health {
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let health = Health::new(ApiServer::new(nowhere));
    health.server.has_answered_for(HOUR);
    health
}

/// The queue of a controller with work that has waited for an hour.
fn busy(health: &mut Health) -> Queue {
    let queue = Queue::new(Counts::unread());
    health.add("busy", queue.clone());
    queue.has_waited(HOUR);
    queue
}

#[tokio::test]
async fn an_idle_controller_is_not_stuck() {
    let mut health = health();
    let queue = busy(&mut health);
    assert!(health.stuck().is_some());

    drop(queue.next().await);
    assert_eq!(health.stuck(), None);
    queue.has_finished_before(HOUR);

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn a_controller_that_finishes_some_work_is_not_stuck() {
    let mut health = health();
    let queue = busy(&mut health);

    queue.has_finished_before(Duration::ZERO);

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn a_reconcile_may_take_as_long_as_it_is_allowed_to() {
    let mut health = health();
    let queue = busy(&mut health);

    queue.configure(HOUR, Duration::ZERO);

    assert_eq!(health.stuck(), None);
}

#[tokio::test]
async fn after_an_outage_there_is_time_to_catch_up() {
    let mut health = health();
    busy(&mut health);

    health.server.has_answered_for(Duration::from_secs(1));

    assert_eq!(health.stuck(), None);
}
