// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How an environment is built and started.

use std::env;
use std::path::{Path, PathBuf};

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kbr_runtime::internal::install_tls_provider;
use tokio::sync::watch;
#[cfg(feature = "manager")]
use tokio_util::sync::CancellationToken;

use super::assets::Assets;
use super::control_plane::{self, CONTROLLER_MANAGER, ControlPlane};
#[cfg(feature = "development")]
use super::development;
use super::external;
use super::install::{Manifests, install_crds};
#[cfg(feature = "manager")]
use super::metrics::Metrics;
use super::namespaces::{Pool, Wanted};
use super::serving::Serving;
use super::suite::Suite;
use super::{Installed, TestEnv, TestEnvError, client};

/// Options of a [`TestEnv`], from [`TestEnv::builder`].
///
/// ```no_run
/// use kbr_testing::{TestEnv, TestEnvError};
///
/// fn start() -> Result<TestEnv, TestEnvError> {
///     TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
///         .without_webhooks()
///         .kubernetes_controllers(&["garbage-collector-controller"])
///         .start()
/// }
/// ```
#[derive(Clone, Debug)]
pub struct Builder {
    project: PathBuf,
    is_bare: bool,
    has_webhooks: bool,
    controllers: Vec<String>,
    /// Those that run if kube-controller-manager is installed.
    optional_controllers: Vec<String>,
    api_server: Vec<String>,
    crds: Vec<CustomResourceDefinition>,
    watched: Wanted,
    #[cfg(feature = "manager")]
    allowed_warnings: Vec<String>,
}

/// How many namespaces are watched by default. Each has its own controllers.
const NAMESPACES: usize = 32;

impl Builder {
    pub(super) fn new(project: &Path) -> Self {
        Self {
            project: project.to_owned(),
            is_bare: false,
            has_webhooks: !env::var("ENABLE_WEBHOOKS").is_ok_and(|value| value == "false"),
            controllers: Vec::new(),
            optional_controllers: Vec::new(),
            api_server: Vec::new(),
            crds: Vec::new(),
            watched: Wanted::Many(NAMESPACES),
            #[cfg(feature = "manager")]
            allowed_warnings: Vec::new(),
        }
    }

    /// Installs nothing: the API server is as empty as in a new cluster, and `config/default` need not
    /// exist. The environment then has no ServiceAccount of the manager, and methods that need it
    /// panic.
    #[must_use]
    pub fn without_manifests(mut self) -> Self {
        self.is_bare = true;
        self
    }

    /// Installs no webhooks: the API server calls none, and converts no fields between versions.
    ///
    /// The environment variable `ENABLE_WEBHOOKS=false` has the same effect on all environments, and
    /// turns webhooks off in the manager too.
    #[must_use]
    pub fn without_webhooks(mut self) -> Self {
        self.has_webhooks = false;
        self
    }

    /// Installs these CRDs as well, such as `MyKind::crd()`.
    #[must_use]
    pub fn crds(mut self, crds: impl IntoIterator<Item = CustomResourceDefinition>) -> Self {
        self.crds.extend(crds);
        self
    }

    /// Creates this many namespaces for [`TestEnv::namespace`] to return, 32 by default, if the deployed
    /// manager watches individual namespaces instead of the cluster. Otherwise this changes nothing:
    /// namespaces are created on request.
    #[must_use]
    pub fn namespaces(mut self, count: usize) -> Self {
        self.watched = Wanted::Many(count);
        self
    }

    /// Like [`Builder::namespaces`], but with these names, such as `default`. Namespaces that do not exist
    /// are created. An empty list changes nothing.
    #[must_use]
    pub fn watch(mut self, namespaces: &[impl AsRef<str>]) -> Self {
        if !namespaces.is_empty() {
            let names = namespaces.iter().map(|name| name.as_ref().to_owned());
            self.watched = Wanted::Named(names.collect());
        }
        self
    }

    /// Also runs these controllers that are part of Kubernetes, such as
    /// `garbage-collector-controller`, `job-controller` or `namespace-controller`. The names are
    /// those of the flag `--controllers` of kube-controller-manager.
    ///
    /// Needs the binary kube-controller-manager: `kbr envtest use --with-controller-manager`.
    #[must_use]
    pub fn kubernetes_controllers(mut self, names: &[&str]) -> Self {
        self.controllers
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Like [`Builder::kubernetes_controllers`], but if kube-controller-manager is not installed, these
    /// controllers do not run, and nothing fails. [`TestEnv::has_kubernetes_controllers`] tells whether any
    /// run.
    #[must_use]
    pub fn kubernetes_controllers_if_installed(mut self, names: &[&str]) -> Self {
        self.optional_controllers
            .extend(names.iter().map(|name| (*name).to_owned()));
        self
    }

    /// Adds command-line arguments for kube-apiserver, after the default ones.
    ///
    /// [`TestEnv::requests`] returns nothing if they set another audit log.
    #[must_use]
    pub fn api_server_args(mut self, arguments: &[&str]) -> Self {
        self.api_server
            .extend(arguments.iter().map(|argument| (*argument).to_owned()));
        self
    }

    /// Lets the API server warn about writes of the operator with texts that contain `text`, such as
    /// `v1 Endpoints is deprecated`. Any other warning about a write fails the tests: see
    /// [`TestEnv::start_operator`].
    #[cfg(feature = "manager")]
    #[must_use]
    pub fn allow_warning(mut self, text: &str) -> Self {
        self.allowed_warnings.push(text.to_owned());
        self
    }

    /// Starts the servers and waits until they are ready and the project is installed.
    ///
    /// Blocks the calling thread, for about three seconds. It may be called from async code.
    ///
    /// # Errors
    ///
    /// Any [`TestEnvError`]. If a server failed, the error names its log.
    pub fn start(self) -> Result<TestEnv, TestEnvError> {
        install_tls_provider();
        #[cfg(feature = "development")]
        development::end_with_kbr();
        block_on(async {
            // Anything missing or wrong in the project is reported before anything starts.
            let assets = Assets::find()?;
            let mut controllers = self.controllers;
            match assets.require(&[CONTROLLER_MANAGER]) {
                Ok(()) => controllers.extend(self.optional_controllers),
                Err(missing) if !controllers.is_empty() => return Err(missing),
                Err(_) => {}
            }
            let mut manifests = match self.is_bare {
                true => None,
                false => Some(Manifests::read(&self.project, &assets)?),
            };
            let mut crds = self.crds;
            if !self.is_bare {
                crds.extend(external::crds(&self.project)?);
            }
            if let (Some(suite), Some(manifests)) = (Suite::current(), &mut manifests) {
                suite.leave_out(manifests);
            }
            let audited = manifests.as_ref().map(|all| all.account.user());
            let control_plane =
                ControlPlane::start(assets, audited, &self.api_server, &controllers).await?;
            // Else the requests of an installation would wait minutes for a server that has ended, on a full disk.
            control_plane.guard()?;
            let failure = control_plane.failure.clone();
            let installed = async move {
                let admin = control_plane.admin().await?;
                install_crds(&control_plane, &client(admin.clone()), &crds).await?;
                let mut env = TestEnv {
                    #[cfg(feature = "manager")]
                    operators: CancellationToken::new().drop_guard(),
                    #[cfg(feature = "manager")]
                    allowed_warnings: self.allowed_warnings,
                    kubelets: watch::Sender::new(()),
                    project: self.project,
                    control_plane,
                    admin,
                    manager: None,
                };
                if let Some(manifests) = manifests {
                    env.install(manifests, self.has_webhooks, &self.watched)
                        .await?;
                }
                // The garbage collector looks for new kinds when it starts, and then only every 30 s.
                if !controllers.is_empty() {
                    env.control_plane.start_controller_manager()?;
                }
                env.control_plane.guard()?;
                Ok(env)
            };
            tokio::select! {
                env = installed => env,
                reason = failure.wait() => Err(TestEnvError::Failed(reason)),
            }
        })
    }
}

impl TestEnv {
    async fn install(
        &mut self,
        mut manifests: Manifests,
        has_webhooks: bool,
        watched: &Wanted,
    ) -> Result<(), TestEnvError> {
        let webhook_paths = manifests.webhook_paths();
        let folder = self.control_plane.folder();
        let serving = match has_webhooks && !webhook_paths.is_empty() {
            true => Some(Serving::prepare(folder)?),
            false => None,
        };
        match &serving {
            Some(serving) => manifests.call(serving),
            None => manifests.call_no_webhooks(),
        }
        let deployment = manifests.write_deployment(folder)?;
        manifests.install(&self.control_plane, &self.admin).await?;
        let account = &manifests.account;
        let kubeconfig = self
            .kubeconfig_of(&account.namespace, &account.name)
            .await?;
        let config = control_plane::load(&kubeconfig).await?;
        let manager = client(config.clone());
        let pool = match manifests.watches_namespaces() {
            true => {
                let pool = Pool::create(&client(self.admin.clone()), &manifests, watched).await;
                Some(pool.map_err(|source| self.control_plane.refused("a namespace", source))?)
            }
            false => None,
        };
        let names = pool.as_ref().map_or(&[][..], Pool::names);
        manifests
            .wait_for_rules(&self.control_plane, manager, names)
            .await?;
        self.manager = Some(Installed {
            kubeconfig,
            config,
            #[cfg(feature = "manager")]
            grants: manifests.grants_with(names),
            #[cfg(feature = "manager")]
            lease: manifests
                .lease()
                .map(|name| (account.namespace.clone(), name)),
            #[cfg(feature = "manager")]
            metrics: Metrics::prepare(&manifests)?,
            webhook_paths,
            serving,
            deployment,
            pool,
        });
        Ok(())
    }
}

/// Runs `future` on a thread of its own, since the caller may be async code.
pub(super) fn block_on<T: Send>(
    future: impl Future<Output = Result<T, TestEnvError>> + Send,
) -> Result<T, TestEnvError> {
    let run = || {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        runtime
            .enable_all()
            .build()
            .map_err(TestEnvError::Runtime)?
            .block_on(future)
    };
    std::thread::scope(|scope| match scope.spawn(run).join() {
        Ok(outcome) => outcome,
        Err(panic) => std::panic::resume_unwind(panic),
    })
}
