// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! However a process ends, its servers end with it. The process here is `run-local`.

use std::fs::{self, File};
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};

use kbr_testing::least_privilege;

use crate::bad_input::project;
use crate::operator::{child, is_child};
use crate::support::{Process, kill, processes, until};

/// The example `run-local`, which `cargo test` builds by default.
pub fn run_local() -> Command {
    let binary = std::env::current_exe().unwrap();
    let profile = binary.ancestors().nth(2).unwrap();
    let mut command = Command::new(profile.join("examples/run-local"));
    command.arg("--health-probe-bind-address=0");
    // A server on the loopback address is reached without a proxy.
    command.env("HTTPS_PROXY", "http://127.0.0.1:1");
    command
}

/// `run-local` with its servers. It has its own process group, as in a terminal.
struct RunLocal {
    process: Process,
    /// The folder with the logs of the servers.
    folder: PathBuf,
    kubeconfig: PathBuf,
    log: PathBuf,
}

impl RunLocal {
    /// Starts it and waits until its operator has reconciled an object.
    fn start(name: &str) -> Self {
        let log = crate::env().logs().join(format!("{name}.log"));
        let mut command = run_local();
        command.stdout(Stdio::piped());
        command.stderr(File::create(&log).unwrap());
        let mut process = Process::start(command.process_group(0));
        let mut line = String::new();
        let mut output = BufReader::new(process.child().stdout.take().unwrap());
        output.read_line(&mut line).unwrap();
        let kubeconfig = line.trim_end().strip_prefix("KUBECONFIG=");
        let kubeconfig = PathBuf::from(kubeconfig.unwrap());
        let local = Self {
            process,
            folder: kubeconfig.parent().unwrap().to_owned(),
            kubeconfig,
            log,
        };
        local.kubectl("create -k config/samples");
        local.kubectl("wait task/task-sample --for=condition=Ready=Unknown --timeout=60s");
        // Linux truncates the name of a process after 15 bytes.
        let expected = ["etcd", "kube-apiserver", "kube-controller"];
        assert_eq!(local.servers(), expected);
        local
    }

    fn kubectl(&self, line: &str) {
        let mut kubectl = crate::env().kubectl();
        kubectl.env("KUBECONFIG", &self.kubeconfig);
        let status = kubectl.args(line.split(' ')).status();
        assert!(status.unwrap().success(), "kubectl {line}");
    }

    fn servers(&self) -> Vec<String> {
        let programs = processes(&self.folder).into_iter().map(|(_, name)| name);
        let mut programs: Vec<_> = programs.filter(|name| name != "sh").collect();
        programs.sort();
        programs
    }

    /// Waits until it and each process that it started have ended.
    fn ended(&mut self) -> ExitStatus {
        let status = self.process.ended();
        until("the end of the servers", || {
            processes(&self.folder).is_empty().then_some(())
        });
        assert!(
            !self.folder.join("etcd").exists(),
            "etcd's data still exists"
        );
        status
    }

    /// What it wrote to standard error, except log lines.
    fn errors(&self) -> String {
        let text = fs::read_to_string(&self.log).unwrap();
        let lines = text.split_inclusive('\n');
        lines.skip_while(|line| line.starts_with('{')).collect()
    }
}

#[test]
fn a_killed_process_leaves_no_server() {
    let mut local = RunLocal::start("killed");

    local.process.signal("KILL");

    assert_eq!(local.ended().code(), None);
}

/// The folders with the logs of the suites that a process runs.
fn suites(process: u32) -> Vec<PathBuf> {
    let binary = std::env::current_exe().unwrap();
    let profile = binary.ancestors().nth(2).unwrap();
    let entries = fs::read_dir(profile.join("testenv")).unwrap();
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| {
        let name = path.file_name().unwrap().to_str().unwrap();
        name.starts_with(&format!("{process}-"))
    });
    paths
}

#[test]
fn a_killed_proof_of_least_privilege_leaves_no_suite() {
    if is_child() {
        least_privilege(project("too-much"), "roles");
        return;
    }
    let mut this = child("orphans::a_killed_proof_of_least_privilege_leaves_no_suite");
    // These tests may themselves be run for a proof.
    this.env_remove("TESTENV_SUITE");
    this.stdout(Stdio::null()).stderr(Stdio::null());
    let mut proof = Process::start(&mut this);
    let number = proof.child().id();
    let folders = until("a suite with its servers", || {
        let folders = suites(number);
        let has_servers = |path: &PathBuf| processes(path).iter().any(|(_, name)| name == "etcd");
        folders.iter().any(has_servers).then_some(folders)
    });

    proof.signal("KILL");

    proof.ended();
    until("the end of the servers", || {
        let mut servers = folders.iter().flat_map(|path| processes(path));
        servers.next().is_none().then_some(())
    });
}

#[test]
fn sigterm_stops_the_operator_and_the_servers() {
    let mut local = RunLocal::start("terminated");

    local.process.signal("TERM");

    assert_eq!(local.ended().code(), Some(0));
    assert_eq!(local.errors(), "");
}

#[test]
fn ctrl_c_stops_the_operator_and_the_servers() {
    let mut local = RunLocal::start("interrupted");

    // A terminal sends it to the whole process group.
    kill("INT", &format!("-{}", local.process.child().id()));

    assert_eq!(local.ended().code(), Some(0));
    assert_eq!(local.errors(), "");
}

#[test]
fn the_death_of_etcd_ends_the_process_and_shows_its_log() {
    let mut local = RunLocal::start("etcd-dies");
    let processes = processes(&local.folder);
    let etcd = processes.iter().find(|(_, name)| name == "etcd");

    kill("KILL", &etcd.unwrap().0);

    assert_eq!(local.ended().code(), Some(1));
    let log = local.folder.join("etcd.log");
    let errors = local.errors();
    let expected = format!(
        "error: etcd ended with signal 9; its log, {}, ends with\n",
        log.display()
    );
    let last = errors
        .strip_prefix(&expected)
        .unwrap_or_else(|| panic!("{errors}"));
    assert_eq!(last.lines().count(), 5);
    let text = fs::read_to_string(log).unwrap();
    let lines: Vec<_> = text.lines().rev().take(5).collect();
    for (shown, logged) in last.lines().zip(lines.into_iter().rev()) {
        assert!(logged.starts_with(shown), "{shown}");
    }
}
