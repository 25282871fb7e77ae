// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! One server process, which never outlives the process that started it.
//!
//! A shell supervises it: the shell kills the server when its own standard input ends, which is a
//! pipe that the operating system closes with this process, however this process ends.

use std::ffi::OsStr;
use std::fmt::Display;
use std::fs::File;
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::TestEnvError;
use super::error::LogEnd;
use super::failure::Failure;

/// `$0` is a folder that only the server needs, `$@` the server's command line.
const KEEPER: &str = r#"
exec 3<&0
"$@" 3<&- </dev/null &
server=$!
{ read -r _ <&3; kill -KILL "$server"; } 2>/dev/null &
keeper=$!
exec 3<&-
wait "$server" 2>/dev/null
status=$?
kill "$keeper" 2>/dev/null
rm -rf "$0"
exit "$status"
"#;

/// A running server. Dropping it kills the server and waits for its end.
pub(super) struct Server {
    /// Closing it is what kills the server.
    lifeline: Option<ChildStdin>,
    watched: Arc<Watched>,
}

struct Watched {
    name: &'static str,
    log: PathBuf,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    ended: Option<io::Result<ExitStatus>>,
    /// What fails when the server ends.
    guard: Option<Failure>,
}

impl Server {
    /// Starts `program`, whose output goes to `log`. The folder `data` is removed when the server
    /// ends.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] and [`TestEnvError::Start`].
    pub(super) fn start<A: AsRef<OsStr>>(
        name: &'static str,
        program: &Path,
        arguments: impl IntoIterator<Item = A>,
        log: PathBuf,
        data: &Path,
    ) -> Result<Self, TestEnvError> {
        let open = || {
            let file = File::options().create(true).append(true).open(&log)?;
            Ok((file.try_clone()?, file))
        };
        let (out, err) = open().map_err(|source| TestEnvError::Folder {
            path: log.clone(),
            source,
        })?;
        let mut command = Command::new("sh");
        command
            .args(["-c", KEEPER])
            .arg(data)
            .arg(program)
            .args(arguments);
        command.stdin(Stdio::piped()).stdout(out).stderr(err);
        // Ctrl-C is for this process alone: it may still need the server to shut down properly.
        #[cfg(unix)]
        std::os::unix::process::CommandExt::process_group(&mut command, 0);
        let mut shell = command.spawn().map_err(|source| TestEnvError::Start {
            program: "sh".into(),
            source,
        })?;
        let lifeline = shell.stdin.take();
        let watched = Arc::new(Watched {
            name,
            log,
            state: Mutex::default(),
            changed: Condvar::new(),
        });
        let watcher = Arc::clone(&watched);
        // `wait` of the standard library would close the pipe if it still belonged to the child.
        std::thread::spawn(move || watcher.end(shell.wait()));
        Ok(Self { lifeline, watched })
    }

    /// # Errors
    ///
    /// [`TestEnvError::Ended`] when it is no longer running.
    pub(super) fn check(&self) -> Result<(), TestEnvError> {
        self.watched.check(&self.watched.lock())
    }

    /// Makes `failure` happen when the server ends.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Ended`] when it is no longer running.
    pub(super) fn guard(&self, failure: &Failure) -> Result<(), TestEnvError> {
        let mut state = self.watched.lock();
        self.watched.check(&state)?;
        state.guard = Some(failure.clone());
        Ok(())
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.watched.lock().guard = None;
        self.lifeline = None;
        let mut state = self.watched.lock();
        while state.ended.is_none() {
            let woken = self.watched.changed.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Watched {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check(&self, state: &State) -> Result<(), TestEnvError> {
        match &state.ended {
            Some(ended) => Err(self.error(ended)),
            None => Ok(()),
        }
    }

    fn end(&self, ended: io::Result<ExitStatus>) {
        let mut state = self.lock();
        if let Some(failure) = &state.guard {
            failure.set(&self.error(&ended).to_string());
        }
        state.ended = Some(ended);
        self.changed.notify_all();
    }

    fn error(&self, ended: &io::Result<ExitStatus>) -> TestEnvError {
        TestEnvError::Ended {
            server: self.name,
            status: match ended {
                Ok(status) => describe(*status),
                Err(error) => error.to_string(),
            },
            log: self.log.clone(),
            end: LogEnd::of(&self.log),
        }
    }
}

/// A shell's status above 128 stands for the signal that ended the server, such as 9 if memory ran
/// out.
fn describe(status: ExitStatus) -> String {
    match status.code() {
        Some(code @ 129..) => format!("signal {}", code - 128),
        _ => status.to_string(),
    }
}

/// Prints an error.
///
/// Not with `eprintln`: a test runner captures that, and shows it only for a test that fails.
pub(super) fn report(error: &dyn Display) {
    let _ = writeln!(io::stderr(), "error: {error}");
}

#[cfg(test)]
#[cfg(unix)]
mod tests;
