// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Kills each thread and task that the runtime starts: the manager must name it at once and end soon, whatever the rest
//! does.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::thread;
use std::time::Instant;

use k8s_openapi::api::core::v1::Secret;

use super::*;
use crate::logging::tests::logged;
use crate::manager::lifecycle::AFTER_FAILURE;
use crate::running::tests::{Death, doom};

/// How long the manager may take on a busy machine. It should be two seconds.
const LIMIT: Duration = Duration::from_secs(20);

/// What is logged by what does not end at the stop.
const STOPPING: &str = "stopping what never ends";

/// The threads and tasks, each with the beginning of the error that names it.
const ALL: [(&str, &str); 13] = [
    ("signals", "the signals thread ended: "),
    ("probes", "the probes thread ended: "),
    ("metrics", "the metrics thread ended: "),
    ("webhooks", "the webhooks thread ended: "),
    ("leader election", "the leader election thread ended: "),
    ("events", "task `events` failed: "),
    ("sweep", "task `sweep` failed: "),
    ("a", "controller `a` ended: "),
    ("the watches of a", "controller `a` ended: "),
    (
        "the watch of configmaps",
        "controller `a` ended: the watch of configmaps ended: ",
    ),
    (
        "a stream of objects to reconcile",
        "controller `a` ended: a stream of objects to reconcile ended: ",
    ),
    ("the other watches", "a cache cannot be filled: "),
    (
        "the watch of secrets",
        "a cache cannot be filled: the watch of secrets ended: ",
    ),
];

/// Where something is spawned, how often, and what becomes of it.
const SPAWNS: [(&str, usize, &str); 12] = [
    ("thread.rs", 1, "each thread of the list above"),
    ("running.rs", 1, "each task of the list above"),
    ("signals.rs", 1, "in the list"),
    ("election.rs", 1, "in the list"),
    (
        "http_server.rs",
        2,
        "the servers are in the list; the client of a connection sees its end",
    ),
    ("manager.rs", 2, "in the list"),
    ("manager/lifecycle.rs", 3, "in the list"),
    ("watch.rs", 1, "in the list"),
    (
        "controller/run.rs",
        1,
        "in the list; one for each reconcile is in workers.rs",
    ),
    (
        "workers.rs",
        1,
        "a reconcile: its panic ends the controller, which has a test there",
    ),
    ("checks.rs", 1, "a check: its probe reports the panic"),
    (
        "api_server.rs",
        1,
        "a request: a panic is the error of its caller",
    ),
];

/// A manager that starts all of them.
fn whole(is_candidate: bool) -> Manager {
    let flags = Flags {
        health_probe_bind_address: "127.0.0.1:0".parse().unwrap(),
        metrics_bind_address: "127.0.0.1:0".parse().unwrap(),
        webhook_cert_path: Some("no certificate".into()),
        webhook_host: "127.0.0.1".to_owned(),
        webhook_port: 0,
        leader_elect: is_candidate,
        leader_election_id: Some("test".to_owned()),
        leader_election_namespace: Some("default".to_owned()),
        graceful_shutdown_timeout: LIMIT * 10,
        ..Flags::default()
    };
    let config = Config::new("http://127.0.0.1:1".parse().unwrap());
    let mut manager = Manager::with_config(flags, config).unwrap();
    manager.webhooks().mutate("/mutate", Nothing);
    let stream = futures::stream::pending();
    let controller = Controller::new(manager.all::<ConfigMap>()).reconcile_all_on(stream);
    let reconcile = |_| async { Ok::<_, Infallible>(Action::await_change()) };
    manager.add("a", controller, reconcile);
    manager.add_task("sweep", |stop| async move {
        stop.cancelled().await;
        Ok::<_, Infallible>(())
    });
    // A cache that no controller fills.
    let _ = manager.all::<Secret>();
    // Such as a reconcile that never ends.
    manager.controllers.push(Registration {
        name: "stuck",
        cache: empty::<ConfigMap>().source(),
        sources: Vec::new(),
        workers: 1,
        suffix: "",
        prepare: Box::new(|run| {
            let work = async move {
                run.stop.cancelled().await;
                tracing::info!("{STOPPING}");
                pending().await
            };
            Prepared {
                needs_leader: false,
                ..prepared("stuck", work)
            }
        }),
    });
    manager
}

/// Runs the manager until its part `name` ends it, and returns how.
async fn ended(name: &'static str, death: Death) -> ManagerError {
    doom(name, death);
    let mut manager = whole(name == "leader election");
    let ended = async {
        match name {
            // Only here: a thread for signals stays until the process ends.
            #[cfg(unix)]
            "signals" => {
                let _alone = signals::tests::ALONE.lock().await;
                manager.run().await
            }
            _ => manager.run_until_stopped().await,
        }
    };
    let ended = timeout(LIMIT, ended).await;
    let ended = ended.unwrap_or_else(|_| panic!("`{name}` {death:?}: it goes on"));
    ended.unwrap_err()
}

fn check(name: &'static str, death: Death, expected: &str) {
    let start = Instant::now();
    let mut error = String::new();
    let lines = logged("info".parse().unwrap(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        error = runtime.unwrap().block_on(ended(name, death)).to_string();
    });

    println!("{name} {death:?}: {error} ({:?})", start.elapsed());
    assert!(error.starts_with(expected), "`{name}` {death:?}: {error}");
    let place = |is: &dyn Fn(&serde_json::Value) -> bool| lines.iter().position(is);
    let named = place(&|line| line["level"] == "ERROR" && line["error"] == *error);
    let stopping = place(&|line| line["message"] == STOPPING);
    // Without signals, nothing is stopped: the process ends.
    assert!(
        named.is_some() && (stopping.is_none() || named < stopping),
        "`{name}` {death:?}: not named at once: {lines:?}"
    );
}

#[test]
fn each_thread_and_task_that_ends_or_panics_ends_the_manager_and_is_named() {
    assert!(AFTER_FAILURE + LAST_RESPONSES <= Duration::from_secs(2));
    thread::scope(|all| {
        for (name, expected) in ALL {
            all.spawn(move || {
                check(name, Death::Panics, expected);
                check(name, Death::Ends, expected);
            });
        }
    });
}

/// The number of lines of each source file on which something is spawned.
fn spawns(folder: &Path, root: &Path, found: &mut BTreeMap<String, usize>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() && !path.ends_with("tests") {
            spawns(&path, root, found);
        } else if path.extension().is_some_and(|it| it == "rs") && !path.ends_with("tests.rs") {
            let is_spawn = |line: &&str| {
                let calls = ["spawn(", "spawn_on(", "spawn_blocking("];
                let line = line.trim_start();
                let is_code = !line.starts_with("//") && !line.contains("fn spawn");
                is_code && calls.iter().any(|call| line.contains(call))
            };
            let text = fs::read_to_string(&path).unwrap();
            let count = text.lines().filter(is_spawn).count();
            let name = path.strip_prefix(root).unwrap().display().to_string();
            if count > 0 {
                found.insert(name, count);
            }
        }
    }
}

#[test]
fn nothing_is_spawned_beside_what_the_test_above_kills() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
    let mut found = BTreeMap::new();
    spawns(&root, &root, &mut found);

    let known = SPAWNS.iter();
    let mut known: BTreeMap<_, _> = known
        .map(|(file, count, _)| ((*file).to_owned(), *count))
        .collect();
    // A reconcile: its panic is in the plan.
    known.insert("plan.rs".to_owned(), 1);
    assert_eq!(found, known, "kill the new one in the test above");
}
