// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! An operator whose watches are held up: its cache is stale when a run is due.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use api::v1::CronJob;
use jiff::SignedDuration;
use kbr_testing::TestEnv;
use kube::ResourceExt;
use kube::api::{DeleteParams, Patch, PatchParams};
use serde_json::json;
use tokio::time::sleep;

use crate::interruptions::{Operator, PATIENCE, without_operator};
use crate::support::World;

/// A proxy to the API server that can hold up watches. `kubectl proxy` handles TLS.
struct Proxy {
    kubectl: Child,
    kubeconfig: PathBuf,
    holds_watches: Arc<AtomicBool>,
}

impl Proxy {
    fn open(world: &World<'_>) -> Self {
        let mut kubectl = world
            .env
            .kubectl()
            .env("KUBECONFIG", world.env.manager_kubeconfig())
            .args(["proxy", "--port=0"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut line = String::new();
        let output = kubectl.stdout.take().unwrap();
        BufReader::new(output).read_line(&mut line).unwrap();
        // Starting to serve on 127.0.0.1:12345
        let server: SocketAddr = line.split_whitespace().last().unwrap().parse().unwrap();

        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "it", "cluster": {
                "server": format!("http://{}", listener.local_addr().unwrap()),
            } }],
            "contexts": [{ "name": "it", "context": { "cluster": "it", "user": "it" } }],
            "users": [{ "name": "it", "user": {} }],
            "current-context": "it",
        });
        let file = world.env.logs().join(format!("{}.json", world.namespace));
        std::fs::write(&file, kubeconfig.to_string()).unwrap();
        let holds_watches = Arc::new(AtomicBool::new(false));
        let holds = holds_watches.clone();
        thread::spawn(move || {
            for client in listener.incoming().map_while(Result::ok) {
                let Ok(server) = TcpStream::connect(server) else {
                    return;
                };
                pass(&client, &server, &holds);
            }
        });
        Self {
            kubectl,
            kubeconfig: file,
            holds_watches,
        }
    }

    fn hold_watches(&self, hold: bool) {
        self.holds_watches.store(hold, Ordering::SeqCst);
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        let _ = self.kubectl.kill();
        let _ = self.kubectl.wait();
    }
}

/// Forwards both directions, except the responses to a watch while watches are held up.
fn pass(client: &TcpStream, server: &TcpStream, holds_watches: &Arc<AtomicBool>) {
    let is_watch = Arc::new(AtomicBool::new(false));
    let requested = is_watch.clone();
    copy(client, server, move |bytes| {
        let request = String::from_utf8_lossy(bytes);
        if request.contains("watch=true") {
            requested.store(true, Ordering::SeqCst);
        }
    });
    let holds_watches = holds_watches.clone();
    copy(server, client, move |_| {
        while is_watch.load(Ordering::SeqCst) && holds_watches.load(Ordering::SeqCst) {
            thread::sleep(Duration::from_millis(10));
        }
    });
}

fn copy(from: &TcpStream, to: &TcpStream, before: impl Fn(&[u8]) + Send + 'static) {
    let (mut from, mut to) = (from.try_clone().unwrap(), to.try_clone().unwrap());
    thread::spawn(move || {
        let mut bytes = [0; 65536];
        while let Ok(length @ 1..) = from.read(&mut bytes) {
            before(&bytes[..length]);
            if to.write_all(&bytes[..length]).is_err() {
                break;
            }
        }
        let _ = to.shutdown(Shutdown::Both);
    });
}

/// How often the operator has read a CronJob, which it does before it starts a run.
fn reads(env: &TestEnv, world: &World<'_>, name: &str) -> usize {
    let mut requests = env.requests();
    requests.retain(|request| {
        (request.verb.as_str(), request.resource.as_str()) == ("get", "cronjobs")
            && request.namespace.as_deref() == Some(&world.namespace)
            && request.name.as_deref() == Some(name)
    });
    requests.len()
}

async fn wait_until(is_so: impl AsyncFn() -> bool) {
    let start = Instant::now();
    while !is_so().await {
        assert!(start.elapsed() < PATIENCE, "timed out");
        sleep(Duration::from_millis(100)).await;
    }
}

async fn set_last_run(world: &World<'_>, cronjob: &CronJob, seconds: i64) {
    let run = cronjob.creation_timestamp().unwrap().0 + SignedDuration::from_secs(seconds);
    let status = Patch::Merge(json!({ "status": { "lastScheduleTime": run } }));
    let params = PatchParams::default();
    world
        .cronjobs
        .patch_status(&cronjob.name_any(), &params, &status)
        .await
        .unwrap();
}

#[tokio::test]
async fn nothing_starts_from_a_stale_cache() {
    let env = without_operator();
    let world = World::new(&env).await;
    let proxy = Proxy::open(&world);
    let _operator = Operator::start_with(&world, &proxy.kubeconfig);
    let names = ["started", "deleted", "recreated", "suspended"];
    for name in names {
        world.add(name, "@every 20s", json!({})).await.unwrap();
    }
    for name in names {
        world.wait(name, |cronjob| cronjob.status.is_some()).await;
    }
    // Its own writes are the last changes that it sees.
    sleep(Duration::from_secs(2)).await;
    proxy.hold_watches(true);

    // Another operator has started the run, and somebody has deleted the Job.
    let started = world.cronjobs.get("started").await.unwrap();
    set_last_run(&world, &started, 20).await;
    for name in ["deleted", "recreated"] {
        let now = DeleteParams::default();
        world.cronjobs.delete(name, &now).await.unwrap();
    }
    world.add("recreated", "@yearly", json!({})).await.unwrap();
    world.change("suspended", json!({ "suspend": true })).await;
    assert_eq!(world.job_names().await, Vec::<String>::new(), "too late");

    for name in names {
        wait_until(async || reads(&env, &world, name) >= 2).await;
    }
    assert_eq!(world.job_names().await, Vec::<String>::new());

    proxy.hold_watches(false);
    wait_until(async || !world.job_names().await.is_empty()).await;
    let run = started.creation_timestamp().unwrap().0 + SignedDuration::from_secs(40);
    let first = format!("started-{}", run.as_second());
    assert_eq!(world.job_names().await, [first]);
}
