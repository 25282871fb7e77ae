//! The Lease of an operator that is deployed: how `kbr dev --context` takes it over, and hands it back.
//!
//! The operator that is developed takes it, by compare-and-swap, and waits until the deployed one no longer believes that it
//! leads. All operators of a session have the same identity, and none of them releases the Lease, so that the deployed one
//! does not come in between. If kbr is killed, the Lease expires.

use std::collections::BTreeMap;
use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::path::Path;
use std::sync::mpsc::Receiver;
use std::time::{Duration, Instant};

use super::Event;
use super::cluster::{Cluster, without};
use super::error::DevError;
use super::helper::Launch;
use super::session::Session;
use crate::commands::error::Result;
use crate::report::{Happening, Level, Report};
use crate::toolchain::child::Output;
use crate::toolchain::kubectl;
use crate::toolchain::secret_file::PrivateFile;
use serde_json::{Value, json};

/// The variable by which kbr-runtime knows who holds the Lease.
const HOLDER: &str = "KBR_DEV_LEASE_HOLDER";

/// How long the operator may take to finish its reconciles: the runtime's grace period, and a little more.
const GRACE: Duration = Duration::from_secs(30);

/// The flag that names the Lease.
const ID: &str = "--leader-election-id";

/// The beginnings of the flags of servers.
const SERVERS: [&str; 4] = [
    "--metrics-",
    "--mutating-webhook-",
    "--validating-webhook-",
    "--webhook-",
];

/// The Lease that a session holds.
pub(super) struct Held {
    name: String,
    holder: String,
}

impl Cluster {
    /// Refuses a cluster whose operator cannot step aside, and says what is not the same as if it were deployed.
    pub(super) fn can_be_taken(&self, applies: bool, report: &Report) -> Result<()> {
        self.lease().ok_or(DevError::NoLease)?;
        let text = if applies {
            "of config/default, the CRDs and the roles are applied, and nothing else"
        } else {
            "nothing of config/ is applied: CRDs and roles are those of the cluster; --apply applies them"
        };
        report.happening(&Happening::note(text));
        if self.has_webhooks {
            let text = "the API server cannot call the webhooks of this machine: those of the deployed operator answer";
            report.happening(&Happening::warning(text));
        }
        Ok(())
    }

    /// The name of the Lease.
    fn lease(&self) -> Option<String> {
        let mut arguments = self.arguments.iter();
        let is_elected = arguments.clone().any(|it| it == "--leader-elect");
        let name = arguments.find_map(|it| it.strip_prefix(ID)?.strip_prefix('='));
        name.filter(|_| is_elected).map(str::to_owned)
    }

    /// How to start the operator in the place of the deployed one. It gets `later` in addition.
    fn launch(&self, holder: &str, later: &[String]) -> Launch {
        let own = [
            self.flag(),
            format!("--leader-election-namespace={}", self.namespace),
            "--health-probe-bind-address=0".to_owned(),
        ];
        let replaced = [&own[..], later, &["--log-format".to_owned()]].concat();
        let mut arguments = without(&self.arguments, &replaced);
        // It serves nothing here: nobody would find it.
        arguments.retain(|it| !SERVERS.iter().any(|prefix| it.starts_with(prefix)));
        arguments.extend(own);
        let mut environment: BTreeMap<_, _> = self.environment.iter().cloned().collect();
        environment.insert(HOLDER.to_owned(), holder.to_owned());
        Launch {
            arguments,
            environment,
        }
    }

    /// Leaves the Lease without a holder, unless somebody else has it.
    fn hand_back(&self, root: &Path, held: &Held) -> Result<bool, String> {
        let kubeconfig = self.flag();
        let namespace = format!("--namespace={}", self.namespace);
        let get = "get --output=json leases.coordination.k8s.io";
        let text = kubectl::output(root, get, &[&held.name, &kubeconfig, &namespace])?;
        let mut lease: Value = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        let spec = &mut lease["spec"];
        if spec["holderIdentity"] != held.holder.as_str() {
            return Ok(false);
        }
        // As client-go leaves it.
        spec["holderIdentity"] = json!("");
        spec["leaseDurationSeconds"] = json!(1);
        let file = PrivateFile::write(&lease.to_string()).map_err(|error| error.to_string())?;
        // With the version that was read: the API server refuses it if there is a newer one.
        let replace = [file.path(), &kubeconfig, &namespace];
        kubectl::output(root, "replace --filename", &replace)?;
        Ok(true)
    }
}

impl Session<'_> {
    /// Develops the operator in that cluster, without a helper.
    pub(super) fn develop_in(&mut self, cluster: Cluster) {
        let number = RandomState::new().build_hasher().finish();
        let holder = format!("kbr-dev_{number:016x}");
        self.launch = Some(cluster.launch(&holder, &self.args.arguments));
        let name = cluster.lease().unwrap_or_default();
        self.held = Some(Held { name, holder });
        self.todo.config = self.args.apply;
        self.cluster = Some(cluster);
    }

    /// Stops the operator, and lets the deployed one resume.
    pub(super) fn leave_cluster(&mut self, events: &Receiver<Event>) {
        let (Some(cluster), Some(held)) = (self.cluster.take(), self.held.take()) else {
            return;
        };
        if let Some(operator) = &mut self.operator {
            operator.is_stopping = true;
            operator.process.terminate();
        }
        let end = Instant::now() + GRACE;
        while let Some(number) = self.operator.as_ref().map(|operator| operator.number) {
            match events.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(Event::Operator(of, output)) => {
                    let has_ended = matches!(output, Output::Ended(_)) && of == number;
                    self.operator(of, output);
                    if has_ended {
                        break;
                    }
                }
                // A second stop request ends the wait.
                Ok(Event::Stop) | Err(_) => break,
                Ok(_) => {}
            }
        }
        if self.operator.take().is_some() {
            let text = "the operator has not ended in time: the deployed one waits until the Lease expires";
            return self.fail("operator-killed", text);
        }
        let told = Happening::new("handed-back", Level::Good, "Stopped");
        match cluster.hand_back(self.root, &held) {
            Ok(true) => {
                self.tell(told.text("the Lease is handed back: the deployed operator resumes"))
            }
            Ok(false) => self.tell(told.text("another has the Lease")),
            Err(reason) => {
                let text = format!("the Lease was not handed back, and expires: {reason}");
                self.fail("error", &text);
            }
        }
    }
}
