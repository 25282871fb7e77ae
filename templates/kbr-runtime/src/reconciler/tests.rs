// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::cache::tests::{empty, list, nowhere};
use crate::handle::tests::context;
use crate::logging::tests::logged;
use crate::metrics::Counts;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use std::future::{Ready, pending};
use std::io;

fn object() -> Arc<ConfigMap> {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some("sample".to_owned());
    Arc::new(object)
}

/// A reconciler whose API server gets no request.
fn reconciler(backoff: &Backoff) -> Reconciler {
    Reconciler {
        controller: "test",
        backoff: backoff.clone(),
        timeout: Duration::from_millis(100),
        server: ApiServer::new(kube::Config::new("http://127.0.0.1:1".parse().unwrap())),
        queue: Queue::new(Counts::unread()),
        stop: CancellationToken::new(),
        failing: Arc::new([FailingWatches::default()]),
        restless: crate::restless::Restless::new(),
    }
}

/// Wraps a reconcile of [`object`], which is in the cache.
fn wrapped<R, F, E>(reconciler: Reconciler, reconcile: R, policy: Policy<ConfigMap, E>) -> Work
where
    R: Fn(Handle<ConfigMap>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Error + Send + 'static,
{
    let cache = empty();
    list(&cache, &[(*object()).clone()]);
    reconciler.wrap(Arc::new(context(cache, nowhere())), reconcile, policy, None)
}

/// One reconcile of [`object`].
async fn once(work: &Work) -> Option<Duration> {
    work(Arc::new(Key::of(&*object()))).await
}

/// When [`object`] is due again.
fn outcome<F, E>(backoff: &Backoff, reconcile: fn() -> F) -> Option<Duration>
where
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Error + Send + 'static,
{
    outcome_with(backoff, reconcile, |_| None)
}

/// The same with an error policy.
fn outcome_with<F, E>(
    backoff: &Backoff,
    reconcile: fn() -> F,
    policy: fn(&E) -> Option<Action>,
) -> Option<Duration>
where
    F: Future<Output = Result<Action, E>> + Send + 'static,
    E: Error + Send + 'static,
{
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    backoff.has_waited();
    runtime.block_on(async {
        let policy = Arc::new(move |_: &ConfigMap, error: &E| policy(error));
        once(&wrapped(reconciler(backoff), move |_| reconcile(), policy)).await
    })
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

/// Is dropped at its timeout.
async fn panics_when_dropped() -> io::Result<Action> {
    struct Broken;
    impl Drop for Broken {
        fn drop(&mut self) {
            panic!("on purpose")
        }
    }
    let _broken = Broken;
    pending().await
}

#[test]
fn failures_and_panics_wait_longer_each_time_until_a_success() {
    let backoff = Backoff::default();
    let ms = |ms| Some(Duration::from_millis(ms));

    assert_eq!(outcome(&backoff, fails), ms(5));
    assert_eq!(outcome(&backoff, panics), ms(10));
    assert_eq!(outcome(&backoff, panics_when_called), ms(20));
    assert_eq!(outcome(&backoff, fails), ms(40));
    assert!(outcome(&backoff, panics_when_dropped) >= ms(80));
    assert_eq!(outcome(&backoff, succeeds), ms(60_000));
    assert_eq!(backoff.len(), 0);
    assert_eq!(outcome(&backoff, panics), ms(5));
}

/// The error of a request about an object.
fn not_found(kind: &str, name: &str) -> kube::Error {
    let status =
        json!({ "code": 404, "reason": "NotFound", "details": { "kind": kind, "name": name } });
    kube::Error::Api(
        serde_json::from_value::<kube::core::Status>(status)
            .unwrap()
            .boxed(),
    )
}

#[test]
fn an_object_that_was_deleted_meanwhile_is_no_error() {
    // The watch shows the deletion before the answer, after it, or never: then the API server serves no status.
    for (shows_after, expected) in [(Some(0), 0), (Some(100), 0), (None, 1)] {
        let lines = logged("info".into(), || {
            let runtime = tokio::runtime::Builder::new_current_thread()
                .enable_all()
                .build();
            runtime.unwrap().block_on(async {
                let cache = empty();
                list(&cache, &[(*object()).clone()]);
                let gone = cache.clone();
                let reconcile = move |_| {
                    let gone = gone.clone();
                    async move {
                        if let Some(after) = shows_after {
                            let show = async move {
                                tokio::time::sleep(Duration::from_millis(after)).await;
                                list(&gone, &[]);
                            };
                            match after {
                                0 => show.await,
                                _ => drop(tokio::spawn(show)),
                            }
                        }
                        Err::<Action, _>(not_found("configmaps", "sample"))
                    }
                };
                let context = Arc::new(context(cache, nowhere()));
                let mut reconciler = reconciler(&Backoff::default());
                reconciler.timeout = Duration::from_secs(10);
                let work = reconciler.wrap(context, reconcile, Arc::new(|_, _| None), None);
                once(&work).await;
            });
        });
        assert_eq!(lines.len(), expected, "{shows_after:?}: {lines:?}");
    }
}

#[test]
fn failures_and_panics_are_logged_with_their_object() {
    // The least verbose level must not remove the object from the log lines.
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
        assert_eq!(line["spans"][0]["controller"], "test");
        assert_eq!(line["spans"][0]["object"], "default/sample");
    }
    assert_ne!(
        lines[0]["spans"][0]["reconcile_id"],
        lines[1]["spans"][0]["reconcile_id"]
    );
}

#[test]
fn an_error_policy_decides_about_errors_and_leaves_panics_to_the_backoff() {
    let backoff = Backoff::default();
    let policy = |error: &io::Error| {
        let is_known = error.to_string() == "no luck";
        is_known.then(|| Action::requeue(Duration::from_secs(3600)))
    };

    let hourly = Some(Duration::from_secs(3600));
    assert_eq!(outcome_with(&backoff, fails, policy), hourly);
    assert_eq!(backoff.len(), 0);
    let first = Some(Duration::from_millis(5));
    assert_eq!(outcome_with(&backoff, panics, policy), first);
    assert_eq!(backoff.len(), 1);
}

async fn is_terminal() -> Result<Action, crate::Retry> {
    Err(crate::Retry::never("misspelt"))
}

async fn comes_back() -> Result<Action, crate::Retry> {
    Err(crate::Retry::after(Duration::from_secs(60), "not yet"))
}

#[test]
fn an_error_says_that_its_object_is_not_retried() {
    let backoff = Backoff::default();
    let _ = outcome(&backoff, fails);

    let lines = logged("info".into(), || {
        assert_eq!(outcome(&backoff, is_terminal), None);
    });

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["level"], "ERROR");
    assert_eq!(lines[0]["error"], "misspelt");
    let message = "reconcile failed: not retried until the object changes";
    assert_eq!(lines[0]["message"], message);
    assert_eq!(backoff.len(), 0);
}

#[test]
fn an_error_says_when_its_object_is_retried() {
    let backoff = Backoff::default();
    for _ in 0..3 {
        let after = Duration::from_secs(60);
        assert_eq!(outcome(&backoff, comes_back), Some(after));
    }
    assert_eq!(backoff.len(), 0);
}

#[test]
fn an_error_policy_is_asked_before_the_error() {
    let policy = |_: &crate::Retry| Some(Action::requeue(Duration::from_secs(3600)));

    let after = outcome_with(&Backoff::default(), is_terminal, policy);

    assert_eq!(after, Some(Duration::from_secs(3600)));
}

#[derive(Debug, thiserror::Error)]
enum Custom {
    #[error("could not write the status: {0}")]
    Status(#[source] kube::Error),
    #[error(transparent)]
    Kube(#[from] kube::Error),
}

fn answer(code: u16, reason: &str, retry_after_seconds: u32) -> kube::Error {
    let status = kube::core::Status {
        code,
        reason: reason.to_owned(),
        message: "as it was said".to_owned(),
        details: serde_json::from_value(json!({"retryAfterSeconds": retry_after_seconds})).unwrap(),
        ..Default::default()
    };
    kube::Error::Api(status.boxed())
}

async fn conflicts() -> Result<Action, Custom> {
    Err(Custom::Status(answer(409, "Conflict", 0)))
}

async fn is_throttled() -> Result<Action, Custom> {
    Err(Custom::Kube(answer(429, "TooManyRequests", 7)))
}

#[test]
fn a_conflict_is_retried_and_not_logged_as_an_error() {
    let lines = logged("info".into(), || {
        let backoff = Backoff::default();
        assert_eq!(outcome(&backoff, conflicts), Some(Duration::from_millis(5)));
    });

    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["level"], "INFO");
}

#[test]
fn the_api_server_says_when_to_come_back_at_the_earliest() {
    let delays = (0..20).map(|_| outcome(&Backoff::default(), is_throttled).unwrap());
    let delays: std::collections::BTreeSet<_> = delays.collect();

    let asked = Duration::from_secs(7);
    let range = asked..=asked * 4 / 3;
    assert!(
        delays.iter().all(|delay| range.contains(delay)),
        "{delays:?}"
    );
    // All that were refused come back at different times.
    assert!(delays.len() > 10, "{delays:?}");
}

#[test]
fn while_a_watch_fails_no_retry_waits_for_long() {
    let backoff = Backoff::default();
    let reconciler = reconciler(&backoff);
    let object = Key::of(&*object());
    for _ in 0..20 {
        backoff.has_waited();
        backoff.failed(&object, Duration::ZERO);
    }
    let after = || {
        let failure = Failure::of("no luck".to_owned());
        reconciler.after(&object, failure, Duration::ZERO)
    };

    assert_ne!(after(), Action::requeue(LONGEST_PAUSE));
    reconciler.failing[0].set(true);
    assert_eq!(after(), Action::requeue(LONGEST_PAUSE));
}

async fn hangs() -> io::Result<Action> {
    std::future::pending().await
}

#[test]
fn a_reconcile_that_hangs_is_dropped_and_retried() {
    let lines = logged("error".into(), || {
        let backoff = Backoff::default();
        assert_eq!(outcome(&backoff, hangs), Some(Duration::from_millis(5)));
        assert_eq!(outcome(&backoff, hangs), Some(Duration::from_millis(10)));
    });

    assert_eq!(lines[0]["error"], "timeout: did not finish within 100ms");
}

#[tokio::test]
async fn timeouts_and_panics_are_counted_as_errors() {
    let metrics = crate::metrics::Metrics::new();
    let of = |queue: &Queue| Reconciler {
        queue: queue.clone(),
        timeout: Duration::from_millis(1),
        ..reconciler(&Backoff::default())
    };
    let policy = || -> Policy<ConfigMap, io::Error> { Arc::new(|_, _| None) };
    let queue = Queue::new(metrics.controller("test"));
    let slow = |_| pending::<io::Result<Action>>();
    assert!(once(&wrapped(of(&queue), slow, policy())).await.is_some());
    assert!(
        once(&wrapped(of(&queue), |_| panics(), policy()))
            .await
            .is_some()
    );

    let text = metrics.text().unwrap();
    for line in [
        r#"controller_runtime_reconcile_timeouts_total{controller="test"} 1"#,
        r#"controller_runtime_reconcile_panics_total{controller="test"} 1"#,
        r#"controller_runtime_reconcile_errors_total{controller="test"} 2"#,
        r#"controller_runtime_reconcile_total{controller="test",result="error"} 2"#,
        r#"workqueue_retries_total{name="test",controller="test"} 2"#,
    ] {
        assert!(text.lines().any(|found| found == line), "{line}: {text}");
    }
}

#[tokio::test]
async fn an_object_that_is_gone_is_forgotten_and_not_reconciled() {
    let backoff = Backoff::default();
    let gone = Arc::new(Key::new(Some("default".to_owned()), "gone".to_owned()));
    backoff.failed(&gone, Duration::ZERO);
    backoff.failed(&Key::of(&*object()), Duration::ZERO);
    let policy: Policy<ConfigMap, io::Error> = Arc::new(|_, _| None);
    let never = |_| async { panic!("there is nothing to reconcile") };
    let work = wrapped(reconciler(&backoff), never, policy);

    assert_eq!(work(gone).await, None);

    assert_eq!(backoff.len(), 1);
}
