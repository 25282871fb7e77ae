// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The part of `kbr dev` that speaks to the API server: an environment that stays while the operator is
//! replaced.
//!
//! kbr writes a request per line to standard input, and reads a JSON object per line from standard output. The
//! end of standard input is the end of this process: that is also how it notices that kbr was killed.

mod apply;
mod objects;
mod pause;
mod rights;
mod writes;

use std::collections::BTreeMap;
use std::io::{self, BufRead, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{LazyLock, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use kbr_runtime::internal::is_run_by_kbr_dev;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

use super::control_plane::{LOOPBACK, PAUSE};
use super::install::Manifests;
use super::serving::Serving;
use super::{TestEnv, TestEnvError, keys};
use rights::Rights;

/// The file with the CRDs as the API server has them, a JSON array.
const CRDS: &str = "crds.json";

/// The requests of kbr, until they are served.
static REQUESTS: LazyLock<Mutex<Option<UnboundedReceiver<Request>>>> =
    LazyLock::new(|| Mutex::new(Some(requests())));

/// Whether the requests are served.
static IS_SERVING: AtomicBool = AtomicBool::new(false);

/// The namespaces that the manager watches; see [`TestEnv::watched_namespaces`].
const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";

/// What kbr asks for.
#[derive(Clone, Debug, Deserialize, PartialEq, Eq)]
#[serde(rename_all = "kebab-case")]
enum Request {
    /// Pause or resume an object. It is not told when this is done.
    Pause {
        resource: String,
        object: String,
        is_paused: bool,
    },
    /// Apply `config/default` where it has changed.
    Config,
    /// Apply `config/samples`.
    Samples,
}

/// What kbr is told.
#[derive(Clone, Debug, Serialize, PartialEq, Eq)]
#[serde(tag = "event", rename_all = "kebab-case")]
enum Event {
    /// How to start the operator. It is told again when that changes.
    Operator {
        arguments: Vec<String>,
        environment: BTreeMap<String, String>,
    },
    /// The API server is ready and the project is installed.
    Ready {
        kubeconfig: PathBuf,
        logs: PathBuf,
        crds: PathBuf,
        has_controllers: bool,
    },
    /// An object was written or deleted.
    Applied { object: String, what: &'static str },
    /// The API server or kubectl refused something.
    Refused { object: String, reason: String },
    /// Something that the user should know.
    Note { text: String },
    /// A stored object that its CRD would not accept today.
    Misfit {
        object: String,
        field: String,
        reason: String,
    },
    /// A request of the operator that no role allows.
    MissingRight {
        marker: String,
        controller: Option<String>,
        message: String,
    },
    /// The operator has written or deleted an object.
    Wrote {
        verb: &'static str,
        object: String,
        subresource: Option<String>,
        controller: Option<String>,
        /// The name of the object that controls it.
        owner: Option<String>,
        /// What has changed, a line for each field.
        diff: Vec<String>,
    },
    /// A request of kbr is done.
    Done { request: String },
}

impl Event {
    /// Writes it for kbr. If kbr is gone, so will be this process.
    fn tell(&self) {
        let line = serde_json::to_string(self).unwrap_or_default();
        let _ = writeln!(io::stdout(), "{line}");
    }
}

impl TestEnv {
    /// Serves `kbr dev` until standard input ends, which runs the operator as a process of its own against this
    /// environment. Standard input and output belong to kbr meanwhile.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`], [`TestEnvError::Certificate`], [`TestEnvError::Proxy`], [`TestEnvError::Kubeconfig`],
    /// and [`TestEnvError::Failed`] when a server ends.
    ///
    /// # Panics
    ///
    /// In an environment without manifests, and if it is called twice.
    pub async fn serve_kbr_dev(mut self) -> Result<(), TestEnvError> {
        IS_SERVING.store(true, Ordering::Relaxed);
        let requests = REQUESTS
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        let Some(mut requests) = requests else {
            panic!("kbr dev is served once");
        };
        // Also for webhooks that are created later.
        let installed = self.manager.as_mut();
        let Some(installed) = installed else {
            panic!("kbr dev needs the project's manifests");
        };
        if installed.serving.is_none() {
            installed.serving = Some(Serving::prepare(self.control_plane.folder())?);
        }
        let mut manifests = Manifests::read(&self.project, &self.control_plane.assets)?;
        if let Some(serving) = &self.installed().serving {
            manifests.call(serving);
        }
        let kubeconfig = self.tell_writes(&self.installed().kubeconfig).await?;
        let mut told = self.operator(&manifests, &kubeconfig);
        told.tell();
        self.write_crds().await?;
        let folder = self.logs();
        Event::Ready {
            kubeconfig: self.kubeconfig().to_owned(),
            logs: folder.to_owned(),
            crds: folder.join(CRDS),
            has_controllers: self.has_kubernetes_controllers(),
        }
        .tell();
        let mut rights = Rights::new(folder, self.installed().grants.clone());
        loop {
            let request = tokio::select! {
                request = requests.recv() => request,
                error = self.failed() => return Err(error),
                () = tokio::time::sleep(PAUSE * 4) => {
                    rights.tell_missing();
                    continue;
                }
            };
            let Some(request) = request else {
                return Ok(());
            };
            let done = format!("{request:?}").to_lowercase();
            match request {
                Request::Config => {
                    if let Some(new) = self.apply_config(&manifests).await {
                        manifests = new;
                    }
                    self.write_crds().await?;
                    rights.grant(manifests.grants_with(self.watched_namespaces()));
                    let now = self.operator(&manifests, &kubeconfig);
                    if now != told {
                        now.tell();
                        told = now;
                    }
                }
                Request::Samples => self.apply_samples().await,
                Request::Pause {
                    resource,
                    object,
                    is_paused,
                } => {
                    self.pause(&resource, &object, is_paused);
                    continue;
                }
            }
            Event::Done { request: done }.tell();
        }
    }

    /// How to start the operator: with the permissions, the Lease and the webhooks of its deployment.
    fn operator(&self, manifests: &Manifests, kubeconfig: &Path) -> Event {
        let installed = self.installed();
        let mut arguments = vec![
            format!("--kubeconfig={}", kubeconfig.display()),
            "--health-probe-bind-address=0".to_owned(),
        ];
        if let Some(lease) = manifests.lease() {
            let namespace = &manifests.account.namespace;
            arguments.push("--leader-elect".to_owned());
            arguments.push(format!("--leader-election-namespace={namespace}"));
            arguments.push(format!("--leader-election-id={lease}"));
        }
        if let Some(serving) = &installed.serving {
            arguments.extend([
                format!("--webhook-host={LOOPBACK}"),
                format!("--webhook-port={}", serving.port.number),
                format!("--webhook-cert-path={}", serving.certificates.display()),
                format!("--webhook-cert-name={}", keys::SERVING_CERTIFICATE),
                format!("--webhook-cert-key={}", keys::SERVING_KEY),
            ]);
        }
        let watched = self.watched_namespaces();
        let watched = (!watched.is_empty()).then(|| (WATCH_NAMESPACE.into(), watched.join(",")));
        Event::Operator {
            arguments,
            environment: watched.into_iter().collect(),
        }
    }

    /// Writes the CRDs as the API server has them, for kbr to compare with those of the sources.
    async fn write_crds(&self) -> Result<(), TestEnvError> {
        let crds: Vec<Value> = objects::crds(self.admin()).await.unwrap_or_default();
        let folder = self.control_plane.folder();
        folder.write(CRDS, &json!(crds).to_string()).map(|_| ())
    }
}

/// Lets a process of kbr end with kbr from now on: the start of an environment may wait for minutes.
pub(super) fn end_with_kbr() {
    if is_run_by_kbr_dev() {
        LazyLock::force(&REQUESTS);
    }
}

/// The requests from standard input, until it ends.
fn requests() -> UnboundedReceiver<Request> {
    let (sender, requests) = unbounded_channel();
    // A thread, since tokio cannot give up a read of standard input.
    thread::spawn(move || {
        for line in io::stdin().lock().lines() {
            let Ok(line) = line else { break };
            // A word, or an object.
            let parsed = serde_json::from_str(&line).unwrap_or_else(|_| json!(line.trim()));
            match serde_json::from_value(parsed) {
                Ok(request) => drop(sender.send(request)),
                Err(_) => Event::Refused {
                    object: line,
                    reason: "this kbr-testing does not know that request: type `kbr update`".into(),
                }
                .tell(),
            }
        }
        if !IS_SERVING.load(Ordering::Relaxed) {
            std::process::exit(1);
        }
    });
    requests
}

/// How long the API server may take to validate with a CRD that was just applied: it learns of it by a watch.
const LEARNS: Duration = Duration::from_millis(500);
