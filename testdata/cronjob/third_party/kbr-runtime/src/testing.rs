// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A real API server for tests: etcd and kube-apiserver on loopback, while the process lives.
//!
//! [`TestEnv`] starts both with RBAC on, installs the CRDs, roles and webhooks of `config/default`,
//! and hands out clients: one that may do everything, and one that may do just what the deployed
//! manager may. Webhooks are called on loopback, with a certificate that is made on the spot.
//! Nothing here imitates Kubernetes. There is no kubelet, so no pod ever runs, and without
//! [`Builder::kubernetes_controllers`] no controller either: nothing collects garbage, and a
//! deleted namespace stays.
//!
//! [`least_privilege()`] proves that this is what the manager needs and no more, from what it asked
//! of the API server; [`TestEnv::requests`] tells that to tests.
//!
//! A test runner that gives each test a process of its own, such as nextest, gives each its own
//! servers.
//!
//! The binaries come from the folder `$KUBEBUILDER_ASSETS`, or from `kbr envtest use`. Logs and
//! kubeconfigs are in a folder `testenv` of the target directory, for a quarter of an hour at least.

mod assets;
mod audit;
mod builder;
mod control_plane;
#[cfg(feature = "manager")]
mod conversions;
mod error;
mod folder;
mod grants;
mod install;
mod keys;
mod least_privilege;
mod mount;
#[cfg(feature = "manager")]
mod operator;
mod roles;
mod server;
mod serving;
mod suite;
mod test_target;
#[cfg(feature = "manager")]
mod values;
mod webhooks;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ObjectMeta, PostParams};
use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;

#[cfg(feature = "manager")]
use crate::{Flags, Manager};
use audit::AuditLog;
pub use audit::AuditedRequest;
pub use builder::Builder;
use control_plane::{ControlPlane, PAUSE};
#[cfg(feature = "manager")]
pub use conversions::conversions_lose_nothing;
use error::LogEnd;
pub use error::TestEnvError;
#[cfg(feature = "manager")]
use grants::Grant;
pub use least_privilege::least_privilege;
#[cfg(feature = "manager")]
pub use operator::Operator;
#[cfg(feature = "manager")]
use roles::Role;
use serving::Serving;

/// Where the operator logs, in the folder of the environment.
const OPERATOR_LOG: &str = "operator.log";

/// How long [`TestEnv::wait_for`] waits: far longer than anything should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// An API server of one's own, with the project installed. Dropping it stops the servers.
///
/// One serves a whole test binary, from a `static`; each test takes a [`TestEnv::namespace`].
/// The servers never outlive the process, however it ends. Should one of them end before, the
/// process says why and ends as well, since no test could go on.
pub struct TestEnv {
    project: PathBuf,
    control_plane: ControlPlane,
    admin: Config,
    /// Nobody is installed in an environment without manifests.
    manager: Option<Installed>,
}

/// The manager's ServiceAccount.
struct Installed {
    kubeconfig: PathBuf,
    config: Config,
    /// What the roles bound to it allow.
    #[cfg(feature = "manager")]
    grants: BTreeSet<(Role, Grant)>,
    webhook_paths: BTreeSet<String>,
    /// Where they are called, if any are.
    serving: Option<Serving>,
    deployment: PathBuf,
}

impl TestEnv {
    /// The environment of the project whose root is `project`: `env!("CARGO_MANIFEST_DIR")`.
    #[must_use]
    pub fn builder(project: impl AsRef<Path>) -> Builder {
        Builder::new(project.as_ref())
    }

    /// Starts an environment as most tests want it; see [`Builder::start`].
    ///
    /// # Errors
    ///
    /// Those of [`Builder::start`].
    pub fn start(project: impl AsRef<Path>) -> Result<Self, TestEnvError> {
        Self::builder(project).start()
    }

    /// A client that may do everything. It belongs to the async runtime of its caller.
    ///
    /// # Panics
    ///
    /// Outside of an async runtime.
    #[must_use]
    pub fn admin(&self) -> Client {
        client(self.admin.clone())
    }

    /// A client that may do what the deployed manager may: it is the ServiceAccount of the
    /// Deployment in `config/default`, bound to the roles there.
    ///
    /// # Panics
    ///
    /// Outside of an async runtime, and in an environment without manifests.
    #[must_use]
    pub fn manager(&self) -> Client {
        client(self.manager_config())
    }

    /// How to reach the API server as the deployed manager does.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn manager_config(&self) -> Config {
        self.installed().config.clone()
    }

    /// A kubeconfig that may do everything.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.control_plane.kubeconfig()
    }

    /// A kubeconfig of the deployed manager's ServiceAccount.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn manager_kubeconfig(&self) -> &Path {
        &self.installed().kubeconfig
    }

    fn installed(&self) -> &Installed {
        let Some(manager) = &self.manager else {
            panic!("no manager is installed in an environment without manifests");
        };
        manager
    }

    /// Writes a kubeconfig of that ServiceAccount, with a token that is good for a day.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Refused`] when there is no such account, [`TestEnvError::Folder`].
    pub async fn kubeconfig_of(
        &self,
        namespace: &str,
        account: &str,
    ) -> Result<PathBuf, TestEnvError> {
        let token = install::token(client(self.admin.clone()), namespace, account).await;
        let token = token.map_err(|source| self.control_plane.refused("a token", source))?;
        self.control_plane
            .write_kubeconfig(&format!("{namespace}.{account}.kubeconfig"), &token)
    }

    /// Where the logs of the servers and of [`TestEnv::start_operator`] are.
    #[must_use]
    pub fn logs(&self) -> &Path {
        self.control_plane.folder().path()
    }

    /// What was asked in the manager's name, by whomever, oldest first.
    ///
    /// A request is there when it has been answered, a watch when it has begun. What it did may be
    /// seen a moment before.
    ///
    /// # Panics
    ///
    /// In an environment without manifests, and when its audit log cannot be read.
    #[must_use]
    pub fn requests(&self) -> Vec<AuditedRequest> {
        self.installed();
        let mut log = AuditLog::of(self.logs());
        let requests = log.read_on();
        requests.unwrap_or_else(|error| panic!("`{}`: {error}", log.path().display()))
    }

    /// The paths of all webhooks that `config/default` has the API server call.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn webhook_paths(&self) -> BTreeSet<String> {
        self.installed().webhook_paths.clone()
    }

    /// Makes a manager with these flags serve its webhooks where the API server calls them. Flags
    /// stay as they are where it calls none.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[cfg(feature = "manager")]
    pub fn serve_webhooks(&self, flags: &mut Flags) {
        if let Some(serving) = &self.installed().serving {
            serving.set(flags);
        }
    }

    /// Replaces the certificate of the webhooks and its key, as the kubelet does when cert-manager has
    /// renewed them. Whoever trusted `ca.crt`, which lies beside them, goes on trusting.
    ///
    /// Nothing changes where the API server calls no webhooks.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Certificate`] and [`TestEnvError::Folder`].
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    pub fn renew_webhook_certificate(&self) -> Result<(), TestEnvError> {
        let serving = self.installed().serving.as_ref();
        serving.map_or(Ok(()), Serving::renew)
    }

    /// A file for kubectl with all of `config/default` that this API server can take: without the
    /// objects of cert-manager, and with webhooks that are called here.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn deployment(&self) -> &Path {
        &self.installed().deployment
    }

    /// Starts the operator: a manager of the controllers and webhooks that `register` adds, as the
    /// deployed ServiceAccount.
    ///
    /// It runs on a thread of its own until [`Operator::stop`] or the end of the process, and logs
    /// into `operator.log`, see [`TestEnv::logs`]. Should it end before, the process says why and
    /// ends as well, and so it does when the API server refuses the operator what no role allows.
    ///
    /// Blocks the thread until the webhooks answer that `config/default` has called.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] when the log cannot be written, [`TestEnvError::Operator`], [`TestEnvError::NoWebhooks`],
    /// and [`TestEnvError::NotReady`].
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[cfg(feature = "manager")]
    pub fn start_operator(
        &self,
        register: impl FnOnce(&mut Manager) + Send + 'static,
    ) -> Result<Operator, TestEnvError> {
        operator::start(register, self.installed(), self.logs())
    }

    /// Makes a namespace that nobody else uses, and returns its name.
    ///
    /// # Panics
    ///
    /// When the API server does not take it.
    pub async fn namespace(&self) -> String {
        let namespace = Namespace {
            metadata: ObjectMeta {
                generate_name: Some("test-".to_owned()),
                ..ObjectMeta::default()
            },
            ..Namespace::default()
        };
        let api = Api::<Namespace>::all(self.admin());
        let created = api.create(&PostParams::default(), &namespace).await;
        let created = created.unwrap_or_else(|error| panic!("no namespace: {error}"));
        created.metadata.name.unwrap_or_default()
    }

    /// Waits until `condition` holds for the object called `name`, and returns the object.
    ///
    /// A condition is a function of `Option<&K>`, or one of [`kube::runtime::wait::conditions`].
    ///
    /// # Panics
    ///
    /// When it does not hold within a minute; the message shows the object as it is then, and the
    /// end of the operator's log.
    pub async fn wait_for<K>(
        &self,
        api: &Api<K>,
        name: &str,
        condition: impl Condition<K>,
    ) -> Option<K>
    where
        K: Clone + Debug + DeserializeOwned + Resource + Send + Serialize + 'static,
    {
        let holds = |object: Option<&K>| condition.matches_object(object);
        let met = async {
            loop {
                match await_condition(api.clone(), name, holds).await {
                    Ok(object) => return object,
                    // The API server may be away for a while; what stays wrong is shown below.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        if let Ok(object) = tokio::time::timeout(PATIENCE, met).await {
            return object;
        }
        let now = match api.get_opt(name).await {
            Ok(mut object) => {
                // Longer than everything else, and about who wrote what.
                let metadata = object.as_mut().map(K::meta_mut);
                metadata.map(|metadata| metadata.managed_fields.take());
                serde_json::to_string_pretty(&object).unwrap_or_default()
            }
            Err(error) => error.to_string(),
        };
        let log = self.logs().join(OPERATOR_LOG);
        let (end, log) = (LogEnd::of(&log), log.display());
        panic!(
            "`{name}` is not as expected after {PATIENCE:?}; it is {now}\n\
             the operator's log, {log}, ends with\n{end}"
        )
    }

    /// The binary kubectl, speaking to this API server with every right, in the project's folder.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        let mut command = Command::new(self.control_plane.kubectl());
        command
            .current_dir(&self.project)
            .env("KUBECONFIG", self.kubeconfig())
            // The user's own cache would fill with servers that are gone, and what it remembers of
            // one would be wrong for the next on the same port.
            .env("KUBECACHEDIR", self.logs().join("kubectl"));
        command
    }

    /// Reads the one object of a YAML file of the project, such as a sample.
    ///
    /// # Panics
    ///
    /// When there is no such file, or something else in it.
    #[must_use]
    pub fn read<K: DeserializeOwned>(&self, path: impl AsRef<Path>) -> K {
        let path = self.project.join(path);
        let text = std::fs::read_to_string(&path);
        let text = text.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        serde_saphyr::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
    }

    /// Kills the API server, in the middle of whatever it does. etcd keeps the objects.
    pub fn kill_api_server(&self) {
        self.control_plane.kill_api_server();
    }

    /// Starts the API server again, on the port that it had, and waits until it is ready. One that
    /// runs is killed before.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::PortTaken`], [`TestEnvError::Ended`] and [`TestEnvError::NotReady`].
    pub async fn start_api_server(&self) -> Result<(), TestEnvError> {
        self.control_plane.start_api_server().await?;
        self.control_plane.guard()
    }
}

impl Debug for TestEnv {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = formatter.debug_struct("TestEnv");
        debug.field("logs", &self.logs()).finish_non_exhaustive()
    }
}

fn client(config: Config) -> Client {
    Client::try_from(config).unwrap_or_else(|error| panic!("no client: {error}"))
}
