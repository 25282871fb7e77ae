// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Runs the operator's binary against a real API server and Kubernetes' own Job controller, injects
//! faults that are chosen by a seed, and compares the Jobs that were created with those that should
//! have been.
//!
//! Each fault is followed by a calm period. Each run that is due then must have its Job, and so must
//! each run that is due during the fault, unless the fault excuses it. [`judge`] and [`record`] define
//! what must be true, and [`faults`] what happens.

mod clock;
mod faults;
mod judge;
mod kubelet;
mod operators;
mod random;
mod record;
mod schedules;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, ValueEnum};
use jiff::{SignedDuration, Timestamp};
use kbr_testing::{FaultProxy, TestEnv};

use faults::{Fault, Kind, World};
use judge::{Judge, LATE};
use operators::Operators;
use random::Random;
use record::{Record, now};

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// Kubernetes' own controllers that Jobs need.
const CONTROLLERS: [&str; 2] = ["job-controller", "garbage-collector-controller"];

/// So frequent that now and then a watch cannot resume because its resource version is too old.
const COMPACTION: &str = "--etcd-compaction-interval=10s";

/// How many seconds an operator has to start before the first run counts.
const START: i64 = 15;

/// Seconds from the end of a fault until statuses are checked, at least.
const STATUSES: u64 = 40;

/// After a violation the operator is restarted, and the runs of this many seconds before are excused.
const RESTART: i64 = 60;

/// Seconds until an operator must have seen a change to an object.
const TOLD: i64 = 5;

/// How many violations are printed for one fault.
const PRINTED: usize = 8;

/// Injects faults into the environment of an operator of CronJobs.
#[derive(Parser)]
struct Args {
    /// Chooses the faults. Defaults to the current time.
    #[arg(long, value_name = "NUMBER")]
    seed: Option<u64>,

    /// For how long faults are injected, such as 3m or 8h.
    #[arg(long, value_name = "DURATION", default_value = "3m")]
    duration: SignedDuration,

    /// How long a fault may last. Some have to last longer to have an effect.
    #[arg(long, value_name = "SECONDS", default_value_t = 60)]
    longest: u64,

    /// How many faults may happen at once.
    #[arg(long, value_name = "NUMBER", default_value_t = 2)]
    at_once: u64,

    /// How long to wait after a fault and the recovery from it, before the next one.
    #[arg(long, value_name = "SECONDS", default_value_t = 30)]
    peace: u64,

    /// Inject only these faults.
    #[arg(long = "fault", value_name = "KIND", value_delimiter = ',')]
    kinds: Vec<Kind>,

    /// The binary of the operator.
    binary: PathBuf,
}

#[tokio::main]
async fn main() -> ExitCode {
    match soak(Args::parse()).await {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

/// A line of the report: faults that happened at the same time, and their result.
struct Row {
    begin: i64,
    fault: String,
    violations: usize,
}

/// Returns whether there were no violations.
async fn soak(args: Args) -> Result<bool> {
    let seed = args
        .seed
        .unwrap_or_else(|| Timestamp::now().as_microsecond().unsigned_abs());
    println!("seed {seed}: repeat with `--seed {seed}`");
    let mut random = Random::new(seed);

    // With half of the seeds, the API server has no watch cache to resume watches from.
    let cache = format!("--watch-cache={}", random.one_in(2));
    println!("kube-apiserver {cache} {COMPACTION}");
    let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
        .without_webhooks()
        .kubernetes_controllers(&CONTROLLERS)
        .api_server_args(&[&cache, COMPACTION])
        .start()?;
    let logs = env.logs().to_owned();
    let clock = clock::Shift::prepare(&logs);
    let clock = clock
        .inspect_err(|error| println!("no wrong clocks: {error}"))
        .ok();
    let mut kinds = args.kinds;
    if kinds.is_empty() {
        kinds = Kind::value_variants().to_vec();
        kinds.retain(|kind| *kind != Kind::Clock || clock.is_some());
    }

    let faults = FaultProxy::start(&env)?;
    let kubeconfig = faults.kubeconfig(env.manager_kubeconfig())?;
    let environment = clock
        .as_ref()
        .map(clock::Shift::environment)
        .unwrap_or_default();
    let mut operators = Operators::new(
        &args.binary,
        kubeconfig,
        logs.join("operator.log"),
        environment,
    )?;
    println!("the operator logs to {}", operators.log.display());
    let namespaces = [env.namespace().await, env.namespace().await];
    schedules::take_any_port(&env.admin()).await?;
    let cronjobs = schedules::create(&env.admin(), &namespaces).await?;
    println!("{} CronJobs", cronjobs.len());
    let record = Record::default();
    tokio::spawn(record.clone().watch(env.admin(), cronjobs.clone()));
    tokio::spawn(kubelet::run_pods(env.admin()));
    operators.start()?;

    let mut judge = Judge::new(cronjobs.clone(), record.clone());
    let begin = now();
    judge.excuse(judge::Whom::All, 0, begin + START);
    let mut world = World::new(env, faults, operators, cronjobs, clock);
    let end = begin + args.duration.as_secs();
    let mut rows = vec![Row {
        begin: 0,
        fault: "none yet".to_owned(),
        violations: 0,
    }];
    // Without a fault there must be no violation, either.
    let violations = calm(&mut world, &mut judge, START as u64 + args.peace).await?;
    note(&mut rows, violations);
    let mut left = Vec::new();
    while now() < end {
        // Each kind has its turn before any is repeated.
        if left.is_empty() {
            left.clone_from(&kinds);
        }
        let most = random.between(1..=args.at_once.max(1));
        let faults = draw(&mut random, &mut left, most, args.longest);
        let names: Vec<String> = faults.iter().map(|fault| fault.describe(&world)).collect();
        begin_row(&mut rows, &mut judge, names.join(", "));
        let violations = suffer(&faults, args.peace, &mut world, &mut judge).await?;
        let is_wrong = !violations.is_empty();
        note(&mut rows, violations);
        if is_wrong {
            // So that the next fault is judged on its own.
            world.operators.kill()?;
            world.operators.start()?;
            judge.excuse(judge::Whom::All, now() - RESTART, now() + START);
            let violations = calm(&mut world, &mut judge, START as u64).await?;
            note(&mut rows, violations);
        }
    }
    // The runs that were due shortly before the end.
    let violations = calm(&mut world, &mut judge, LATE as u64 + 10).await?;
    note(&mut rows, violations);
    Ok(report(&rows, &judge, &world, seed))
}

/// Takes at most `most` kinds out of `left`, and returns faults of these that can happen together.
fn draw(random: &mut Random, left: &mut Vec<Kind>, most: u64, longest: u64) -> Vec<Fault> {
    let mut faults = Vec::<Fault>::new();
    for _ in 0..most.min(left.len() as u64) {
        let kind = left.swap_remove(random.between(0..=left.len() as u64 - 1) as usize);
        let fault = Fault::draw(random, kind, longest);
        if faults.iter().all(|other| other.goes_with(&fault)) {
            faults.push(fault);
        } else {
            left.push(kind);
        }
    }
    faults
}

/// Injects faults at the same time, and judges the calm period after them. Returns the violations.
async fn suffer(
    faults: &[Fault],
    peace: u64,
    world: &mut World,
    judge: &mut Judge,
) -> Result<Vec<String>> {
    let begin = now();
    // Nothing that a fault could excuse is judged meanwhile.
    let mut violations = faults::happen(faults, world).await?;
    let end = now();
    let mut recovery = STATUSES;
    for fault in faults {
        if let Some((whom, seconds)) = fault.excuses(world) {
            recovery = recovery.max(seconds.unsigned_abs());
            judge.excuse(whom, begin, end + seconds);
        }
        if fault.kind == Kind::UnreadableAtStart {
            judge.excuse(judge::Whom::All, begin, begin + START);
        }
        if let Some(ghost) = fault.ghost(world) {
            violations.extend(judge.ghosts(&ghost.namespace, &ghost.name, begin + TOLD, end));
        }
    }
    violations.extend(calm(world, judge, recovery).await?);
    for probe in ["/healthz", "/readyz"] {
        violations.extend(world.operators.probe(probe));
    }
    violations.extend(judge.check_statuses(&world.admin).await?);
    violations.extend(calm(world, judge, peace).await?);
    Ok(violations)
}

/// Lets time pass, and judges what was due meanwhile. Returns the violations.
async fn calm(world: &mut World, judge: &mut Judge, seconds: u64) -> Result<Vec<String>> {
    let mut violations = world.pass(seconds).await?;
    violations.extend(judge.judge());
    Ok(violations)
}

fn begin_row(rows: &mut Vec<Row>, judge: &mut Judge, fault: String) {
    let begin = now();
    judge.begin(begin);
    println!("{} {fault}", Timestamp::now().strftime("%H:%M:%S"));
    rows.push(Row {
        begin,
        fault,
        violations: 0,
    });
}

fn note(rows: &mut [Row], violations: Vec<String>) {
    if let Some(row) = rows.last_mut() {
        row.violations += violations.len();
    }
    let time = Timestamp::now().strftime("%H:%M:%S").to_string();
    for violation in violations.iter().take(PRINTED) {
        println!("{time}   VIOLATION: {violation}");
    }
    if violations.len() > PRINTED {
        println!("{time}   and {} more", violations.len() - PRINTED);
    }
}

/// Prints the report, and returns whether there were no violations.
fn report(rows: &[Row], judge: &Judge, world: &World, seed: u64) -> bool {
    println!("\n  due  in time  late  forbidden  missed  violations  fault");
    let line = |tally: judge::Tally, violations: usize, fault: &str| {
        let judge::Tally {
            due,
            in_time,
            late,
            skipped,
            missed,
        } = tally;
        println!("{due:>5}{in_time:>9}{late:>6}{skipped:>11}{missed:>8}{violations:>12}  {fault}");
    };
    for row in rows {
        line(judge.tally(row.begin), row.violations, &row.fault);
    }
    let violations = rows.iter().map(|row| row.violations).sum();
    line(
        judge.total(),
        violations,
        &format!("all {} faults", rows.len() - 1),
    );
    let operators::Usage {
        mebibytes,
        threads,
        files,
    } = world.operators.most;
    println!("at most {mebibytes} MiB, {threads} threads, {files} open files");
    if violations > 0 {
        println!(
            "seed {seed}; the operator's log: {}",
            world.operators.log.display()
        );
    }
    violations == 0
}
