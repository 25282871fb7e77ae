// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Whether the webhooks answer good reviews during all kinds of attacks, and with how much memory.

use std::io::{self, BufRead, Write};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::client::{Client, Connection, MUTATE, REVIEW, VALIDATE, head};
use crate::process::Process;
use crate::{Result, cluster};

/// How long each attack takes.
const DURATION: Duration = Duration::from_secs(8);

/// From one good review to the next.
const PAUSE: Duration = Duration::from_millis(50);

/// A good review must be answered within this time during an attack.
const PROMISE: Duration = Duration::from_secs(1);

/// The memory limit of the Deployment, in megabytes: 128 MiB.
const LIMIT: f64 = 134.2;

/// How long a binary has until its webhooks respond.
const START: Duration = Duration::from_secs(30);

/// The size of a large review in bytes.
const LARGE: usize = 16 << 20;

/// Repeated as often as possible until the given time. A closed connection ends only one attempt.
type Attack = fn(&Client, Instant) -> io::Result<()>;

/// The attacks, with the number of threads that each runs in.
const ATTACKS: [(&str, u32, Attack); 9] = [
    ("nothing else", 1, rest),
    ("1,500 idle connections", 1, idle),
    ("heads that do not end", 1, half_heads),
    ("bad and half TLS", 4, bad_tls),
    ("slow writers", 50, slow_write),
    ("slow readers", 30, slow_read),
    ("16 MiB bodies", 4, large),
    ("2 MiB of tiny objects", 4, tiny),
    ("all of it", 1, all),
];

/// Floods each binary, and prints the outcomes of the good reviews.
///
/// Fails if a good review was not answered in time, or if a binary used too much memory.
pub fn flood(binaries: &[PathBuf]) -> Result<()> {
    let mut failures = Vec::new();
    for binary in binaries {
        println!("{}", binary.display());
        println!(
            "{:>9}{:>9}{:>11}{:>11}",
            "answered", "failed", "worst ms", "peak MB"
        );
        failures.extend(flood_one(binary)?);
    }
    match failures.is_empty() {
        true => Ok(()),
        false => Err(failures.join("\n").into()),
    }
}

fn flood_one(binary: &Path) -> Result<Vec<String>> {
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
    let mut failures = Vec::new();
    for (name, threads, attack) in ATTACKS {
        process.forget_peak()?;
        let good = beside(&client, threads, attack);
        process.check()?;
        let peak = process.usage()?.peak_megabytes;
        let Good {
            answered,
            worst,
            failed,
        } = good;
        let ms = worst.as_secs_f64() * 1e3;
        println!(
            "{answered:>9}{:>9}{ms:>11.1}{peak:>11.1}  {name}",
            failed.len()
        );
        if let Some(failure) = failed.first() {
            failures.push(format!("{name}: a good review failed: {failure}"));
        }
        if worst > PROMISE {
            failures.push(format!("{name}: a good review took {worst:.1?}"));
        }
        if peak > LIMIT {
            failures.push(format!(
                "{name}: used {peak:.0} MB, but only {LIMIT:.0} MB are allowed"
            ));
        }
    }
    Ok(failures)
}

/// The outcomes of the good reviews.
#[derive(Default)]
struct Good {
    answered: u32,
    worst: Duration,
    failed: Vec<io::Error>,
}

/// Sends good reviews while `attack` runs.
fn beside(client: &Client, threads: u32, attack: Attack) -> Good {
    let until = Instant::now() + DURATION;
    scope(|scope| {
        for _ in 0..threads {
            scope.spawn(move || {
                while Instant::now() < until {
                    if attack(client, until).is_err() {
                        sleep(Duration::from_millis(1));
                    }
                }
            });
        }
        send_good(client, until)
    })
}

/// Every other review has its own connection; the others share one, as those of an API server do.
fn send_good(client: &Client, until: Instant) -> Good {
    let mut good = Good::default();
    let mut shared: Option<Connection> = None;
    let mut turn = Instant::now();
    for path in [MUTATE, VALIDATE, VALIDATE, MUTATE].into_iter().cycle() {
        if turn > until {
            break;
        }
        sleep(turn.saturating_duration_since(Instant::now()));
        let begun = Instant::now();
        let review = |connection: Option<Connection>| {
            let mut connection = match connection {
                Some(connection) => connection,
                None => client.connect()?,
            };
            connection.review(path)?;
            Ok(connection)
        };
        let kept = shared.take();
        let is_new = kept.is_none();
        match review(kept) {
            Ok(connection) => {
                good.answered += 1;
                good.worst = good.worst.max(begun.elapsed());
                shared = is_new.then_some(connection);
            }
            Err(error) => good.failed.push(error),
        }
        turn += PAUSE;
    }
    good
}

fn rest(_: &Client, until: Instant) -> io::Result<()> {
    sleep(until.saturating_duration_since(Instant::now()));
    Ok(())
}

/// Opens more connections than a server may have.
fn idle(client: &Client, until: Instant) -> io::Result<()> {
    let silent = (0..500).map(|_| client.tcp());
    let silent = silent.collect::<io::Result<Vec<_>>>();
    let idle = (0..1000).map(|_| client.connect());
    let idle = idle.collect::<io::Result<Vec<_>>>();
    sleep(until.saturating_duration_since(Instant::now()));
    drop((silent?, idle?));
    Ok(())
}

fn half_heads(client: &Client, until: Instant) -> io::Result<()> {
    let mut open = Vec::new();
    while Instant::now() < until && open.len() < 1500 {
        let mut connection = client.connect()?;
        connection.write(format!("POST {MUTATE} HTTP/1.1\r\nA: ").as_bytes())?;
        connection.write(&[b'a'; 12 << 10])?;
        open.push(connection);
    }
    Ok(())
}

fn bad_tls(client: &Client, _: Instant) -> io::Result<()> {
    let mut garbage = client.tcp()?;
    garbage.write_all(b"POST / HTTP/1.1\r\n\r\n")?;
    // The first bytes of a `ClientHello`.
    let half = |_| -> io::Result<TcpStream> {
        let mut stream = client.tcp()?;
        stream.write_all(&[22, 3, 1, 2, 0, 1, 0, 1])?;
        Ok(stream)
    };
    (0..10).map(half).collect::<io::Result<Vec<_>>>().map(drop)
}

/// Announces a large body, and sends it slowly.
fn slow_write(client: &Client, until: Instant) -> io::Result<()> {
    let mut connection = client.connect()?;
    connection.write(head(MUTATE, LARGE / 2).as_bytes())?;
    while Instant::now() < until {
        connection.write(b" ")?;
        sleep(Duration::from_millis(100));
    }
    Ok(())
}

/// Sends a schedule that the response repeats in full, and does not read the response.
fn slow_read(client: &Client, until: Instant) -> io::Result<()> {
    let mut review: Value = serde_json::from_str(REVIEW)?;
    review["request"]["object"]["spec"]["schedule"] = "*".repeat(LARGE / 4).into();
    let review = serde_json::to_vec(&review)?;
    let mut connection = client.connect()?;
    connection.write(head(VALIDATE, review.len()).as_bytes())?;
    connection.write(&review)?;
    sleep(
        until
            .saturating_duration_since(Instant::now())
            .min(DURATION / 4),
    );
    Ok(())
}

/// The larger of the two is rejected.
fn large(client: &Client, _: Instant) -> io::Result<()> {
    for length in [LARGE, LARGE / 2] {
        let mut review = REVIEW.as_bytes().to_vec();
        review.resize(length, b' ');
        send(client, MUTATE, &review)?;
    }
    Ok(())
}

fn tiny(client: &Client, _: Instant) -> io::Result<()> {
    let list = format!("[{}{{}}]", r#"{"":0},"#.repeat((2 << 20) / 7));
    let object = REVIEW.replacen(r#""object":{"#, &format!(r#""object":{{"a":{list},"#), 1);
    send(client, MUTATE, object.as_bytes())?;
    let containers = format!(
        "[{}{{\"name\":\"\"}}]",
        r#"{"name":""},"#.repeat((2 << 20) / 12)
    );
    let object = REVIEW.replace(
        r#""containers":["#,
        &format!(r#""initContainers":{containers},"containers":["#),
    );
    send(client, MUTATE, object.as_bytes())?;
    let review = format!(r#"{{"request":{{"objects":{list}}}}}"#);
    send(client, "/convert", review.as_bytes())
}

/// Sends a review, and waits for any response.
fn send(client: &Client, path: &str, review: &[u8]) -> io::Result<()> {
    let mut connection = client.connect()?;
    connection.write(head(path, review.len()).as_bytes())?;
    connection.write(review)?;
    // Waits for the first byte of the response.
    connection.0.fill_buf().map(drop)
}

fn all(client: &Client, until: Instant) -> io::Result<()> {
    scope(|scope| {
        for (_, threads, attack) in &ATTACKS[1..ATTACKS.len() - 1] {
            for _ in 0..*threads {
                scope.spawn(move || {
                    while Instant::now() < until {
                        if attack(client, until).is_err() {
                            sleep(Duration::from_millis(1));
                        }
                    }
                });
            }
        }
    });
    Ok(())
}
