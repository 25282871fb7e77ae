//! The cluster, and its kubectl.

use std::env::var_os;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use serde_json::Value;

/// The repository.
pub const REPOSITORY: &str = env!("CARGO_MANIFEST_DIR");

/// The cluster of `tests/tools/cluster`. It is stopped when this is dropped, unless it ran before.
pub struct Cluster {
    kubeconfig: PathBuf,
    /// Whether it was started here.
    is_ours: bool,
}

impl Drop for Cluster {
    fn drop(&mut self) {
        if self.is_ours {
            tool(&["down"]);
        }
    }
}

impl Cluster {
    /// Starts the cluster, unless it runs; Prometheus takes a few minutes to build.
    pub fn up(has_prometheus: bool) -> Self {
        let runs = || {
            program(&["status"])
                .output()
                .expect("bash runs")
                .status
                .success()
        };
        let is_ours = !runs();
        if is_ours {
            let mut up = vec!["up", "--cert-manager", "--install"];
            up.extend(has_prometheus.then_some("--prometheus"));
            tool(&up);
        }
        let kubeconfig = output(&mut program(&["kubeconfig"]));
        Self {
            kubeconfig: kubeconfig.trim().into(),
            is_ours,
        }
    }

    /// Starts it again without what a failed test has left, unless it ran before.
    pub fn anew(self, has_prometheus: bool) -> Self {
        if !self.is_ours {
            return self;
        }
        drop(self);
        Self::up(has_prometheus)
    }

    /// Makes an image of `files`, which is pulled as `name`. The first one is what it starts.
    pub fn load(name: &str, files: &[&str]) {
        tool(&[&["load", name], files].concat());
    }

    /// Freezes, thaws, kills, starts, cuts off or reconnects a node.
    pub fn node(what: &str, node: &str) {
        println!("    node {what} {node}");
        tool(&["node", what, node]);
    }

    /// A command with kubectl and kbr on its PATH that uses this cluster.
    pub fn command(&self, name: &str) -> Command {
        let mut path = OsString::new();
        for folder in [
            bin(),
            Path::new(env!("CARGO_BIN_EXE_kbr"))
                .parent()
                .expect("a folder")
                .into(),
        ] {
            path.push(folder);
            path.push(":");
        }
        path.push(var_os("PATH").unwrap_or_default());
        let mut command = Command::new(name);
        command
            .env("PATH", path)
            .env("KUBECONFIG", &self.kubeconfig);
        command.stdin(Stdio::null());
        command
    }

    /// What kubectl prints.
    ///
    /// # Panics
    ///
    /// When it fails.
    #[track_caller]
    pub fn kubectl(&self, line: &str) -> String {
        output(self.command("kubectl").args(line.split_whitespace()))
    }

    /// What kubectl prints, or why it fails.
    pub fn try_kubectl(&self, line: &str) -> Result<String, String> {
        let mut kubectl = self.command("kubectl");
        let output = kubectl
            .args(line.split_whitespace())
            .output()
            .expect("kubectl runs");
        let text = |bytes: Vec<u8>| String::from_utf8_lossy(&bytes).trim().to_owned();
        match output.status.success() {
            true => Ok(text(output.stdout)),
            false => Err(text(output.stderr)),
        }
    }

    /// What kubectl prints as JSON.
    #[track_caller]
    pub fn json(&self, line: &str) -> Value {
        serde_json::from_str(&self.kubectl(&format!("{line} -o json"))).expect("JSON")
    }

    /// Prints what a person would look at first.
    pub fn show(&self) {
        for line in [
            "get nodes",
            "get pods --all-namespaces -o wide",
            "get events --all-namespaces --sort-by=.lastTimestamp --field-selector type=Warning",
        ] {
            println!("{}\n", self.try_kubectl(line).unwrap_or_else(|error| error));
        }
    }
}

/// Where the cluster's kubectl is.
fn bin() -> PathBuf {
    let home = || PathBuf::from(var_os("HOME").expect("$HOME")).join(".cache");
    let cache = var_os("XDG_CACHE_HOME").map_or_else(home, PathBuf::from);
    cache.join("kbr-cluster/bin")
}

fn program(arguments: &[&str]) -> Command {
    let mut program = Command::new(Path::new(REPOSITORY).join("tests/tools/cluster/cluster"));
    program.args(arguments).stdin(Stdio::null());
    program
}

#[track_caller]
fn tool(arguments: &[&str]) {
    let status = program(arguments).status().expect("bash runs");
    assert!(
        status.success(),
        "tests/tools/cluster/cluster {}",
        arguments.join(" ")
    );
}

/// What a command prints.
///
/// # Panics
///
/// When it fails.
#[track_caller]
pub fn output(command: &mut Command) -> String {
    let output = command.output().expect("the program runs");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (out, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{command:?}\n{out}{error}");
    out
}

/// Asks until there is an answer, once a second.
///
/// # Panics
///
/// When there is none after so many seconds.
#[track_caller]
pub fn eventually<T>(what: &str, seconds: u64, mut ask: impl FnMut() -> Option<T>) -> T {
    let begin = Instant::now();
    loop {
        if let Some(answer) = ask() {
            return answer;
        }
        assert!(
            begin.elapsed().as_secs() < seconds,
            "{what}: not within {seconds} s"
        );
        sleep(Duration::from_secs(1));
    }
}
