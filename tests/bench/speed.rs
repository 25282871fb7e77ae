//! The run time of kbr, compared with `cp` and with cargo alone in the same run.
//!
//! `cargo bench` prints medians of wall times, with their ratios and differences. Absolute times depend
//! on the machine; the ratios and differences depend on kbr. Every round measures all candidates in
//! turn, so that a machine that slows down slows all of them down.
#![allow(clippy::print_stdout, reason = "figures are what a bench prints")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

const KBR: &str = env!("CARGO_BIN_EXE_kbr");
const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// How many kinds the large project has, each with a Job template.
const MANY: usize = 50;

fn main() {
    scaffolding();
    manifests_of_one_kind();
    manifests_of_many_kinds();
}

/// `kbr init` and `kbr create api` against copying their output.
fn scaffolding() {
    let folder = tempfile::tempdir().expect("a folder");
    let (mut scaffold, mut copy) = (Vec::new(), Vec::new());
    for round in 0..31 {
        let project = folder.path().join(format!("project-{round}"));
        fs::create_dir(&project).expect("a folder");
        scaffold.push(time(|| {
            kbr(&project, "init --domain example.com --project-name bench");
            kbr(&project, "create api --kind CronJob");
        }));
        let twin = folder.path().join(format!("twin-{round}"));
        copy.push(time(|| {
            run(Command::new("cp").arg("-r").args([&project, &twin]))
        }));
    }
    let (scaffold, copy) = (median(scaffold), median(copy));
    say("kbr init + kbr create api", scaffold);
    say("cp -r of their output", copy);
    println!(
        "{:>48.1} times cp\n",
        scaffold.as_secs_f64() / copy.as_secs_f64()
    );
}

/// `kbr manifests` against `cargo build --bin crdgen`, in the golden CronJob.
fn manifests_of_one_kind() {
    let bench = Project::new("bench-one");
    bench.kbr("init --domain tutorial.kubebuilder.io --project-name bench-one");
    bench.kbr("create api --group batch --version v1 --kind CronJob --controller=false");
    let types = bench.path("api/src/v1/cronjob_types.rs");
    fs::write(&types, cronjob_types("CronJob")).expect("the types");
    say("first build of crdgen", time(|| bench.build()));
    bench.kbr("manifests");

    let [
        mut cargo_idle,
        mut kbr_idle,
        mut cargo_changed,
        mut kbr_changed,
    ] = [const { Vec::new() }; 4];
    for round in 0..9 {
        cargo_idle.push(time(|| bench.build()));
        kbr_idle.push(time(|| bench.kbr("manifests")));
        change_a_doc_comment(&types, 2 * round);
        cargo_changed.push(time(|| bench.build()));
        change_a_doc_comment(&types, 2 * round + 1);
        kbr_changed.push(time(|| bench.kbr("manifests")));
    }
    compare("nothing changed", median(cargo_idle), median(kbr_idle));
    compare(
        "a doc comment changed",
        median(cargo_changed),
        median(kbr_changed),
    );
}

/// `kbr manifests` of many kinds after one doc comment changed, and where the time goes.
fn manifests_of_many_kinds() {
    let bench = Project::new("bench-many");
    bench.kbr("init --domain tutorial.kubebuilder.io --project-name bench-many");
    for number in 0..MANY {
        let kind = format!("Kind{number}");
        bench.kbr(&format!(
            "create api --group batch --version v1 --kind {kind} --controller=false"
        ));
        let types = bench.path(&format!("api/src/v1/kind{number}_types.rs"));
        fs::write(types, cronjob_types(&kind)).expect("the types");
    }
    say(
        &format!("first build of crdgen, {MANY} kinds"),
        time(|| bench.build()),
    );
    bench.kbr("manifests");

    let crdgen = bench.target.join("debug/crdgen");
    let types = bench.path("api/src/v1/kind0_types.rs");
    let [mut cargo, mut alone, mut whole] = [const { Vec::new() }; 3];
    for round in 0..5 {
        change_a_doc_comment(&types, 2 * round);
        cargo.push(time(|| bench.build()));
        alone.push(time(|| run(&mut Command::new(&crdgen))));
        change_a_doc_comment(&types, 2 * round + 1);
        whole.push(time(|| bench.kbr("manifests")));
    }
    let (cargo, alone, whole) = (median(cargo), median(alone), median(whole));
    say(
        &format!("kbr manifests, {MANY} kinds, a doc comment changed"),
        whole,
    );
    say("  of which cargo build --bin crdgen", cargo);
    say("  of which crdgen itself", alone);
    say("  of which kbr itself", whole.saturating_sub(cargo + alone));
}

/// A project in a folder of its own, with a target directory of its own.
struct Project {
    folder: tempfile::TempDir,
    target: PathBuf,
}

impl Project {
    /// Starts without build artifacts, so that the first build is a full one.
    fn new(name: &str) -> Self {
        let target = Path::new(REPOSITORY).join("target").join(name);
        let _ = fs::remove_dir_all(&target);
        Self {
            folder: tempfile::tempdir().expect("a folder"),
            target,
        }
    }

    fn path(&self, path: &str) -> PathBuf {
        self.folder.path().join(path)
    }

    fn kbr(&self, line: &str) {
        let command = &mut Command::new(KBR);
        run(command
            .args(line.split_whitespace())
            .env("CARGO_TARGET_DIR", &self.target)
            .current_dir(self.folder.path()));
    }

    fn build(&self) {
        let command = &mut Command::new("cargo");
        run(command
            .args(["build", "--bin", "crdgen"])
            .env("CARGO_TARGET_DIR", &self.target)
            .current_dir(self.folder.path()));
    }
}

/// The tutorial's types under another kind's name.
fn cronjob_types(kind: &str) -> String {
    let path = Path::new(REPOSITORY).join("testdata/cronjob.overlay/api/src/v1/cronjob_types.rs");
    let text = fs::read_to_string(path).expect("the overlay");
    let policy = format!("{kind}Policy");
    let lower = kind.to_lowercase();
    text.replace("ConcurrencyPolicy", &policy)
        .replace("CronJob", kind)
        .replace("cronjob", &lower)
}

fn change_a_doc_comment(types: &Path, round: usize) {
    let text = fs::read_to_string(types).expect("the types");
    let old = text
        .lines()
        .find(|line| line.contains("/// Whether no further Job starts"))
        .expect("the comment");
    let new = format!("    /// Whether no further Job starts, {round}.");
    fs::write(types, text.replace(old, &new)).expect("the types");
}

fn kbr(folder: &Path, line: &str) {
    run(Command::new(KBR)
        .args(line.split_whitespace())
        .current_dir(folder));
}

fn run(command: &mut Command) {
    let output = command
        .stdin(Stdio::null())
        .output()
        .expect("the command starts");
    assert!(
        output.status.success(),
        "{command:?}: {}",
        String::from_utf8_lossy(&output.stderr)
    );
}

fn time(work: impl FnOnce()) -> Duration {
    let start = Instant::now();
    work();
    start.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

fn say(what: &str, time: Duration) {
    println!("{what:<52} {:>8.0} ms", time.as_secs_f64() * 1000.0);
}

fn compare(case: &str, cargo: Duration, kbr: Duration) {
    say(&format!("cargo build --bin crdgen, {case}"), cargo);
    say(&format!("kbr manifests, {case}"), kbr);
    say("  on top", kbr.saturating_sub(cargo));
    println!();
}
