// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Measures this operator, and others of the same resource beside it, on this machine alone.
//!
//! Each binary gets an API server of its own twice: with one CronJob, and with many. All are due
//! when it starts, and no Job ever runs. It has its defaults, and a ServiceAccount that may do
//! everything. The figures come from Linux' `/proc`; whatever else runs meanwhile distorts them.

mod cluster;
mod process;

use std::array;
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use clap::Parser;

use cluster::{Answers, Cluster};
use process::{Process, Usage};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// How long a binary with nothing left to do is given to settle.
const SETTLE: Duration = Duration::from_secs(5);

/// Of eleven letters each. MB are millions of bytes.
const COLUMNS: &str =
    "first Job s    idle MB      all s      CPU s     end MB    peak MB  binary MB";

/// Measures operators of CronJobs, each on an API server of its own.
#[derive(Parser)]
struct Args {
    /// How many CronJobs are due at once.
    #[arg(long, value_name = "N", default_value_t = 1000)]
    cronjobs: u32,

    /// Operators that take --kubeconfig and --health-probe-bind-address; each is compared with the
    /// first.
    #[arg(required = true, value_name = "BINARY")]
    binaries: Vec<PathBuf>,
}

#[tokio::main]
async fn main() -> ExitCode {
    match compare(Args::parse()).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

async fn compare(Args { cronjobs, binaries }: Args) -> Result<()> {
    let mut rows = Vec::new();
    for (binary, name) in binaries.iter().map(|binary| (binary, binary.display())) {
        // Read as a whole, so that no start waits for the disk.
        let size = std::fs::read(binary).map_err(|error| format!("{name}: {error}"))?;
        eprintln!("{name}: with 1 CronJob, then with {cronjobs}");
        let one = measure(binary, 1).await?;
        let many = measure(binary, cronjobs).await?;
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

    println!("{COLUMNS}  binary");
    for (name, values, _) in &rows {
        let cells = values.map(|value| format!("{value:>11.2}"));
        println!("{}  {name}", cells.concat());
    }
    for (name, values, _) in rows.iter().skip(1) {
        let ratio = |column| format!("{:>10.2}x", values[column] / rows[0].1[column]);
        let cells: [String; 7] = array::from_fn(ratio);
        println!("{}  {name}", cells.concat());
    }
    for (name, _, answers) in rows {
        println!("\nAnswers of the API server for each CronJob of {name}:");
        for (what, number) in answers {
            println!("{:>11.3}  {what}", number / f64::from(cronjobs));
        }
    }
    Ok(())
}

/// What it took until each CronJob had its Job and a status that tells of it.
struct Run {
    first_job: Duration,
    all: Duration,
    end: Usage,
    /// A while later.
    idle: Usage,
    answers: Answers,
}

/// Runs `binary` on an API server of its own, with that many CronJobs that are due.
async fn measure(binary: &Path, cronjobs: u32) -> Result<Run> {
    let cluster = Cluster::with_due(cronjobs).await?;
    let before = cluster.answers()?;
    let mut process = Process::start(binary, &cluster.env)?;
    let first_job = cluster.served(1, 0, &mut process).await?;
    let all = cluster.served(cronjobs, cronjobs, &mut process).await?;
    let end = process.usage()?;
    let mut answers = cluster.answers()?;
    answers.retain(|what, number| {
        *number -= before.get(what).unwrap_or(&0.0);
        *number > 0.0
    });
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
