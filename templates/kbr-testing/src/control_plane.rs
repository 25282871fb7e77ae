// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! etcd and kube-apiserver, on free ports of loopback, and kube-controller-manager on request.
//!
//! The API server is as strict as a cluster's: RBAC, and OwnerReferencesPermissionEnforcement, under
//! which nobody may block the deletion of an owner without permission to update it. Admission that
//! another part of a cluster must complete is off: see [`disabled_admission`].

use std::hash::{BuildHasher, Hasher, RandomState};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use kbr_runtime::internal::{ask_readiness, chain};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use serde_json::json;

use super::assets::{self, Assets};
use super::failure::Failure;
use super::folder::Folder;
use super::port::ReservedPort;
use super::server::Server;
use super::{TestEnvError, audit, keys};

pub(super) const LOOPBACK: &str = "127.0.0.1";
const ADMIN: &str = "admin";
const ETCD: &str = "etcd";
const API_SERVER: &str = "kube-apiserver";
pub(super) const CONTROLLER_MANAGER: &str = "kube-controller-manager";
const TOKENS: &str = "tokens.csv";
const KUBECONFIG: &str = "kubeconfig";

/// Starting usually takes three seconds.
pub(super) const START_TIMEOUT: Duration = Duration::from_secs(120);

/// The interval at which conditions are polled.
pub(super) const PAUSE: Duration = Duration::from_millis(50);

/// How often starting is tried, since another process may take the free ports before they are used.
const ATTEMPTS: usize = 3;

pub(super) struct ControlPlane {
    // Fields are dropped in this order: a server before those that it needs.
    controller_manager: Option<Server>,
    api_server: Mutex<Option<Server>>,
    etcd: Server,
    etcd_port: ReservedPort,
    port: ReservedPort,
    arguments: Vec<String>,
    /// The controllers of Kubernetes that will run.
    controllers: Vec<String>,
    /// Happens when a server ends, once they are guarded.
    pub(super) failure: Failure,
    kubeconfig: PathBuf,
    pub(super) assets: Assets,
    folder: Folder,
}

impl ControlPlane {
    /// Starts etcd and the API server with these arguments after the usual ones, and waits until
    /// both are ready. The requests of the user `audited` are logged. `controllers` are those of
    /// Kubernetes that [`ControlPlane::start_controller_manager`] will run.
    ///
    /// # Errors
    ///
    /// For an old binary, a folder, a certificate, and a server that ends.
    pub(super) async fn start(
        assets: Assets,
        audited: Option<String>,
        arguments: &[String],
        controllers: &[String],
    ) -> Result<Self, TestEnvError> {
        let mut attempt = 1;
        loop {
            let audited = audited.as_deref();
            match Self::try_start(assets.clone(), audited, arguments, controllers).await {
                Err(TestEnvError::PortTaken { .. }) if attempt < ATTEMPTS => attempt += 1,
                outcome => return outcome,
            }
        }
    }

    async fn try_start(
        assets: Assets,
        audited: Option<&str>,
        arguments: &[String],
        controllers: &[String],
    ) -> Result<Self, TestEnvError> {
        let folder = Folder::create()?;
        keys::write(&folder)?;
        let mut all = match audited {
            Some(user) => audit::arguments(user, &folder)?,
            None => Vec::new(),
        };
        all.extend_from_slice(arguments);
        let token = random_token();
        folder.write(TOKENS, &format!("{token},{ADMIN},{ADMIN},system:masters\n"))?;

        let (etcd_port, port) = (ReservedPort::choose()?, ReservedPort::choose()?);
        let log = folder.path().join("etcd.log");
        let data = folder.path().join("etcd");
        let url = format!("http://{LOOPBACK}:{}", etcd_port.number);
        let etcd = Server::start(
            ETCD,
            &assets.path(ETCD),
            [
                format!("--data-dir={}", data.display()),
                format!("--listen-client-urls={url}"),
                format!("--advertise-client-urls={url}"),
                format!("--listen-peer-urls=http://{LOOPBACK}:0"),
                "--unsafe-no-fsync".to_owned(),
            ],
            log,
            &data,
        )?;
        let mut control_plane = Self {
            controller_manager: None,
            api_server: Mutex::default(),
            etcd,
            etcd_port,
            port,
            arguments: all,
            controllers: controllers.to_vec(),
            failure: Failure::none(),
            kubeconfig: PathBuf::new(),
            assets,
            folder,
        };
        control_plane.kubeconfig = control_plane.write_kubeconfig(KUBECONFIG, &token)?;
        control_plane.start_api_server().await?;
        control_plane.check_version().await?;
        Ok(control_plane)
    }

    /// Starts the API server, after killing the running one.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::PortTaken`], [`TestEnvError::Ended`] and [`TestEnvError::NotReady`].
    pub(super) async fn start_api_server(&self) -> Result<(), TestEnvError> {
        self.kill_api_server();
        let file = |name: &str| self.folder.path().join(name).display().to_string();
        let usual = [
            format!("--etcd-servers=http://{LOOPBACK}:{}", self.etcd_port.number),
            format!("--bind-address={LOOPBACK}"),
            // It would look for the default route, which a machine without a network does not have.
            format!("--advertise-address={LOOPBACK}"),
            format!("--secure-port={}", self.port.number),
            format!("--tls-cert-file={}", file(keys::CERTIFICATE)),
            format!("--tls-private-key-file={}", file(keys::KEY)),
            format!("--token-auth-file={}", file(TOKENS)),
            format!("--service-account-key-file={}", file(keys::VERIFYING_KEY)),
            format!(
                "--service-account-signing-key-file={}",
                file(keys::SIGNING_KEY)
            ),
            "--service-account-issuer=https://kubernetes.default.svc".to_owned(),
            "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
            "--authorization-mode=RBAC".to_owned(),
            "--enable-admission-plugins=OwnerReferencesPermissionEnforcement".to_owned(),
            format!(
                "--disable-admission-plugins={}",
                disabled_admission(&self.controllers)
            ),
            "--endpoint-reconciler-type=none".to_owned(),
            "--allow-privileged=true".to_owned(),
        ];
        let log = self.api_server_log();
        let arguments = usual.iter().chain(&self.arguments);
        let no_data = self.folder.path().join("none");
        let program = self.assets.path(API_SERVER);
        let server = Server::start(API_SERVER, &program, arguments, log, &no_data)?;
        let ready = self.ready(&server).await;
        *self.lock() = Some(server);
        ready
    }

    /// Waits for `server`, the API server, to be ready.
    async fn ready(&self, server: &Server) -> Result<(), TestEnvError> {
        let mut config = load(&self.kubeconfig).await?;
        // A retry would hide for a while that the server has ended.
        config.default_retry = false;
        let client = connect(config, &self.kubeconfig)?;
        let mut reason = "it did not answer".to_owned();
        let answers = async {
            while let Err(error) = ask_readiness(&client).await {
                reason = chain(&error);
                tokio::time::sleep(PAUSE).await;
            }
        };
        tokio::select! {
            () = answers => Ok(()),
            // Also while a request is pending: another process on the port may never answer it.
            error = self.ended(server) => Err(error),
            () = tokio::time::sleep(START_TIMEOUT) => Err(self.not_ready(&reason)),
        }
    }

    /// Waits until etcd or `server`, the API server, ends, and returns the reason.
    async fn ended(&self, server: &Server) -> TestEnvError {
        loop {
            for (server, port) in [(&self.etcd, &self.etcd_port), (server, &self.port)] {
                if let Err(error) = server.check() {
                    return port_taken(error, port.number);
                }
            }
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// An API server older than the types silently drops fields that it does not know, so it must be allowed by name.
    async fn check_version(&self) -> Result<(), TestEnvError> {
        if assets::allows_older() {
            return Ok(());
        }
        let client = connect(self.admin().await?, &self.kubeconfig)?;
        let version = client.apiserver_version().await;
        let version = version.map_err(|source| self.refused("to report its version", source))?;
        if assets::is_new_enough(&version) {
            return Ok(());
        }
        Err(TestEnvError::OldVersion {
            folder: self.assets.folder.clone(),
            found: version.git_version,
            log: self.api_server_log(),
        })
    }

    /// Runs these controllers of Kubernetes, and no others.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`] and [`TestEnvError::Start`].
    pub(super) fn start_controller_manager(&mut self) -> Result<(), TestEnvError> {
        let signing_key = self.folder.path().join(keys::SIGNING_KEY);
        let arguments = [
            format!("--kubeconfig={}", self.kubeconfig.display()),
            format!("--controllers={}", self.controllers.join(",")),
            format!(
                "--service-account-private-key-file={}",
                signing_key.display()
            ),
            "--leader-elect=false".to_owned(),
            "--secure-port=0".to_owned(),
        ];
        let log = self.folder.path().join("kube-controller-manager.log");
        let program = self.assets.path(CONTROLLER_MANAGER);
        let no_data = self.folder.path().join("none");
        let server = Server::start(CONTROLLER_MANAGER, &program, arguments, log, &no_data)?;
        self.controller_manager = Some(server);
        Ok(())
    }

    pub(super) fn has_controller_manager(&self) -> bool {
        self.controller_manager.is_some()
    }

    /// Makes the environment fail when a server ends.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Ended`] when a server is no longer running.
    pub(super) fn guard(&self) -> Result<(), TestEnvError> {
        self.etcd.guard(&self.failure)?;
        let api_server = self.lock();
        let mut servers = api_server.iter().chain(&self.controller_manager);
        servers.try_for_each(|server| server.guard(&self.failure))
    }

    pub(super) fn kill_api_server(&self) {
        *self.lock() = None;
    }

    fn lock(&self) -> MutexGuard<'_, Option<Server>> {
        self.api_server
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// How to reach the API server with full permissions.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Kubeconfig`].
    pub(super) async fn admin(&self) -> Result<Config, TestEnvError> {
        load(&self.kubeconfig).await
    }

    pub(super) fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    pub(super) fn kubectl(&self) -> PathBuf {
        self.assets.path("kubectl")
    }

    pub(super) fn folder(&self) -> &Folder {
        &self.folder
    }

    pub(super) fn api_server_log(&self) -> PathBuf {
        self.folder.path().join("kube-apiserver.log")
    }

    /// Writes a kubeconfig for this API server, with this token.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`].
    pub(super) fn write_kubeconfig(
        &self,
        name: &str,
        token: &str,
    ) -> Result<PathBuf, TestEnvError> {
        let kubeconfig = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{ "name": "testenv", "cluster": {
                "server": format!("https://{LOOPBACK}:{}", self.port.number),
                "certificate-authority": self.folder.path().join(keys::CERTIFICATE),
            } }],
            "users": [{ "name": "user", "user": { "token": token } }],
            "contexts": [{ "name": "testenv", "context": { "cluster": "testenv", "user": "user" } }],
            "current-context": "testenv",
        });
        // JSON is YAML.
        self.folder.write(name, &format!("{kubeconfig:#}\n"))
    }

    /// The error when the API server is not ready after [`START_TIMEOUT`].
    pub(super) fn not_ready(&self, reason: &str) -> TestEnvError {
        TestEnvError::NotReady {
            server: API_SERVER,
            seconds: START_TIMEOUT.as_secs(),
            reason: reason.to_owned(),
            log: self.api_server_log(),
        }
    }

    /// The error when the API server refuses something that it should have accepted.
    pub(super) fn refused(&self, object: &str, source: kube::Error) -> TestEnvError {
        TestEnvError::Refused {
            object: object.to_owned(),
            reason: kube_message(source),
            log: self.api_server_log(),
        }
    }
}

/// What the API server says, or else why it says nothing.
pub(super) fn kube_message(error: kube::Error) -> String {
    match error {
        kube::Error::Api(status) => status.message,
        other => chain(&other),
    }
}

/// The admission plugins that would need a controller that does not run, beside these `controllers`: nothing creates
/// the account `default` of a namespace, and nothing removes the finalizers of volumes that may be in use, so a deleted
/// claim would never go.
fn disabled_admission(controllers: &[String]) -> &'static str {
    let mut controllers = controllers.iter();
    match controllers.any(|name| name == "*" || name.ends_with("-protection-controller")) {
        true => "ServiceAccount",
        false => "ServiceAccount,StorageObjectInUseProtection",
    }
}

/// # Errors
///
/// [`TestEnvError::Kubeconfig`].
pub(super) async fn load(kubeconfig: &Path) -> Result<Config, TestEnvError> {
    let read = async {
        let kubeconfig = Kubeconfig::read_from(kubeconfig)?;
        Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await
    };
    let mut config = read.await.map_err(|error| unusable(kubeconfig, &error))?;
    // Regardless of $HTTPS_PROXY: no proxy leads to loopback.
    config.proxy_url = None;
    Ok(config)
}

fn connect(config: Config, kubeconfig: &Path) -> Result<Client, TestEnvError> {
    Client::try_from(config).map_err(|error| unusable(kubeconfig, &error))
}

fn unusable(kubeconfig: &Path, error: &(dyn std::error::Error + 'static)) -> TestEnvError {
    TestEnvError::Kubeconfig {
        path: kubeconfig.to_owned(),
        reason: chain(error),
    }
}

fn port_taken(error: TestEnvError, port: u16) -> TestEnvError {
    match error {
        TestEnvError::Ended {
            server, log, end, ..
        } if end.contains("address already in use") => {
            TestEnvError::PortTaken { server, port, log }
        }
        other => other,
    }
}

/// Hard enough to guess for a server that only this machine can reach.
fn random_token() -> String {
    format!("{:016x}{:016x}", random(), random())
}

pub(super) fn random() -> u64 {
    RandomState::new().build_hasher().finish()
}
