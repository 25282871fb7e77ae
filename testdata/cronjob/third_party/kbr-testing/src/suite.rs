// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A run of all tests of a test target, in a process that another process watches.
//!
//! Its environments are in the folder of the run, so that the other process can read their audit
//! logs. The run ends when the other process does: that process holds a lock on the folder, which
//! the operating system releases however a process ends.

use std::collections::BTreeMap;
use std::env;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::LazyLock;
use std::thread;
use std::time::{Duration, Instant};

use serde::{Deserialize, Serialize};
use serde_json::json;

use super::TestEnvError;
use super::audit::{AuditLog, AuditedRequest};
use super::control_plane::PAUSE;
use super::folder::{self, Folder};
use super::grants::Grant;
use super::install::Manifests;
use super::roles::Role;

/// The environment variable that tells a process, and those that it starts, which run they belong
/// to.
const VARIABLE: &str = "TESTENV_SUITE";

/// The file for its output.
const OUTPUT: &str = "output.log";

/// How long a run may take: far longer than any suite should.
const PATIENCE: Duration = Duration::from_secs(15 * 60);

/// A run, as its own processes see it.
#[derive(Serialize, Deserialize)]
pub(super) struct Suite {
    pub(super) folder: PathBuf,
    without: Option<(Role, Grant)>,
}

impl Suite {
    /// The run that this process belongs to.
    pub(super) fn current() -> Option<&'static Self> {
        static CURRENT: LazyLock<Option<Suite>> = LazyLock::new(|| {
            let suite = env::var(VARIABLE).ok()?;
            let suite = serde_json::from_str::<Suite>(&suite);
            // Without it, the tests would run with all permissions.
            let suite = suite.unwrap_or_else(|error| panic!("{VARIABLE}: {error}"));
            let lock = suite.folder.join(folder::LOCK);
            thread::spawn(move || {
                // Waits until the watching process ends.
                let _ = File::open(lock).and_then(|lock| lock.lock_shared());
                kill_group("0");
                std::process::exit(1)
            });
            Some(suite)
        });
        CURRENT.as_ref()
    }

    /// Removes from a role the permission that this run does without.
    pub(super) fn leave_out(&self, manifests: &mut Manifests) {
        if let Some((role, grant)) = &self.without {
            manifests.leave_out(role, grant);
        }
    }
}

/// How a run ended.
pub(super) enum End {
    /// The rest of it was not needed.
    Superfluous,
    Passed,
    /// /// Says how it failed.
    Failed(String),
}

/// A run, as the watching process sees it. Dropping it ends the run.
pub(super) struct Run {
    process: Child,
    folder: Folder,
    logs: BTreeMap<PathBuf, AuditLog>,
}

impl Run {
    /// Starts all tests of a binary.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] and [`TestEnvError::Start`].
    pub(super) fn start(
        tests: &Path,
        without: Option<(Role, Grant)>,
    ) -> Result<Self, TestEnvError> {
        let folder = Folder::create()?;
        let path = folder.path().to_owned();
        let output = folder.write(OUTPUT, "")?;
        let open = || {
            let file = File::options().append(true).open(&output)?;
            Ok((file.try_clone()?, file))
        };
        let (out, err) = open().map_err(|source| TestEnvError::Folder {
            path: output.clone(),
            source,
        })?;
        let suite = json!(Suite {
            folder: path,
            without
        });
        let mut command = Command::new(tests);
        command.env(VARIABLE, suite.to_string());
        command.stdin(Stdio::null()).stdout(out).stderr(err);
        // The processes that its tests start are in the same group.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let process = command.spawn().map_err(|source| TestEnvError::Start {
            program: tests.to_owned(),
            source,
        })?;
        Ok(Self {
            process,
            folder,
            logs: BTreeMap::new(),
        })
    }

    /// Watches it until it ends, or until a request makes the rest unnecessary.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] when an audit log cannot be read.
    pub(super) fn watch(
        &mut self,
        mut is_enough: impl FnMut(&AuditedRequest) -> bool,
    ) -> Result<End, TestEnvError> {
        let start = Instant::now();
        loop {
            // Checked before the logs are read: they are complete once it has ended.
            let ended = self.process.try_wait();
            let requests = self.requests().map_err(|source| TestEnvError::Folder {
                path: self.folder.path().to_owned(),
                source,
            })?;
            if requests.iter().any(&mut is_enough) {
                return Ok(End::Superfluous);
            }
            match ended {
                Ok(Some(status)) if status.success() => return Ok(End::Passed),
                Ok(Some(status)) => return Ok(End::Failed(format!("ended with {status}"))),
                Ok(None) if start.elapsed() < PATIENCE => thread::sleep(PAUSE),
                Ok(None) => return Ok(End::Failed(format!("did not finish within {PATIENCE:?}"))),
                Err(error) => return Ok(End::Failed(format!("could not be watched: {error}"))),
            }
        }
    }

    /// The requests made in the manager's name since the last call, in all environments.
    fn requests(&mut self) -> io::Result<Vec<AuditedRequest>> {
        // The folder does not exist before the first environment.
        let entries = fs::read_dir(self.folder.path().join(folder::ALL));
        let mut requests = Vec::new();
        for entry in entries.into_iter().flatten() {
            let path = entry?.path();
            if path.is_dir() {
                let log = self.logs.entry(path.clone());
                let log = log.or_insert_with(|| AuditLog::of(&path));
                requests.extend(log.read_on()?);
            }
        }
        Ok(requests)
    }

    /// The path of its output.
    pub(super) fn output(&self) -> PathBuf {
        self.folder.path().join(OUTPUT)
    }

    /// Ends it, and removes its folder.
    pub(super) fn forget(self) {
        let folder = self.folder.path().to_owned();
        drop(self);
        // A folder that cannot be removed now does no harm.
        let _ = fs::remove_dir_all(folder);
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        kill_group(&format!("-{}", self.process.id()));
        // An error means that it has ended.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

/// Kills a process and the processes that its tests started: an operator would run forever. Servers
/// have their own groups, and end with the process that started them.
fn kill_group(group: &str) {
    // An error means that there is nothing to kill, or no such command.
    let _ = Command::new("kill")
        .args(["-s", "KILL", "--", group])
        .stderr(Stdio::null())
        .status();
}
