// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A real API server for the tests of Kubernetes operators: etcd and kube-apiserver on loopback. The
//! counterpart of envtest in Go.
//!
//! [`TestEnv`] starts both with RBAC on and installs the CRDs, roles, webhooks and policies of the project's
//! `config/default`. It has two clients: [`TestEnv::admin`] has full permissions, and
//! [`TestEnv::manager`] has those of the deployed manager. The API server calls webhooks on loopback,
//! with a certificate that is generated for the environment.
//!
//! This crate is for dev-dependencies. What it tests is usually built on [`kbr_runtime`]:
//! [`TestEnv::start_operator`] runs its manager in the test process.
//!
#![cfg_attr(feature = "manager", doc = "```no_run")]
#![cfg_attr(not(feature = "manager"), doc = "```ignore")]
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # fn register(_: &mut kbr_runtime::Manager) {}
//! # fn is_ready(_: Option<&Greeting>) -> bool { true }
//! use kbr_testing::TestEnv;
//! use kube::api::PostParams;
//! use kube::{Api, ResourceExt};
//!
//! # async fn a_greeting_becomes_ready() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
//! env.start_operator(register)?;
//!
//! let api = Api::<Greeting>::namespaced(env.admin(), &env.namespace().await);
//! let sample = env.sample(&api, "config/samples/greeting.yaml").await;
//! let greeting = api.create(&PostParams::default(), &sample).await?;
//!
//! env.wait_for(&api, &greeting.name_any(), is_ready).await;
//! # Ok(())
//! # }
//! ```
//!
//! It runs as the ServiceAccount that it is deployed with: if a role lacks a rule, the test ends with a
//! message that shows the rule to add. Give each test its own namespace, and wait for what users see,
//! such as a condition. One environment serves all tests of a binary: put it in a `static` `LazyLock`.
//!
//! Without the default feature `manager`, this crate runs no operator and needs none of what an operator
//! needs: it is an API server for the tests of any program that uses [`kube`].
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kbr_testing::TestEnv;
//! use kube::Api;
//! use kube::api::PostParams;
//! use kube::runtime::wait::conditions;
//!
//! # async fn a_config_map_is_created() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR")).without_manifests().start()?;
//! let api = Api::<ConfigMap>::namespaced(env.admin(), &env.namespace().await);
//!
//! let mut object = ConfigMap::default();
//! object.metadata.name = Some("example".to_owned());
//! api.create(&PostParams::default(), &object).await?;
//!
//! env.wait_for(&api, "example", conditions::is_created()).await;
//! # Ok(())
//! # }
//! ```
//!
//! # What differs from a cluster
//!
//! There are no nodes, so no container ever runs. [`TestEnv::kubelet`] lets a test decide what happens to
//! a pod, or runs every pod, and writes its status as a kubelet does. Kubernetes' own controllers run only
//! if [`Builder::kubernetes_controllers`] asks for them. Without them there is no garbage collection, and
//! a deleted namespace is never removed. A deleted PersistentVolumeClaim or PersistentVolume goes at once:
//! the API server adds `kubernetes.io/pvc-protection` and the like only if the controllers that remove these
//! finalizers run, such as `persistentvolumeclaim-protection-controller`.
//!
//! # Namespaces
//!
//! If the operator watches the whole cluster, each test creates a namespace with [`TestEnv::namespace`].
//! An operator that watches individual namespaces must know them when it starts, so the environment
//! creates them first, and grants the manager in each of them what `config/default` grants it in a
//! namespace that it watches.
//!
//! # Faults
//!
//! [`TestEnv::kill_api_server`] stops the API server. [`FaultProxy`] is a proxy in front of it that
//! swallows, refuses or cuts the requests of one operator.
//!
//! # Crashes
//!
//! [`Crash`] proves that the objects become the same wherever the operator dies or one of its requests fails. It needs
//! the feature `crash`, which `make test-crash` turns on, so that other tests need not compile it.
//!
//! # Least privilege
//!
//! [`least_privilege()`] proves that the roles of the manager grant what it needs and no more.
//! [`TestEnv::requests`] returns the requests made in the manager's name.
//!
//! # Binaries and logs
//!
//! etcd, kube-apiserver and kubectl come from the folder `$KUBEBUILDER_ASSETS`. Without that variable,
//! kbr is asked for those that `kbr envtest use` has installed. An API server that is older than the
//! types of `k8s-openapi` drops fields that it does not know, so it is refused, unless
//! `KBR_ALLOW_OLDER_KUBERNETES=true` allows it.
//!
//! Logs and kubeconfigs are in the folder `testenv` of the target directory. They are kept for at
//! least 15 minutes after the test.
//!
//! A test runner that runs each test in its own process, such as nextest, starts servers for each
//! test.

#![cfg_attr(
    not(all(feature = "conversion", feature = "crash", feature = "development")),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "what is left out has no docs"
    )
)]

mod assets;
mod audit;
mod builder;
mod control_plane;
#[cfg(feature = "conversion")]
mod conversions;
#[cfg(feature = "crash")]
mod crash;
#[cfg(feature = "development")]
mod development;
mod error;
mod external;
mod failure;
mod fault_proxy;
mod folder;
mod grants;
#[cfg(any(feature = "crash", feature = "development"))]
mod http_proxy;
mod install;
mod keys;
mod kubelet;
mod least_privilege;
#[cfg(feature = "manager")]
mod metrics;
mod mount;
mod namespaces;
#[cfg(feature = "manager")]
mod operator;
mod policies;
mod port;
mod roles;
mod samples;
mod server;
mod serving;
mod suite;
mod test_target;
mod thread;
#[cfg(feature = "manager")]
mod unreadable;
#[cfg(feature = "conversion")]
mod values;
mod webhooks;

use std::collections::BTreeSet;
use std::fmt::{self, Debug};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

#[cfg(feature = "manager")]
use kbr_runtime::{Flags, Manager};
use kube::runtime::wait::{Condition, await_condition};
use kube::{Api, Client, Config, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tokio::sync::watch;
#[cfg(feature = "manager")]
use tokio_util::sync::DropGuard;

use audit::AuditLog;
pub use audit::AuditedRequest;
pub use builder::Builder;
use control_plane::{ControlPlane, PAUSE};
#[cfg(feature = "conversion")]
pub use conversions::conversion_loses_nothing;
#[cfg(feature = "crash")]
pub use crash::{Crash, Stage};
use error::LogEnd;
pub use error::TestEnvError;
use failure::{Failure, fail};
pub use fault_proxy::{FaultProxy, ProxiedRequest};
#[cfg(feature = "manager")]
use grants::Grant;
pub use kubelet::Kubelet;
pub use least_privilege::least_privilege;
#[cfg(feature = "manager")]
use metrics::Metrics;
use namespaces::Pool;
#[cfg(feature = "manager")]
pub use operator::Operator;
#[cfg(feature = "manager")]
use roles::Role;
pub use samples::read;
use serving::Serving;

/// The operator's log file, in the folder of the environment.
const OPERATOR_LOG: &str = "operator.log";

/// How long [`TestEnv::wait_for`] waits: far longer than anything should take.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running API server with the project installed.
///
/// One is enough for all tests of a binary: put it in a `static`, and give each test its own
/// namespace with [`TestEnv::namespace`].
///
/// Dropping it stops the servers, and they never outlive the process. If a server ends by itself, each test
/// that uses the environment fails with the reason, at once if it waits in [`TestEnv::wait_for`].
///
/// ```no_run
/// use std::sync::LazyLock;
///
/// use kbr_testing::{TestEnv, TestEnvError};
///
/// fn env() -> &'static TestEnv {
///     static ENV: LazyLock<Result<TestEnv, TestEnvError>> =
///         LazyLock::new(|| TestEnv::start(env!("CARGO_MANIFEST_DIR")));
///     ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
/// }
/// ```
pub struct TestEnv {
    /// Stops the operators, before the servers are stopped.
    #[cfg(feature = "manager")]
    operators: DropGuard,
    /// Parts of the warnings about writes that fail no test.
    #[cfg(feature = "manager")]
    allowed_warnings: Vec<String>,
    /// Dropping it stops the automatic kubelets.
    kubelets: watch::Sender<()>,
    project: PathBuf,
    control_plane: ControlPlane,
    admin: Config,
    /// `None` in an environment without manifests.
    manager: Option<Installed>,
}

/// The manager's ServiceAccount.
struct Installed {
    kubeconfig: PathBuf,
    config: Config,
    /// What the roles bound to it allow.
    #[cfg(feature = "manager")]
    grants: BTreeSet<(Role, Grant)>,
    /// Namespace and name of the Lease, if it uses leader election.
    #[cfg(feature = "manager")]
    lease: Option<(String, String)>,
    /// Where it serves metrics, if it does.
    #[cfg(feature = "manager")]
    metrics: Option<Metrics>,
    webhook_paths: BTreeSet<String>,
    /// Where webhooks are called, if there are any.
    serving: Option<Serving>,
    deployment: PathBuf,
    /// The namespaces that it watches, if it does not watch the cluster.
    pool: Option<Pool>,
}

impl TestEnv {
    /// An environment for the project in the folder `project`, usually `env!("CARGO_MANIFEST_DIR")`.
    /// Start it with [`Builder::start`].
    #[must_use]
    pub fn builder(project: impl AsRef<Path>) -> Builder {
        Builder::new(project.as_ref())
    }

    /// Starts an environment with the defaults of the [`Builder`]; see [`Builder::start`].
    ///
    /// # Errors
    ///
    /// Those of [`Builder::start`].
    pub fn start(project: impl AsRef<Path>) -> Result<Self, TestEnvError> {
        Self::builder(project).start()
    }

    /// A new client with full permissions. Use it only in the async runtime in which it was
    /// created.
    ///
    /// # Panics
    ///
    /// Outside of an async runtime.
    #[must_use]
    pub fn admin(&self) -> Client {
        self.failure().check();
        client(self.admin.clone())
    }

    /// A new client with the permissions of the deployed manager: those of the ServiceAccount of
    /// the Deployment in `config/default`, with the roles that are bound to it there.
    ///
    /// # Panics
    ///
    /// Outside of an async runtime, and in an environment without manifests.
    #[must_use]
    pub fn manager(&self) -> Client {
        self.failure().check();
        client(self.manager_config())
    }

    /// The configuration of [`TestEnv::manager`], for a client or a
    /// [`Manager`](kbr_runtime::Manager::with_config) of your own.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn manager_config(&self) -> Config {
        self.installed().config.clone()
    }

    /// The configuration of a client with full permissions.
    #[must_use]
    pub fn admin_config(&self) -> Config {
        self.admin.clone()
    }

    /// The path of a kubeconfig with full permissions.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        self.control_plane.kubeconfig()
    }

    /// The path of a kubeconfig with the permissions of the deployed manager.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn manager_kubeconfig(&self) -> &Path {
        &self.installed().kubeconfig
    }

    /// Waits until the environment fails, because a server or an operator has ended by itself or because the operator
    /// has asked for what it must not, and returns why. This is for programs: tests need not wait for it.
    pub async fn failed(&self) -> TestEnvError {
        TestEnvError::Failed(self.failure().wait().await)
    }

    fn failure(&self) -> &Failure {
        &self.control_plane.failure
    }

    fn installed(&self) -> &Installed {
        let Some(manager) = &self.manager else {
            panic!("no manager is installed in an environment without manifests");
        };
        manager
    }

    /// Writes a kubeconfig for the ServiceAccount `account`, with a token that is valid for a day,
    /// and returns its path.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Refused`] when the account does not exist, and [`TestEnvError::Folder`] when the
    /// file cannot be written.
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

    /// Whether any of Kubernetes' own controllers run.
    #[must_use]
    pub fn has_kubernetes_controllers(&self) -> bool {
        self.control_plane.has_controller_manager()
    }

    /// The folder of the logs of the servers and of [`TestEnv::start_operator`].
    #[must_use]
    pub fn logs(&self) -> &Path {
        self.control_plane.folder().path()
    }

    /// All requests made in the name of the manager's ServiceAccount, oldest first, from the audit
    /// log of the API server.
    ///
    /// A request is logged once it has been answered, and a watch once it has started. Its effect may
    /// be visible a moment earlier.
    ///
    /// # Panics
    ///
    /// In an environment without manifests, and when its audit log cannot be read.
    #[must_use]
    pub fn requests(&self) -> Vec<AuditedRequest> {
        self.failure().check();
        self.installed();
        let mut log = AuditLog::of(self.logs());
        let requests = log.read_on();
        requests.unwrap_or_else(|error| panic!("`{}`: {error}", log.path().display()))
    }

    /// The paths of all webhooks that are configured in `config/default`.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn webhook_paths(&self) -> BTreeSet<String> {
        self.installed().webhook_paths.clone()
    }

    /// Sets the flags so that a manager serves its webhooks where the API server calls them. Changes
    /// nothing if no webhooks are installed.
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
    /// renewed them. The new certificate is signed by the same CA.
    ///
    /// Changes nothing if no webhooks are installed.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Certificate`] when no certificate can be generated, and [`TestEnvError::Folder`]
    /// when it cannot be written.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    pub fn renew_webhook_certificate(&self) -> Result<(), TestEnvError> {
        let serving = self.installed().serving.as_ref();
        serving.map_or(Ok(()), Serving::renew)
    }

    /// The path of a manifest with all of `config/default` that this API server accepts: without the
    /// objects of cert-manager, and with webhooks that are called on loopback.
    ///
    /// # Panics
    ///
    /// In an environment without manifests.
    #[must_use]
    pub fn deployment(&self) -> &Path {
        &self.installed().deployment
    }

    /// Starts the operator: a manager with the controllers and webhooks that `register` adds, with the
    /// permissions of the deployed ServiceAccount, or with full permissions in an environment without
    /// manifests. It takes part in leader election if the Deployment in `config/default` has
    /// `--leader-elect`: of several operators in one environment, one runs its controllers.
    ///
    /// It runs on its own thread until [`Operator::stop`] or the end of the environment. Its log is the file
    /// `operator.log` in [`TestEnv::logs`]. Each test that uses the environment fails with the reason, at once if it
    /// waits in [`TestEnv::wait_for`], when
    ///
    /// - the operator ends by itself,
    /// - the API server refuses one of its requests because a rule is missing in its roles,
    /// - the API server warns about one of its writes, such as of a field that it does not know and drops, or of
    ///   a deprecated version. [`Builder::allow_warning`] allows a certain warning.
    ///
    /// Blocks the calling thread until the webhooks respond, if any are configured in
    /// `config/default`.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] when the log cannot be written, [`TestEnvError::Operator`] when no thread
    /// can be started, [`TestEnvError::NoWebhooks`] when webhooks are configured but `register` adds none,
    /// and [`TestEnvError::NotReady`] when they do not respond.
    #[cfg(feature = "manager")]
    pub fn start_operator(
        &self,
        register: impl FnOnce(&mut Manager) + Send + 'static,
    ) -> Result<Operator, TestEnvError> {
        operator::start(register, self)
    }

    /// The metrics of the operator, in the OpenMetrics text format. They are read as Prometheus does, with
    /// a ServiceAccount that is bound to the ClusterRole in `config/default` that allows this.
    ///
    /// # Panics
    ///
    /// When no metrics are served, when the operator refuses the request, and in an environment without
    /// manifests.
    #[cfg(feature = "manager")]
    pub async fn scrape(&self) -> String {
        let Some(metrics) = &self.installed().metrics else {
            panic!("the Deployment in `config/default` has no `--metrics-bind-address`");
        };
        metrics.scrape(self.admin()).await
    }

    /// Creates a namespace with a generated name, for one test, and returns the name.
    ///
    /// If the deployed manager watches individual namespaces instead of the cluster, it returns one
    /// of [`TestEnv::watched_namespaces`] instead, a different one each time.
    ///
    /// # Panics
    ///
    /// When the API server refuses the namespace, and when all watched namespaces have been
    /// returned: then create more with [`Builder::namespaces`].
    pub async fn namespace(&self) -> String {
        if let Some(pool) = self.pool() {
            return pool.take();
        }
        let created = namespaces::generate(&self.admin()).await;
        created.unwrap_or_else(|error| panic!("no namespace: {error}"))
    }

    /// The namespaces that the operator watches, if the Deployment in `config/default` has the variable
    /// `WATCH_NAMESPACE`: in each of them, the manager has the permissions that it has in those that
    /// the variable names. [`TestEnv::start_operator`] makes it watch them; for other managers, set
    /// [`Flags::watch_namespace`]. Empty for an operator that watches the whole cluster.
    #[must_use]
    pub fn watched_namespaces(&self) -> &[String] {
        self.pool().map_or(&[], Pool::names)
    }

    fn pool(&self) -> Option<&Pool> {
        self.manager.as_ref()?.pool.as_ref()
    }

    /// Waits until `condition` is true for the object `name`, and returns the object, or `None` if it
    /// does not exist then.
    ///
    /// A condition is a function from `Option<&K>` to `bool`, or one of
    /// [`kube::runtime::wait::conditions`].
    ///
    /// # Panics
    ///
    /// When the condition does not become true within a minute: the message shows the current object
    /// and the end of the operator's log. Also when a server or the operator has ended.
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
                    // The API server may be unavailable for a while; a lasting error is shown
                    // below.
                    Err(_) => tokio::time::sleep(PAUSE).await,
                }
            }
        };
        let met = tokio::time::timeout(PATIENCE, met);
        let met = tokio::select! {
            biased;
            reason = self.failure().wait() => fail(reason),
            met = met => met,
        };
        if let Ok(object) = met {
            return object;
        }
        let now = match api.get_opt(name).await {
            Ok(mut object) => {
                // Longer than the rest, and only about who wrote which field.
                let metadata = object.as_mut().map(K::meta_mut);
                metadata.map(|metadata| metadata.managed_fields.take());
                serde_json::to_string_pretty(&object).unwrap_or_default()
            }
            Err(error) => error.to_string(),
        };
        let log = self.logs().join(OPERATOR_LOG);
        let (end, log) = (LogEnd::of(&log), log.display());
        fail(format!(
            "`{name}` is not as expected after {PATIENCE:?}; it is {now}\n\
             the operator's log, {log}, ends with\n{end}"
        ))
    }

    /// A command that runs kubectl against this API server as [`TestEnv::admin`], in the project's
    /// folder.
    #[must_use]
    pub fn kubectl(&self) -> Command {
        self.failure().check();
        let mut command = Command::new(self.control_plane.kubectl());
        command
            .current_dir(&self.project)
            .env("KUBECONFIG", self.kubeconfig())
            // The user's own cache would fill with entries for stopped servers, and an entry would
            // be wrong for the next server on the same port.
            .env("KUBECACHEDIR", self.logs().join("kubectl"));
        command
    }

    /// Kills the API server without a graceful shutdown. etcd keeps the objects.
    ///
    /// Start it again within ten seconds if [`TestEnv::start_operator`] has started an operator that is the
    /// leader: otherwise the operator loses its Lease and ends, and the tests fail.
    pub fn kill_api_server(&self) {
        self.control_plane.kill_api_server();
    }

    /// Starts the API server again on the same port, and waits until it is ready. If it is running, it is
    /// killed first.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::PortTaken`] when another process uses the port, and [`TestEnvError::Ended`] or
    /// [`TestEnvError::NotReady`] when the server does not start.
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

// Compiles the operator in the README of `kbr-runtime` and its test.
#[cfg(all(doctest, feature = "manager"))]
#[doc = include_str!("../../kbr-runtime/README.md")]
mod readme {}
