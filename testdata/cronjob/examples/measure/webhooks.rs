// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The cost of admission reviews, and whether a renewed certificate disturbs them.

use std::io;
use std::path::{Path, PathBuf};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use crate::client::{Client, Connection, MUTATE, VALIDATE};
use crate::process::Process;
use crate::renewals::{self, PERIOD, Renewals};
use crate::table::print;
use crate::{Result, cluster};

/// The number of connections. On each, the next review is sent when the last one is answered.
const CONNECTIONS: u32 = 8;

const RENEWALS: u32 = 15;

/// How soon a renewed certificate should be served.
const PROMISE: Duration = Duration::from_secs(1);

/// How long a binary has until its webhooks respond.
const START: Duration = Duration::from_secs(30);

const COLUMNS: [&str; 4] = ["CPU µs", "p50 ms", "p99 ms", "a second"];

/// Measures each binary and prints the cost of its reviews.
pub fn compare(reviews: u32, binaries: &[PathBuf]) -> Result<()> {
    let mut runs = Vec::new();
    for binary in binaries {
        let name = binary.display();
        let seconds = RENEWALS * PERIOD.as_secs() as u32;
        eprintln!("{name}: {reviews} reviews of each webhook, then {seconds} s of new connections");
        runs.push((name, measure(binary, reviews)?));
    }
    println!("Mutating reviews on {CONNECTIONS} connections:");
    let rows = runs.iter().map(|(name, run)| (name, &run.mutating));
    print(COLUMNS, rows);
    println!("\nValidating reviews:");
    let rows = runs.iter().map(|(name, run)| (name, &run.validating));
    print(COLUMNS, rows);
    println!("\nReviews on a new connection each, while the certificate is renewed:");
    for (name, run) in &runs {
        println!("{name}: {}", describe(&run.renewals));
    }
    Ok(())
}

struct Run {
    mutating: [f64; 4],
    validating: [f64; 4],
    renewals: Renewals,
}

fn measure(binary: &Path, reviews: u32) -> Result<Run> {
    let env = cluster::start(cluster::builder())?;
    let mut process = Process::start(binary, &env)?;
    let client = Client::of(&env)?;
    while let Err(error) = client.connect() {
        process.check()?;
        if process.started.elapsed() > START {
            return Err(process.error(&format!("does not serve webhooks: {error}")));
        }
        sleep(Duration::from_millis(100));
    }
    let run = || -> Result<Run> {
        let connections = (0..CONNECTIONS).map(|_| client.connect());
        let mut connections = connections.collect::<io::Result<Vec<_>>>()?;
        Ok(Run {
            mutating: saturate(&mut connections, MUTATE, reviews, &process)?,
            validating: saturate(&mut connections, VALIDATE, reviews, &process)?,
            renewals: renewals::renew(&env, RENEWALS, PERIOD)?,
        })
    };
    run().map_err(|error| process.error(&error.to_string()))
}

/// Sends reviews as fast as they are answered, after some for warming up.
fn saturate(
    connections: &mut [Connection],
    path: &str,
    reviews: u32,
    process: &Process,
) -> Result<[f64; 4]> {
    send(connections, path, reviews / 10)?;
    let (cpu, start) = (process.usage()?.cpu, Instant::now());
    let mut latencies = send(connections, path, reviews)?;
    let (cpu, elapsed) = (process.usage()?.cpu - cpu, start.elapsed());
    latencies.sort_unstable();
    let count = latencies.len();
    let percentile = |percent| {
        let latency = latencies.get(count * percent / 100);
        latency.map_or(f64::NAN, |latency: &Duration| latency.as_secs_f64() * 1e3)
    };
    Ok([
        cpu.as_secs_f64() * 1e6 / count as f64,
        percentile(50),
        percentile(99),
        count as f64 / elapsed.as_secs_f64(),
    ])
}

/// Distributes reviews among connections, and returns how long each took.
fn send(connections: &mut [Connection], path: &str, reviews: u32) -> io::Result<Vec<Duration>> {
    let each = reviews.div_ceil(CONNECTIONS);
    let send = |connection: &mut Connection| -> io::Result<Vec<Duration>> {
        let review = |_| {
            let start = Instant::now();
            connection.review(path)?;
            Ok(start.elapsed())
        };
        (0..each).map(review).collect()
    };
    scope(|scope| {
        let threads: Vec<_> = connections
            .iter_mut()
            .map(|connection| scope.spawn(move || send(connection)))
            .collect();
        let mut latencies = Vec::new();
        for thread in threads {
            let sent = thread.join();
            latencies.extend(sent.map_err(|_| io::Error::other("a thread panicked"))??);
        }
        Ok(latencies)
    })
}

fn describe(renewals: &Renewals) -> String {
    let Renewals {
        reviews,
        failures,
        served,
    } = renewals;
    let rate = f64::from(*reviews) / (PERIOD * served.len() as u32).as_secs_f64();
    let in_time = served.iter().flatten().filter(|time| **time <= PROMISE);
    let never = served.iter().filter(|time| time.is_none()).count();
    let longest = served.iter().flatten().max().copied().unwrap_or_default();
    let mut text = format!(
        "{reviews} reviews, {rate:.0} a second, {} failures; of {} certificates {} were served \
         within {PROMISE:?} and {never} never, the slowest after {:.2} s",
        failures.len(),
        served.len(),
        in_time.count(),
        longest.as_secs_f64(),
    );
    if let Some(failure) = failures.first() {
        text += &format!("; the first failure: {failure}");
    }
    text
}
