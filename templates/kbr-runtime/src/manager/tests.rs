// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

mod bad_input;
mod example;
mod refused;
mod supervision;

use super::*;
use crate::BindAddress;
use crate::cache::tests::empty;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Api;
use std::convert::Infallible;
use std::time::Duration;
use tokio::time::{sleep, timeout};

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
        cache: empty::<ConfigMap>().source(),
        sources: Vec::new(),
        workers: 1,
        suffix: "",
        prepare: Box::new(move |run| {
            prepared(name, async move {
                fake(run.stop).await;
                "it was fake".to_owned()
            })
        }),
    });
}

/// A controller without caches.
fn prepared(name: &'static str, work: impl Future<Output = String> + Send + 'static) -> Prepared {
    Prepared {
        name,
        needs_leader: true,
        is_warm: false,
        sync_limit: SYNC_LIMIT,
        watch: Some(Box::pin(pending())),
        work: Box::pin(work),
        sources: Vec::new(),
    }
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
    let controller = Controller::new(manager.all::<ConfigMap>()).concurrency(2);
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    manager.add("a", controller, reconcile);

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
            cache: empty::<ConfigMap>().source(),
            sources: Vec::new(),
            workers: 1,
            suffix: "",
            prepare: Box::new(move |run| {
                prepared("late", async move {
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

#[tokio::test]
async fn the_lease_is_not_released_while_something_may_still_write() {
    for fails in [true, false] {
        let (election, won) = election::tests::won();
        let stop = CancellationToken::new();
        let lifecycle = Lifecycle {
            election: Some(election),
            server: ApiServer::new(Config::new("http://127.0.0.1:1".parse().unwrap())),
            stop: stop.clone(),
            grace: GRACE,
            running: Running::default(),
            watching: Running::default(),
            filled: Vec::new(),
        };
        let stuck = prepared("stuck", pending());
        let task = Task {
            name: "sweep",
            needs_lead: true,
            run: Box::pin(async move {
                if fails {
                    return Err("no luck".to_owned());
                }
                stop.cancel();
                Ok(())
            }),
        };

        let (outcome, election) = lifecycle.run(vec![stuck], vec![task], pending()).await;

        let expected = if fails {
            "task `sweep` failed: no luck"
        } else {
            "still running after the grace period: stuck"
        };
        assert_eq!(outcome.unwrap_err().to_string(), expected);
        assert!(election.is_none() && !won.is_released(), "{expected}");
    }
}

#[tokio::test]
async fn a_lease_that_is_lost_is_not_released_and_ends_what_runs() {
    struct Dropped(Arc<std::sync::atomic::AtomicBool>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.store(true, std::sync::atomic::Ordering::SeqCst);
        }
    }
    let (election, won) = election::tests::won();
    let lifecycle = Lifecycle {
        election: Some(election),
        server: ApiServer::new(Config::new("http://127.0.0.1:1".parse().unwrap())),
        stop: CancellationToken::new(),
        grace: GRACE,
        running: Running::default(),
        watching: Running::default(),
        filled: Vec::new(),
    };
    let dropped = Arc::<std::sync::atomic::AtomicBool>::default();
    let guard = Dropped(dropped.clone());
    let stuck = prepared("stuck", async move {
        let _guard = guard;
        pending().await
    });

    let ((outcome, election), ()) =
        tokio::join!(lifecycle.run(vec![stuck], vec![], pending()), async {
            sleep(GRACE / 10).await;
            won.lose();
        });
    tokio::task::yield_now().await;

    let error = outcome.unwrap_err().to_string();
    assert_eq!(error, "lost the Lease `default/test`: on purpose");
    assert!(election.is_none() && !won.is_released());
    assert!(dropped.load(std::sync::atomic::Ordering::SeqCst));
}

/// What an operator needs at SIGTERM when the API server answers nothing.
#[tokio::test]
async fn an_unanswered_request_does_not_outlast_the_grace_period() {
    // It accepts connections, and that is all.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let server = format!("http://{}", silent.local_addr().unwrap());
    let flags = Flags {
        health_probe_bind_address: BindAddress::Off,
        graceful_shutdown_timeout: GRACE * 4,
        ..Flags::default()
    };
    let config = Config::new(server.parse().unwrap());
    let mut manager = Manager::with_config(flags, config).unwrap();
    let (client, stop) = (manager.client(), manager.stop_token());
    let (failed, mut failure) = tokio::sync::mpsc::channel(1);
    manager.controllers.push(Registration {
        name: "writer",
        cache: empty::<ConfigMap>().source(),
        sources: Vec::new(),
        workers: 1,
        suffix: "",
        prepare: Box::new(move |_| {
            prepared("writer", async move {
                let maps = Api::<ConfigMap>::default_namespaced(client);
                stop.cancel();
                for _ in 0..2 {
                    let error = maps.get("a").await.unwrap_err();
                    failed.try_send(chain::chain(&error)).unwrap_or_default();
                }
                String::new()
            })
        }),
    });

    let outcome = run(&mut manager).await;

    assert!(outcome.is_ok(), "{outcome:?}");
    let failure = failure.recv().await.unwrap();
    assert!(failure.contains("the process ends"), "{failure}");
}

#[tokio::test]
async fn a_first_list_has_the_time_that_its_controller_allows() {
    let mut manager = answered(|_, _| Some(FORBIDDEN));
    let controller =
        Controller::new(manager.all::<ConfigMap>()).cache_sync_timeout(Duration::from_secs(1));
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    manager.add("a", controller, reconcile);

    let error = run(&mut manager).await.unwrap_err().to_string();

    let expected = "controller `a` ended: could not list configmaps within 1s: ";
    assert!(error.starts_with(expected), "{error}");
}

/// A cache that is filled on every replica has as long as the most patient of the controllers that use it.
#[tokio::test(start_paused = true)]
async fn a_cache_that_is_shared_has_the_time_that_its_controllers_allow() {
    for (limit, ends) in [(SYNC_LIMIT, true), (SYNC_LIMIT * 2, false)] {
        let mut manager = manager();
        let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
        let cache = empty::<ConfigMap>();
        cache.on_every_replica();
        manager.caches.all.push(cache.source());
        for (name, limit) in [("short", SYNC_LIMIT / 2), ("long", limit)] {
            let controller = Controller::new(cache.clone()).cache_sync_timeout(limit);
            manager.add(name, controller, reconcile);
        }
        manager.server.has_answered_for(SYNC_LIMIT * 10);
        let threads = Threads::start(1).unwrap();
        let mut health = Health::new(manager.server.clone());
        let controllers = manager.take_controllers(&mut health, &threads);
        // As on a standby, which starts none of the controllers.
        let (mut watching, _) = manager.take_caches(&controllers);

        let ended = timeout(SYNC_LIMIT * 3 / 2, watching.ended()).await;

        assert_eq!(ended.is_ok(), ends, "{ended:?}");
    }
}

/// A standby fills what it needs at once, and the leader the rest.
#[tokio::test]
async fn caches_are_filled_with_their_controller_or_before() {
    let mut manager = manager();
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    let cold = Controller::new(manager.all::<ConfigMap>());
    manager.add("cold", cold, reconcile);
    let _of_nobody = manager.namespaced::<ConfigMap>("a");
    let warm = manager.namespaced::<ConfigMap>("b");
    warm.on_every_replica();
    manager.add("warm", Controller::new(warm), reconcile);

    let threads = Threads::start(1).unwrap();
    let mut health = Health::new(manager.server.clone());
    let controllers = manager.take_controllers(&mut health, &threads);

    let (_watching, filled) = manager.take_caches(&controllers);
    assert_eq!(filled.len(), 2);
}

/// A manager whose API server gives this answer to every request.
fn answered(answer: fn(usize, usize) -> Option<&'static str>) -> Manager {
    let (address, _) = crate::api_server::tests::serve(answer);
    let flags = Flags {
        health_probe_bind_address: BindAddress::Off,
        ..Flags::default()
    };
    let config = Config::new(format!("http://{address}").parse().unwrap());
    Manager::with_config(flags, config).unwrap()
}

const FORBIDDEN: &str =
    "HTTP/1.1 403 Forbidden\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";

/// What a task finds in no cache is in none of them.
#[tokio::test]
async fn a_task_begins_when_the_caches_have_been_listed() {
    let mut manager = answered(|_, _| Some(FORBIDDEN));
    let cache = manager.all::<ConfigMap>();
    assert!(!cache.is_listed());
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    manager.add("a", Controller::new(cache.clone()), reconcile);
    let (began, mut begin) = tokio::sync::mpsc::channel(2);
    let seen = cache.clone();
    manager.add_task("sweep", |_| async move {
        began.try_send(seen.is_listed()).unwrap();
        Ok::<_, Infallible>(())
    });
    let stop = manager.stop_token();

    let (outcome, ()) = tokio::join!(run(&mut manager), async {
        sleep(GRACE).await;
        begin.try_recv().unwrap_err();
        crate::cache::tests::list(&cache, &[]);
        assert_eq!(begin.recv().await, Some(true));
        stop.cancel();
    });

    assert!(outcome.is_ok(), "{outcome:?}");
}

/// A list of one object.
const ONE: &str = concat!(
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 130\r\n\r\n",
    r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"#,
    r#""items":[{"metadata":{"name":"a","resourceVersion":"3"}}]}    "#,
);

/// The same, after some time: the server waits a moment at each `|`.
const ONE_LATE: &str = concat!(
    "||||||||||||||||||||",
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 130\r\n\r\n",
    r#"{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"7"},"#,
    r#""items":[{"metadata":{"name":"a","resourceVersion":"3"}}]}    "#,
);

/// Each task that the runtime starts for a cache or a controller, and what ends it.
#[tokio::test]
async fn a_task_of_the_runtime_that_ends_ends_the_manager() {
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    let mut with_stream = manager();
    let broken = futures::stream::poll_fn(|_| panic!("on purpose"));
    let controller = Controller::new(with_stream.all::<ConfigMap>()).reconcile_all_on(broken);
    with_stream.add("a", controller, reconcile);
    let error = run(&mut with_stream).await.unwrap_err().to_string();
    let expected = "controller `a` ended: a stream of objects to reconcile ended: ";
    assert!(error.starts_with(expected), "{error}");

    let panics = |event: &crate::cache::Change| panic!("on purpose: {}", event.key);
    for is_of_controller in [true, false] {
        let mut manager = answered(|_, _| Some(ONE));
        let cache = manager.all::<ConfigMap>();
        // As if there were a bug in the runtime.
        cache.subscribe(false, Box::new(move |change, _| panics(change)));
        if is_of_controller {
            manager.add("a", Controller::new(cache), reconcile);
        }
        let error = run(&mut manager).await.unwrap_err().to_string();
        let expected = match is_of_controller {
            true => "controller `a` ended: the watch of configmaps ended: ",
            false => "a cache cannot be filled: the watch of configmaps ended: ",
        };
        assert!(error.starts_with(expected), "{error}");
    }
}
