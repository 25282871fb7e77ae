// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The processes of the operator in one run. After one has died, another one starts, as a kubelet restarts a container.
//!
//! They are real processes, killed with SIGKILL: nothing of one reaches the next, not even a `static`, and what is run
//! is the binary that is deployed.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::TestEnvError;
use crate::fault_proxy::write_kubeconfig;
use crate::server::Server;

/// How the operator is started.
#[derive(Clone, Debug)]
pub(super) struct Program {
    pub(super) path: PathBuf,
    pub(super) variables: Vec<(String, String)>,
    pub(super) arguments: Vec<String>,
}

/// The lives of an operator. Dropping this kills all processes.
pub(super) struct Lives {
    pub(super) program: Program,
    /// For logs and kubeconfigs.
    pub(super) folder: PathBuf,
    /// A kubeconfig of the operator that does not lead through the proxy.
    pub(super) kubeconfig: PathBuf,
    /// The proxy.
    pub(super) address: SocketAddr,
    pub(super) state: Mutex<State>,
}

#[derive(Default)]
pub(super) struct State {
    process: Option<Server>,
    /// A process that runs although another one has taken over.
    former: Option<Server>,
    logs: Vec<PathBuf>,
}

impl Lives {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a process. If there is one, it goes on as the former one.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`], [`TestEnvError::Kubeconfig`] and [`TestEnvError::Start`].
    pub(super) fn begin(&self) -> Result<(), TestEnvError> {
        let mut state = self.lock();
        let number = state.logs.len() + 1;
        let kubeconfig = self.folder.join(format!("process-{number}.kubeconfig"));
        let log = self.folder.join(format!("process-{number}.log"));
        // The path tells the requests of one process from those of another.
        let server = format!("http://{}/{number}", self.address);
        write_kubeconfig(&self.kubeconfig, &kubeconfig, &server)?;
        let variables = self.program.variables.iter();
        let mut arguments: Vec<String> = variables.map(|(key, to)| format!("{key}={to}")).collect();
        arguments.extend([
            self.program.path.display().to_string(),
            format!("--kubeconfig={}", kubeconfig.display()),
            "--health-probe-bind-address=0".to_owned(),
            "--metrics-bind-address=0".to_owned(),
            "--log-format=text".to_owned(),
        ]);
        arguments.extend(self.program.arguments.iter().cloned());
        let (env, scratch) = (Path::new("env"), self.folder.join("scratch"));
        let process = Server::start("the operator", env, arguments, log.clone(), &scratch)?;
        state.former = state.process.replace(process);
        state.logs.push(log);
        Ok(())
    }

    /// Kills the process.
    pub(super) fn kill(&self) {
        self.lock().process = None;
    }

    /// Kills the process after which another one has begun.
    pub(super) fn kill_former(&self) {
        self.lock().former = None;
    }

    /// Whether no process runs but perhaps a former one.
    pub(super) fn is_over(&self) -> bool {
        let state = self.lock();
        let process = state.process.as_ref();
        process.is_none_or(|process| process.check().is_err())
    }

    /// The logs of all lives, oldest first.
    pub(super) fn logs(&self) -> Vec<PathBuf> {
        self.lock().logs.clone()
    }

    /// The number of the life that began last; the first one is 1.
    pub(super) fn number(&self) -> usize {
        self.lock().logs.len()
    }
}

/// The number of the process that a request comes from, and its path at the API server.
pub(super) fn origin(path: &str) -> Option<(usize, &str)> {
    let rest = path.strip_prefix('/')?;
    let end = rest.find('/').unwrap_or(rest.len());
    let (number, path) = rest.split_at(end);
    Some((
        number.parse().ok()?,
        if path.is_empty() { "/" } else { path },
    ))
}
