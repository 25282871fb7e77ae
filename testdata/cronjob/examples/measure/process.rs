// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The process of an operator, and its resource usage.

use std::error::Error;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::{Child, Command};
use std::time::{Duration, Instant};

use kbr_runtime::Flags;
use kbr_testing::TestEnv;

use crate::Result;

/// The unit of times in `/proc`.
const TICK: Duration = Duration::from_millis(10);

/// The flag for the number of workers, as operators of kbr and of Operator SDK have it.
const WORKERS: &str = "max-concurrent-reconciles";

/// An operator to measure.
pub struct Subject {
    pub binary: PathBuf,
    pub name: String,
    flags: Vec<String>,
}

impl Subject {
    /// Each binary with each number of workers; those without a flag for them only once.
    pub fn all(binaries: &[PathBuf], workers: &[u16]) -> Result<Vec<Self>> {
        let mut all = Vec::new();
        for binary in binaries {
            let name = binary.display().to_string();
            if has_flag(binary, WORKERS)? {
                all.extend(workers.iter().map(|workers| Self {
                    binary: binary.clone(),
                    name: format!("{name}, workers: {workers}"),
                    flags: vec![format!("--{WORKERS}={workers}")],
                }));
            } else {
                let (binary, flags) = (binary.clone(), Vec::new());
                all.push(Self {
                    binary,
                    name,
                    flags,
                });
            }
        }
        Ok(all)
    }

    /// Starts it with its own flags and `flags`.
    pub fn start(&self, env: &TestEnv, flags: &[String]) -> Result<Process> {
        Process::start_with(&self.binary, env, &[&self.flags, flags].concat())
    }
}

/// Whether the help of the operator names the flag.
pub fn has_flag(binary: &Path, flag: &str) -> Result<bool> {
    let help = Command::new(fs::canonicalize(binary)?)
        .arg("--help")
        .output()?;
    let text = [help.stdout, help.stderr].concat();
    Ok(String::from_utf8_lossy(&text).contains(flag))
}

/// A running operator. Dropping it kills it.
pub struct Process {
    pub started: Instant,
    child: Child,
    binary: PathBuf,
    log: PathBuf,
}

/// The CPU time of a process, its memory, and its peak memory.
pub struct Usage {
    pub cpu: Duration,
    pub megabytes: f64,
    pub peak_megabytes: f64,
}

impl Process {
    /// Starts `binary` with its defaults and the same environment variables as any other. It serves
    /// webhooks if the API server calls any.
    pub fn start(binary: &Path, env: &TestEnv) -> Result<Self> {
        Self::start_with(binary, env, &[])
    }

    /// Starts it with further flags.
    pub fn start_with(binary: &Path, env: &TestEnv, flags: &[String]) -> Result<Self> {
        let log = env.logs().join("measured.log");
        let file = File::create(&log)?;
        let mut command = Command::new(fs::canonicalize(binary)?);
        command
            .arg("--kubeconfig")
            .arg(env.manager_kubeconfig())
            .arg("--health-probe-bind-address=0")
            .args(flags)
            .env_clear()
            .env("TZ", "UTC")
            .stdout(file.try_clone()?)
            .stderr(file);
        let mut flags = Flags::default();
        env.serve_webhooks(&mut flags);
        match flags.webhook_cert_path {
            Some(folder) => command
                .arg(format!("--webhook-port={}", flags.webhook_port))
                .arg("--webhook-cert-path")
                .arg(folder),
            None => command.env("ENABLE_WEBHOOKS", "false"),
        };
        Ok(Self {
            started: Instant::now(),
            child: command.spawn()?,
            binary: binary.to_owned(),
            log,
        })
    }

    /// Fails if it is no longer running.
    pub fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => Err(self.error(&format!("exited with {status}"))),
        }
    }

    /// An error that says what the process did wrong.
    pub fn error(&self, what: &str) -> Box<dyn Error> {
        let (binary, log) = (self.binary.display(), self.log.display());
        format!("`{binary}` {what}; its log: {log}").into()
    }

    /// Sends SIGTERM.
    pub fn terminate(&self) -> Result<()> {
        let pid = self.child.id().to_string();
        match Command::new("kill").arg(pid).status()?.success() {
            true => Ok(()),
            false => Err(self.error("could not be stopped")),
        }
    }

    /// Resets the peak memory.
    pub fn forget_peak(&self) -> Result<()> {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        Ok(fs::write(proc.join("clear_refs"), "5")?)
    }

    pub fn usage(&self) -> Result<Usage> {
        let proc = Path::new("/proc").join(self.child.id().to_string());
        let stat = fs::read_to_string(proc.join("stat"))?;
        let status = fs::read_to_string(proc.join("status"))?;
        let usage = || {
            // After the name, which may contain anything but ends with a parenthesis.
            let mut fields = stat.rsplit_once(')')?.1.split_whitespace().skip(11);
            let mut ticks = || fields.next()?.parse::<u32>().ok();
            Some(Usage {
                cpu: TICK * (ticks()? + ticks()?),
                megabytes: megabytes(&status, "VmRSS:")?,
                peak_megabytes: megabytes(&status, "VmHWM:")?,
            })
        };
        usage().ok_or_else(|| self.error("has an unknown form in /proc"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // It may have exited by itself.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The value of a line of `/proc/<pid>/status`.
fn megabytes(status: &str, name: &str) -> Option<f64> {
    let value = status.lines().find_map(|line| line.strip_prefix(name))?;
    let kibibytes: f64 = value.trim().strip_suffix(" kB")?.parse().ok()?;
    Some(kibibytes * 1024.0 / 1e6)
}
