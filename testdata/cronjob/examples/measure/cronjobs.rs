// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The cost of CronJobs that are all due at once.
//!
//! Each binary runs twice, each time on its own API server: with one CronJob, and with many. All are
//! due when it starts, and no Job ever runs. Then clients that do nothing else send the same requests.

use std::time::Duration;

use crate::cluster::{Answers, Cluster, answers, since};
use crate::process::{Subject, Usage};
use crate::table::{print, print_answers};
use crate::{Result, bare};

/// What operators of CronJobs write. The API server itself never requests them.
const RESOURCES: [&str; 3] = ["cronjobs", "events", "jobs"];

/// How long a binary with nothing left to do has to settle.
const SETTLE: Duration = Duration::from_secs(5);

/// MB are millions of bytes.
const COLUMNS: [&str; 7] = [
    "first Job s",
    "idle MB",
    "all s",
    "CPU s",
    "end MB",
    "peak MB",
    "binary MB",
];

/// Measures each binary and prints the results.
pub async fn compare(cronjobs: u32, clients: &[u16], subjects: &[Subject]) -> Result<()> {
    let mut rows = Vec::new();
    for subject in subjects {
        let name = &subject.name;
        // Read as a whole, so that no start waits for the disk.
        let size = std::fs::read(&subject.binary).map_err(|error| format!("{name}: {error}"))?;
        eprintln!("{name}: with 1 CronJob, then with {cronjobs}");
        let one = measure(subject, 1).await?;
        let many = measure(subject, cronjobs).await?;
        let values = [
            one.first_job.as_secs_f64(),
            one.idle.megabytes,
            many.all.as_secs_f64(),
            many.end.cpu.as_secs_f64(),
            many.end.megabytes,
            many.end.peak_megabytes,
            size.len() as f64 / 1e6,
        ];
        rows.push((name, values, many.answers));
    }

    print(COLUMNS, rows.iter().map(|(name, values, _)| (name, values)));
    for (name, _, answers) in rows {
        print_answers(&format!("each CronJob of {name}"), &answers, cronjobs);
    }
    println!("\nThe requests of one start for each CronJob, without an operator:");
    for &clients in clients {
        let seconds = bare::measure(cronjobs, clients).await?.as_secs_f64();
        println!("{seconds:>11.2} s, clients: {clients}");
    }
    Ok(())
}

/// The cost until each CronJob had its Job and a status that reports it.
struct Run {
    first_job: Duration,
    all: Duration,
    end: Usage,
    /// A while later.
    idle: Usage,
    answers: Answers,
}

/// Runs an operator on its own API server, with `cronjobs` CronJobs that are due.
async fn measure(subject: &Subject, cronjobs: u32) -> Result<Run> {
    let cluster = Cluster::with_due(cronjobs).await?;
    let before = answers(&cluster.env, &RESOURCES)?;
    let mut process = subject.start(&cluster.env, &[])?;
    let first_job = cluster.served(1, 0, &mut process).await?;
    let all = cluster.served(cronjobs, cronjobs, &mut process).await?;
    let end = process.usage()?;
    let answers = since(&before, answers(&cluster.env, &RESOURCES)?);
    tokio::time::sleep(SETTLE).await;
    let idle = process.usage()?;
    drop(process);
    cluster.stop();
    Ok(Run {
        first_job,
        all,
        end,
        idle,
        answers,
    })
}
