// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Reviews on a new connection each, while the certificate is renewed again and again.

use std::io;
use std::sync::mpsc::{Sender, channel};
use std::thread::{scope, sleep};
use std::time::{Duration, Instant};

use kbr_testing::TestEnv;
use rustls::pki_types::CertificateDer;

use super::client::{Client, MUTATE, VALIDATE};

/// From one renewal to the next, at least.
pub const PERIOD: Duration = Duration::from_secs(2);

/// From one review to the next: 200 a second, on a machine that can do that.
const PAUSE: Duration = Duration::from_millis(5);

/// How many reviews can be under way at once.
const WORKERS: u32 = 8;

/// The outcomes of the reviews, and of each renewal.
#[derive(Default)]
pub struct Renewals {
    pub reviews: u32,
    pub failures: Vec<io::Error>,
    /// How long it took until a new connection had the new certificate.
    pub served: Vec<Option<Duration>>,
}

/// Renews the certificate `often` times, and waits for each no longer than `patience`.
pub fn renew(env: &TestEnv, often: u32, patience: Duration) -> io::Result<Renewals> {
    let client = Client::of(env)?;
    let mut seen = Renewals::default();
    scope(|scope| {
        // The workers end when the receiver is dropped.
        let (sender, reviews) = channel();
        let begin = Instant::now();
        for (worker, path) in (0..WORKERS).zip([MUTATE, VALIDATE].into_iter().cycle()) {
            let (client, sender) = (&client, sender.clone());
            scope.spawn(move || send_each(client, path, begin + PAUSE * worker, &sender));
        }
        for _ in 0..often {
            let start = Instant::now();
            env.renew_webhook_certificate().map_err(io::Error::other)?;
            let renewed = client.certificate()?;
            let mut served = None;
            let left = |served: Option<_>| {
                let end = served.map_or(patience, |_| PERIOD);
                end.checked_sub(start.elapsed())
            };
            while let Some(left) = left(served) {
                let Ok(review) = reviews.recv_timeout(left) else {
                    continue;
                };
                seen.reviews += 1;
                match review {
                    Ok(certificate) if certificate == renewed => {
                        served.get_or_insert_with(|| start.elapsed());
                    }
                    Ok(_) => {}
                    Err(failure) => seen.failures.push(failure),
                }
            }
            seen.served.push(served);
        }
        Ok(seen)
    })
}

/// Sends a review each time it is this worker's turn, and reports which certificate was served.
fn send_each(
    client: &Client,
    path: &str,
    mut turn: Instant,
    sender: &Sender<io::Result<CertificateDer<'static>>>,
) {
    let send = || {
        let mut connection = client.connect()?;
        connection.review(path)?;
        let certificate = connection.certificate().cloned();
        certificate.ok_or_else(|| io::Error::other("served no certificate"))
    };
    loop {
        sleep(turn.saturating_duration_since(Instant::now()));
        if sender.send(send()).is_err() {
            return;
        }
        turn += PAUSE * WORKERS;
    }
}
