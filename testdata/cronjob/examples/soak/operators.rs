// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The processes of the operator: one, or two for a while.

use std::fs::{self, File};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::Result;

/// The memory that `config/manager` allows.
const MOST_MEBIBYTES: u64 = 128;
const MOST_THREADS: u64 = 32;
const MOST_FILES: u64 = 200;

/// The grace period of `config/manager`.
const GRACE: Duration = Duration::from_secs(30);

/// The timeout of a request to a probe.
const PROBE_TIMEOUT: Duration = Duration::from_secs(1);

pub struct Operators {
    binary: PathBuf,
    kubeconfig: PathBuf,
    pub log: PathBuf,
    /// Further environment variables of every process.
    environment: Vec<(&'static str, PathBuf)>,
    running: Vec<Operator>,
    /// The most that any process has used.
    pub most: Usage,
}

struct Operator {
    child: Child,
    probes: SocketAddr,
}

/// What a process uses.
#[derive(Clone, Copy, Default)]
pub struct Usage {
    pub mebibytes: u64,
    pub threads: u64,
    pub files: u64,
}

impl Operators {
    pub fn new(
        binary: &Path,
        kubeconfig: PathBuf,
        log: PathBuf,
        environment: Vec<(&'static str, PathBuf)>,
    ) -> Result<Self> {
        Ok(Self {
            binary: fs::canonicalize(binary)?,
            kubeconfig,
            log,
            environment,
            running: Vec::new(),
            most: Usage::default(),
        })
    }

    /// Starts one more.
    pub fn start(&mut self) -> Result<()> {
        let log = File::options().create(true).append(true).open(&self.log)?;
        // A free port, which nobody else gets while this is bound.
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
        let probes = port.local_addr()?;
        drop(port);
        let mut command = Command::new(&self.binary);
        command
            .arg("--kubeconfig")
            .arg(&self.kubeconfig)
            .arg(format!("--health-probe-bind-address={probes}"))
            .env("ENABLE_WEBHOOKS", "false")
            .env_remove("RUST_LOG")
            .envs(self.environment.iter().map(|(name, value)| (name, value)))
            .stdin(Stdio::null())
            .stdout(log.try_clone()?)
            .stderr(log);
        let child = command.spawn()?;
        self.running.push(Operator { child, probes });
        Ok(())
    }

    /// Kills the oldest with SIGKILL.
    pub fn kill(&mut self) -> Result<()> {
        let mut operator = self.take()?;
        operator.child.kill()?;
        operator.child.wait()?;
        Ok(())
    }

    /// Stops the oldest with SIGTERM. Returns what is wrong with its exit, if anything: if it cannot
    /// finish its work, it may exit with 1.
    pub async fn terminate(&mut self, can_finish: bool) -> Result<Option<String>> {
        let mut operator = self.take()?;
        let process = operator.child.id().to_string();
        let start = Instant::now();
        Command::new("kill")
            .args(["-s", "TERM", &process])
            .status()?;
        while start.elapsed() < GRACE {
            if let Some(status) = operator.child.try_wait()? {
                let seconds = start.elapsed().as_secs();
                let fault = format!("the operator exited with {status} {seconds} s after SIGTERM");
                let is_right = status.success() || !can_finish && status.code() == Some(1);
                return Ok((!is_right).then_some(fault));
            }
            sleep(Duration::from_millis(50)).await;
        }
        Ok(Some(
            "the operator did not exit within 30 s of SIGTERM".to_owned(),
        ))
    }

    fn take(&mut self) -> Result<Operator> {
        match self.running.is_empty() {
            true => Err("no operator is running".into()),
            false => Ok(self.running.remove(0)),
        }
    }

    /// Restarts those that have exited by themselves, and returns what is wrong.
    pub fn check(&mut self) -> Result<Vec<String>> {
        let mut faults = Vec::new();
        let mut ended = 0;
        for operator in &mut self.running {
            match operator.child.try_wait()? {
                Some(status) => {
                    ended += 1;
                    faults.push(format!("the operator exited by itself with {status}"));
                }
                None => faults.extend(operator.check(&mut self.most)),
            }
        }
        if ended > 0 {
            self.running.retain_mut(|operator| !operator.has_ended());
            for _ in 0..ended {
                self.start()?;
            }
        }
        Ok(faults)
    }

    /// The responses of the probes that fail.
    pub fn probe(&self, path: &str) -> Vec<String> {
        let responses = self.running.iter().map(|operator| operator.probe(path));
        let bad = responses.filter(|response| !response.starts_with("HTTP/1.1 200"));
        bad.map(|response| {
            format!(
                "{path} returns `{}`",
                response.lines().next().unwrap_or_default()
            )
        })
        .collect()
    }
}

impl Operator {
    fn has_ended(&mut self) -> bool {
        let ended: std::io::Result<Option<ExitStatus>> = self.child.try_wait();
        ended.is_ok_and(|status| status.is_some())
    }

    /// Compares its usage with the limits.
    fn check(&self, most: &mut Usage) -> Option<String> {
        let usage = self.usage()?;
        let grown = usage.mebibytes > most.mebibytes.max(MOST_MEBIBYTES)
            || usage.threads > most.threads.max(MOST_THREADS)
            || usage.files > most.files.max(MOST_FILES);
        most.mebibytes = most.mebibytes.max(usage.mebibytes);
        most.threads = most.threads.max(usage.threads);
        most.files = most.files.max(usage.files);
        let Usage {
            mebibytes,
            threads,
            files,
        } = usage;
        // Reported again only when it has grown further.
        grown.then(|| {
            format!("the operator uses {mebibytes} MiB, {threads} threads, {files} open files")
        })
    }

    /// `None` if it is about to exit.
    fn usage(&self) -> Option<Usage> {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        let status = fs::read_to_string(proc.join("status")).ok()?;
        let value = |name| {
            let value = status.lines().find_map(|line| line.strip_prefix(name))?;
            value.trim().trim_end_matches(" kB").parse::<u64>().ok()
        };
        Some(Usage {
            mebibytes: value("VmRSS:")? / 1024,
            threads: value("Threads:")?,
            files: fs::read_dir(proc.join("fd")).ok()?.count() as u64,
        })
    }

    fn probe(&self, path: &str) -> String {
        let request = || {
            let mut stream = TcpStream::connect_timeout(&self.probes, PROBE_TIMEOUT)?;
            stream.set_read_timeout(Some(PROBE_TIMEOUT))?;
            write!(
                stream,
                "GET {path} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"
            )?;
            let mut response = String::new();
            stream.read_to_string(&mut response)?;
            Ok(response)
        };
        request().unwrap_or_else(|error: std::io::Error| error.to_string())
    }
}

impl Drop for Operator {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
