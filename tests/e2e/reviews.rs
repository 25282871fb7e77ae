//! Objects that are created without being stored, at a constant rate, so that the API server calls webhooks.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{JoinHandle, sleep, spawn};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::cluster::Cluster;

/// Where CronJobs are created.
pub const CRONJOBS: &str = "/apis/batch.tutorial.kubebuilder.io/v1/namespaces/default/cronjobs";

/// Reviews in a second.
const RATE: u32 = 200;

/// Clients, each with a connection of its own.
const CLIENTS: u32 = 8;

/// A review that failed: when, and how.
pub type Failure = (Instant, String);

/// Reviews that are going on.
pub struct Reviews {
    stop: Arc<AtomicBool>,
    clients: Vec<JoinHandle<(usize, Vec<Failure>)>>,
    /// `kubectl proxy`, which has the credentials.
    proxy: Child,
}

impl Reviews {
    /// Posts `object` to `path`, such as `/apis/apps/v1/namespaces/default/deployments`.
    pub fn start(cluster: &Cluster, path: &str, object: &Value) -> Self {
        let mut proxy = cluster.command("kubectl");
        let mut proxy = proxy
            .args(["proxy", "--port=0"])
            .stdout(Stdio::piped())
            .spawn()
            .expect("kubectl runs");
        let mut line = String::new();
        let mut stdout = BufReader::new(proxy.stdout.take().expect("a pipe"));
        stdout.read_line(&mut line).expect("kubectl says its port");
        let address = line.trim().rsplit(' ').next().expect("an address");
        let url = format!("http://{address}{path}?dryRun=All");
        let stop = Arc::new(AtomicBool::new(false));
        let clients = (0..CLIENTS).map(|number| {
            let (stop, url, object) = (stop.clone(), url.clone(), object.clone());
            spawn(move || post(&stop, number, &url, object))
        });
        let clients = clients.collect();
        Self {
            stop,
            clients,
            proxy,
        }
    }

    /// Stops, and returns how many were answered, and which failed.
    pub fn end(mut self) -> (usize, Vec<Failure>) {
        self.stop.store(true, Ordering::Relaxed);
        let (mut answered, mut failures) = (0, Vec::new());
        for client in self.clients.drain(..) {
            let (more, failed) = client.join().expect("a client ends");
            answered += more;
            failures.extend(failed);
        }
        println!(
            "    {answered} reviews were answered, {} failed",
            failures.len()
        );
        failures.sort();
        (answered, failures)
    }
}

/// Also when a test fails.
impl Drop for Reviews {
    fn drop(&mut self) {
        self.stop.store(true, Ordering::Relaxed);
        let _ = self.proxy.kill();
        let _ = self.proxy.wait();
    }
}

fn post(stop: &AtomicBool, client: u32, url: &str, mut object: Value) -> (usize, Vec<Failure>) {
    let agent: ureq::Agent = ureq::Agent::config_builder()
        .http_status_as_error(false)
        .timeout_global(Some(Duration::from_secs(30)))
        .build()
        .into();
    let (mut answered, mut failures) = (0, Vec::new());
    let begin = Instant::now() + Duration::from_secs(1) * client / RATE;
    for number in 0_u32.. {
        let due = begin + Duration::from_secs(1) * CLIENTS * number / RATE;
        sleep(due.saturating_duration_since(Instant::now()));
        if stop.load(Ordering::Relaxed) {
            break;
        }
        object["metadata"]["name"] = format!("review-{client}-{number}").into();
        let sent = agent
            .post(url)
            .content_type("application/json")
            .send(object.to_string());
        let failure = match sent {
            Ok(response) if response.status() == 201 => None,
            Ok(mut response) => Some(response.body_mut().read_to_string().unwrap_or_default()),
            Err(error) => Some(error.to_string()),
        };
        match failure {
            None => answered += 1,
            Some(failure) => failures.push((Instant::now(), failure)),
        }
    }
    (answered, failures)
}

/// Ends the reviews: more than `least` were answered, and none has failed.
#[track_caller]
pub fn none_failed(reviews: Reviews, least: usize) {
    let (answered, failures) = reviews.end();
    assert!(answered > least, "{answered} reviews were answered");
    let first = failures.first().map(|(_, failure)| failure);
    assert!(
        failures.is_empty(),
        "{} failed, the first: {first:?}",
        failures.len()
    );
}
