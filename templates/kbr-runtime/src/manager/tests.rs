// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::BindAddress;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use kube::runtime::watcher;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::timeout;

const GRACE: Duration = Duration::from_millis(500);

/// A webhook that changes nothing.
struct Nothing;

impl webhook::Defaulter for Nothing {
    type Object = ConfigMap;

    async fn set_defaults(
        &self,
        _: &crate::webhook::AdmissionRequest,
        _: &mut ConfigMap,
    ) -> Result<(), crate::webhook::BoxError> {
        Ok(())
    }
}

/// A manager whose API server is unreachable.
fn manager() -> Manager {
    let flags = Flags {
        health_probe_bind_address: BindAddress::Off,
        graceful_shutdown_timeout: GRACE,
        ..Flags::default()
    };
    Manager::with_config(flags, Config::new("http://127.0.0.1:1".parse().unwrap())).unwrap()
}

fn add_fake<F>(manager: &mut Manager, name: &'static str, fake: fn(CancellationToken) -> F)
where
    F: Future<Output = ()> + Send + 'static,
{
    manager.controllers.push(Registration {
        name,
        start: Box::new(move |run| {
            Box::pin(async move {
                fake(run.stop).await;
                "it was fake".to_owned()
            })
        }),
    });
}

async fn run(manager: &mut Manager) -> Result<(), ManagerError> {
    let limit = Duration::from_secs(10);
    timeout(limit, manager.run_until_stopped()).await.unwrap()
}

#[tokio::test]
async fn without_controllers_it_runs_until_stopped() {
    let mut manager = manager();
    assert!(timeout(GRACE, manager.run_until_stopped()).await.is_err());

    manager.stop_token().cancel();
    assert!(run(&mut manager).await.is_ok());
}

#[tokio::test]
async fn stops_a_controller_that_never_reached_its_server() {
    let mut manager = manager();
    let stop = manager.stop_token();
    let api = Api::<ConfigMap>::all(manager.client());
    let controller = Controller::new(api, watcher::Config::default()).concurrency(2);
    let reconcile = |_, _| async { Ok::<_, Infallible>(Action::await_change()) };
    manager.add("a", controller, reconcile, Arc::new(()));

    let (outcome, ()) = tokio::join!(run(&mut manager), async {
        tokio::time::sleep(GRACE).await;
        stop.cancel();
    });

    assert!(outcome.is_ok(), "{outcome:?}");
}

#[tokio::test]
async fn waits_for_running_controllers_within_the_grace_period() {
    let mut manager = manager();
    add_fake(&mut manager, "slow", |stop| async move {
        stop.cancelled().await;
        tokio::time::sleep(GRACE / 4).await;
    });
    manager.stop_token().cancel();

    assert!(run(&mut manager).await.is_ok());
}

#[tokio::test]
async fn names_controllers_that_do_not_finish_within_the_grace_period() {
    let mut manager = manager();
    add_fake(&mut manager, "stuck", |_| std::future::pending());
    add_fake(&mut manager, "quick", |stop| async move {
        stop.cancelled().await
    });
    manager.stop_token().cancel();

    let error = run(&mut manager).await.unwrap_err();

    assert_eq!(
        error.to_string(),
        "still running after the grace period: stuck"
    );
}

#[tokio::test]
async fn webhooks_are_served_until_controllers_have_finished() {
    let free = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    // The second manager needs the port that the first one used.
    for _ in 0..2 {
        let mut manager = manager();
        manager.flags.webhook_cert_path = Some("no certificate".into());
        manager.flags.webhook_host = address.ip().to_string();
        manager.flags.webhook_port = address.port();
        manager.webhooks().mutate("/mutate", Nothing);
        let (reached, mut outcome) = tokio::sync::mpsc::channel(1);
        manager.controllers.push(Registration {
            name: "late",
            start: Box::new(move |run| {
                Box::pin(async move {
                    run.stop.cancelled().await;
                    let connected = tokio::net::TcpStream::connect(address).await;
                    reached.send(connected.is_ok()).await.unwrap();
                    String::new()
                })
            }),
        });
        manager.stop_token().cancel();

        assert!(run(&mut manager).await.is_ok());
        assert_eq!(outcome.recv().await, Some(true));
        assert!(std::net::TcpStream::connect(address).is_err());
    }
}

#[tokio::test]
async fn without_the_port_of_its_webhooks_it_does_not_start() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let mut manager = manager();
    manager.flags.webhook_cert_path = Some("no certificate".into());
    manager.flags.webhook_host = "127.0.0.1".to_owned();
    manager.flags.webhook_port = taken.local_addr().unwrap().port();
    manager.webhooks().mutate("/mutate", Nothing);

    let error = run(&mut manager).await.unwrap_err().to_string();

    assert!(error.contains("for the webhooks: "), "{error}");
}

#[tokio::test]
async fn a_controller_that_ends_stops_the_others_and_is_named() {
    let mut manager = manager();
    add_fake(&mut manager, "short", |_| async {});
    add_fake(&mut manager, "other", |stop| async move {
        stop.cancelled().await
    });

    let error = run(&mut manager).await.unwrap_err();

    assert_eq!(error.to_string(), "controller `short` ended: it was fake");
}

#[tokio::test]
async fn a_controller_that_ends_because_of_the_stop_is_no_error() {
    for _ in 0..20 {
        let mut manager = manager();
        // The manager sees the stop and the end at the same moment.
        add_fake(&mut manager, "quick", |stop| async move { stop.cancel() });

        assert!(run(&mut manager).await.is_ok());
    }
}

#[tokio::test]
async fn a_task_that_fails_or_panics_ends_the_manager_and_is_named() {
    let mut manager = manager();
    manager.add_task("sweep", |_| async { Err("no luck") });
    let error = run(&mut manager).await.unwrap_err().to_string();
    assert_eq!(error, "task `sweep` failed: no luck");

    let mut manager = self::manager();
    async fn broken(_: CancellationToken) -> Result<(), Infallible> {
        panic!("on purpose")
    }
    manager.add_task_on_every_replica("sweep", broken);
    let error = run(&mut manager).await.unwrap_err().to_string();
    assert!(error.starts_with("task `sweep` failed: "), "{error}");
    assert!(error.contains("on purpose"), "{error}");
}

#[tokio::test]
async fn a_task_that_succeeds_does_not_end_the_manager() {
    let mut manager = manager();
    manager.add_task("short", |_| async { Ok::<_, Infallible>(()) });

    assert!(timeout(GRACE, manager.run_until_stopped()).await.is_err());

    let mut manager = self::manager();
    manager.add_task("short", |_| async { Ok::<_, Infallible>(()) });
    manager.add_task("bad", |_| async {
        tokio::time::sleep(GRACE / 4).await;
        Err("no luck")
    });
    let error = run(&mut manager).await.unwrap_err().to_string();
    assert_eq!(error, "task `bad` failed: no luck");
}

#[tokio::test]
async fn a_task_has_the_grace_period_to_end() {
    let mut manager = manager();
    let (ended, mut outcome) = tokio::sync::mpsc::channel(1);
    manager.add_task("flush", move |stop| async move {
        stop.cancelled().await;
        tokio::time::sleep(GRACE / 4).await;
        ended.send(()).await
    });
    manager.stop_token().cancel();
    assert!(run(&mut manager).await.is_ok());
    assert!(outcome.recv().await.is_some());

    let mut manager = self::manager();
    manager.add_task("stuck", |_| {
        std::future::pending::<Result<(), Infallible>>()
    });
    manager.stop_token().cancel();
    let error = run(&mut manager).await.unwrap_err().to_string();
    assert_eq!(error, "still running after the grace period: stuck");
}

#[tokio::test]
async fn without_namespaces_to_watch_nothing_starts() {
    for (names, problem) in [(&[][..], "is not set"), (&["a", "A"], "has `A`")] {
        let mut manager = manager();
        manager.flags.watch_namespace = names.iter().map(|name| (*name).to_owned()).collect();
        add_fake(&mut manager, "never", |_| async {});
        assert_eq!(manager.namespaces(), [""; 0]);

        let error = run(&mut manager).await.unwrap_err().to_string();

        let expected = format!("`WATCH_NAMESPACE` {problem}");
        assert!(error.starts_with(&expected), "{error}");
    }
}

#[tokio::test]
async fn namespaces_that_are_not_asked_for_are_not_checked() {
    let mut manager = manager();
    manager.flags.watch_namespace = vec!["A".to_owned()];
    manager.stop_token().cancel();

    assert!(run(&mut manager).await.is_ok());
}

#[tokio::test]
async fn an_outage_of_the_api_server_does_not_prevent_the_start() {
    let mut manager = manager();
    manager.flags.watch_namespace = vec!["a".to_owned()];
    assert_eq!(manager.namespaces(), ["a"]);
    let stop = manager.stop_token();
    let (started, mut outcome) = tokio::sync::mpsc::channel(1);
    manager.add_task("early", move |_| async move { started.send(()).await });

    let running = timeout(FIRST_ANSWER * 10, manager.run_until_stopped());
    let (ended, ()) = tokio::join!(running, async {
        outcome.recv().await;
        stop.cancel();
    });

    assert!(ended.unwrap().is_ok());
}
