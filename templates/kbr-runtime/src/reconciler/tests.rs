// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::logging::tests::logged;
use k8s_openapi::api::core::v1::ConfigMap;
use std::future::Ready;
use std::io;
use std::time::Duration;

fn object() -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some("sample".to_owned());
    Arc::new(object)
}

/// What one reconcile comes to: its action, or the delay before the next attempt.
fn outcome<F>(backoff: &Backoff, reconcile: fn() -> F) -> Result<Action, Duration>
where
    F: Future<Output = io::Result<Action>> + Send + 'static,
{
    outcome_with(backoff, reconcile, |_| None).map_err(|action| {
        let requeued = |ms: u64| action == Action::requeue(Duration::from_millis(ms));
        let retry_in = (0..1000).find(|ms| requeued(*ms));
        Duration::from_millis(retry_in.unwrap())
    })
}

/// The same under an error policy, with the action after a failure.
fn outcome_with<F>(
    backoff: &Backoff,
    reconcile: fn() -> F,
    policy: fn(&io::Error) -> Option<Action>,
) -> Result<Action, Action>
where
    F: Future<Output = io::Result<Action>> + Send + 'static,
{
    let reconcile = wrap(
        "test",
        backoff.clone(),
        move |_: Arc<ConfigMap>, _: Arc<()>| reconcile(),
        Arc::new(move |_: &ConfigMap, error: &io::Error, (): &()| policy(error)),
    );
    let attempt = reconcile(object(), Arc::new(()));
    let outcome = attempt.now_or_never().unwrap();
    outcome.map_err(|failed| failed.action)
}

async fn succeeds() -> io::Result<Action> {
    Ok(Action::requeue(Duration::from_secs(60)))
}

async fn fails() -> io::Result<Action> {
    Err(io::Error::other("no luck"))
}

async fn panics() -> io::Result<Action> {
    panic!("on purpose")
}

fn panics_when_called() -> Ready<io::Result<Action>> {
    panic!("on purpose")
}

#[test]
fn failures_and_panics_wait_longer_each_time_until_a_success() {
    let backoff = Backoff::default();
    let ms = Duration::from_millis;

    assert_eq!(outcome(&backoff, fails), Err(ms(5)));
    assert_eq!(outcome(&backoff, panics), Err(ms(10)));
    assert_eq!(outcome(&backoff, panics_when_called), Err(ms(20)));
    assert_eq!(outcome(&backoff, fails), Err(ms(40)));
    let action = Action::requeue(Duration::from_secs(60));
    assert_eq!(outcome(&backoff, succeeds), Ok(action));
    assert_eq!(backoff.len(), 0);
    assert_eq!(outcome(&backoff, panics), Err(ms(5)));
}

#[test]
fn failures_and_panics_are_logged_with_their_object() {
    // The least verbose level must not take the object from the lines.
    let lines = logged("error".into(), || {
        let backoff = Backoff::default();
        let _ = outcome(&backoff, fails);
        let _ = outcome(&backoff, panics);
        let _ = outcome(&backoff, succeeds);
    });

    assert_eq!(lines.len(), 2);
    assert_eq!(lines[0]["error"], "no luck");
    assert_eq!(lines[0]["retry_in"], "5ms");
    assert_eq!(lines[1]["error"], "panic: on purpose");
    for line in &lines {
        assert_eq!(line["level"], "ERROR");
        assert_eq!(line["span"]["controller"], "test");
        assert_eq!(line["span"]["object"], "default/sample");
    }
    assert_ne!(
        lines[0]["span"]["reconcile_id"],
        lines[1]["span"]["reconcile_id"]
    );
}

#[test]
fn an_error_policy_decides_about_errors_and_leaves_panics_to_the_back_off() {
    let backoff = Backoff::default();
    let hourly = Action::requeue(Duration::from_secs(3600));
    let policy = |error: &io::Error| {
        let is_known = error.to_string() == "no luck";
        is_known.then(|| Action::requeue(Duration::from_secs(3600)))
    };

    assert_eq!(outcome_with(&backoff, fails, policy), Err(hourly));
    assert_eq!(backoff.len(), 0);
    let first = Action::requeue(Duration::from_millis(5));
    assert_eq!(outcome_with(&backoff, panics, policy), Err(first));
    assert_eq!(backoff.len(), 1);
}
