// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The manager's command line.
//!
//! Names and defaults are those of a kubebuilder project if it has the flag, and [`zap`] has those of its logger. This
//! module only parses: what a value means is decided where it is used.

pub(crate) mod zap;

use std::ffi::OsStr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args, Command, FromArgMatches, ValueEnum, value_parser};
use k8s_openapi::jiff::SignedDuration;
use tracing_subscriber::filter::LevelFilter;

use crate::BindAddress;
use zap::Zap;

/// Flags of the manager; flatten them into the project's own flags.
///
/// Later versions may add flags. Code that does not parse them starts from the defaults:
///
/// ```
/// use kbr_runtime::{BindAddress, Flags};
///
/// let mut flags = Flags::default();
/// flags.health_probe_bind_address = BindAddress::Off;
/// ```
#[derive(Args, Clone, Debug, Eq, PartialEq)]
#[non_exhaustive]
pub struct Flags {
    /// Kubeconfig file to use instead of $KUBECONFIG, ~/.kube/config or the pod's service account.
    #[arg(long, value_name = "FILE")]
    pub kubeconfig: Option<PathBuf>,

    /// Print what the controllers would change now, and change nothing: each existing object is reconciled once,
    /// and each write is a dry run. The exit code is 0 if nothing would change, 1 if something would, and 2 after an
    /// error. Takes no Lease, serves nothing, publishes no events and runs no tasks.
    #[cfg(feature = "plan")]
    #[arg(long)]
    pub plan: bool,

    /// Address of /healthz and /readyz; 0 turns them off.
    #[arg(long, value_name = "ADDRESS", default_value = ":8081")]
    pub health_probe_bind_address: BindAddress,

    /// Run controllers only while this process holds a Lease, so that only one of several replicas does.
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = false,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = boolean
    )]
    pub leader_elect: bool,

    /// Name of the Lease, which is created if it does not exist.
    #[arg(long, value_name = "NAME")]
    pub leader_election_id: Option<String>,

    /// Namespace of the Lease; in a pod the default is the pod's namespace.
    #[arg(long, value_name = "NAMESPACE")]
    pub leader_election_namespace: Option<String>,

    /// How long another replica waits for a renewal of the Lease before it takes it, such as 15s; longer
    /// than the renew deadline. It is written to the Lease in whole seconds, rounded up.
    #[arg(long, value_name = "DURATION", default_value = "15s", value_parser = duration)]
    pub leader_elect_lease_duration: Duration,

    /// How long the leader tries to renew the Lease before it gives up and exits.
    #[arg(long, value_name = "DURATION", default_value = "10s", value_parser = duration)]
    pub leader_elect_renew_deadline: Duration,

    /// Time between two attempts to acquire or renew the Lease.
    #[arg(long, value_name = "DURATION", default_value = "2s", value_parser = duration)]
    pub leader_elect_retry_period: Duration,

    /// How many objects each controller reconciles at the same time, whatever its code says; 0 for no limit.
    #[arg(long, value_name = "N")]
    pub max_concurrent_reconciles: Option<u16>,

    /// Address of /metrics; 0 turns it off.
    #[arg(long, value_name = "ADDRESS", default_value = "0")]
    pub metrics_bind_address: BindAddress,

    /// Serve metrics over HTTPS to clients that a role allows to get /metrics; false serves them over
    /// HTTP to everyone.
    #[arg(
        long,
        value_name = "BOOL",
        action = ArgAction::Set,
        default_value_t = true,
        default_missing_value = "true",
        num_args = 0..=1,
        require_equals = true,
        value_parser = boolean
    )]
    pub metrics_secure: bool,

    /// Folder of the certificate that metrics are served with; without it one is generated at startup.
    /// The certificate is reloaded whenever it changes.
    #[arg(long, value_name = "FOLDER")]
    pub metrics_cert_path: Option<PathBuf>,

    /// File of the certificate in that folder.
    #[arg(long, value_name = "FILE", default_value = CERTIFICATE)]
    pub metrics_cert_name: String,

    /// File of the certificate's key in that folder.
    #[arg(long, value_name = "FILE", default_value = KEY)]
    pub metrics_cert_key: String,

    /// Least severe level to log: off, error, warn, info, debug or trace.
    /// $RUST_LOG refines or overrides it.
    #[arg(long, value_name = "LEVEL", default_value = "info")]
    pub log_level: LevelFilter,

    /// Format of log lines; by default text on a terminal, otherwise JSON.
    #[arg(long, value_name = "FORMAT", value_enum)]
    pub log_format: Option<LogFormat>,

    #[command(flatten)]
    pub(crate) zap: Zap,

    /// How long a request to the API server may take, including its response. Watches have limits of
    /// their own, and may take at most 30s to begin.
    #[arg(long, value_name = "DURATION", default_value = "60s", value_parser = duration)]
    pub request_timeout: Duration,

    /// How long running reconciles may continue after a signal to stop, such as 25s or 1m30s.
    /// Requests that are not answered after nine tenths of it are given up.
    /// Must be at least five seconds shorter than the pod's terminationGracePeriodSeconds.
    #[arg(long, value_name = "DURATION", default_value = "25s", value_parser = duration)]
    pub graceful_shutdown_timeout: Duration,

    /// Folder of the certificate that webhooks are served with; without it and --webhook-cert-secret they are not
    /// served. The certificate is reloaded whenever it changes.
    #[arg(long, value_name = "FOLDER")]
    pub webhook_cert_path: Option<PathBuf>,

    /// File of the certificate in that folder.
    #[arg(long, value_name = "FILE", default_value = CERTIFICATE)]
    pub webhook_cert_name: String,

    /// File of the certificate's key in that folder.
    #[arg(long, value_name = "FILE", default_value = KEY)]
    pub webhook_cert_key: String,

    /// Secret in the manager's namespace for a CA and a certificate of its own: the manager makes and renews them, and
    /// writes the CA to the webhook configurations below and to the CRDs of its converters.
    #[cfg(feature = "certificates")]
    #[arg(long, value_name = "NAME")]
    pub webhook_cert_secret: Option<String>,

    /// Service in the manager's namespace by which the API server calls the webhooks; needed with
    /// --webhook-cert-secret.
    #[cfg(feature = "certificates")]
    #[arg(long, value_name = "NAME")]
    pub webhook_service: Option<String>,

    /// MutatingWebhookConfiguration to which the manager, if it has defaulters, writes the CA of
    /// --webhook-cert-secret; may be repeated.
    #[cfg(feature = "certificates")]
    #[arg(long, value_name = "NAME")]
    pub mutating_webhook_configuration: Vec<String>,

    /// ValidatingWebhookConfiguration to which the manager, if it has validators, writes that CA; may be repeated.
    #[cfg(feature = "certificates")]
    #[arg(long, value_name = "NAME")]
    pub validating_webhook_configuration: Vec<String>,

    /// How long the next certificate in that Secret will be valid. It is renewed after two thirds of that; its CA is
    /// valid four times as long, and renewed after half of that.
    #[cfg(feature = "certificates")]
    #[arg(long, value_name = "DURATION", default_value = "2160h", value_parser = duration)]
    pub webhook_cert_validity: Duration,

    /// Host or IP address that webhooks are served on; all interfaces if it is empty.
    #[arg(long, value_name = "HOST", default_value = "")]
    pub webhook_host: String,

    /// Port that webhooks are served on.
    #[arg(long, value_name = "PORT", default_value_t = 9443, value_parser = clap::value_parser!(u16).range(1..))]
    pub webhook_port: u16,

    /// File with the certificates of authorities, in PEM: webhooks answer only clients with a certificate of one of
    /// them, such as an API server that has one in its admission configuration. It is read once, at the start.
    #[arg(long, value_name = "FILE")]
    pub webhook_client_ca: Option<PathBuf>,

    /// Memory in MiB that all reviews may hold together. The rest of a process takes up to 45 MiB and what its
    /// caches hold, and a third of what is freed stays with the allocator: raise the memory limit of the Deployment
    /// by 4/3 of what you add.
    #[arg(long, value_name = "MIB", default_value_t = WEBHOOK_MEMORY, value_parser = value_parser!(u16).range(16..))]
    pub webhook_memory: u16,

    /// The namespaces that [`Manager::namespaces`](crate::Manager::namespaces) returns. There is no flag
    /// for them: parsed flags take them from `$WATCH_NAMESPACE`, separated by commas.
    #[arg(skip = watched_namespaces())]
    pub watch_namespace: Vec<String>,
}

/// The namespaces to watch: the same variable as in operators that use controller-runtime.
pub(crate) const WATCH_NAMESPACE: &str = "WATCH_NAMESPACE";

/// The default of `--webhook-memory`. The scaffolded Deployment allows 128 MiB.
pub(crate) const WEBHOOK_MEMORY: u16 = 40;

/// The names of certificate and key in a Secret of type `kubernetes.io/tls`.
const CERTIFICATE: &str = "tls.crt";
const KEY: &str = "tls.key";

impl Flags {
    /// Whether a plan is requested.
    pub(crate) fn is_plan(&self) -> bool {
        #[cfg(feature = "plan")]
        return self.plan;
        #[cfg(not(feature = "plan"))]
        false
    }
}

impl Default for Flags {
    /// The values of an empty command line, in an empty environment.
    fn default() -> Self {
        let command = Self::augment_args(Command::new(""));
        let flags = Self::from_arg_matches(&command.get_matches_from([""]));
        Self {
            watch_namespace: Vec::new(),
            ..flags.unwrap_or_else(|error| error.exit())
        }
    }
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
#[non_exhaustive]
pub enum LogFormat {
    /// For people.
    Text,
    /// For log collectors: one JSON object per line.
    Json,
}

/// A truth value as in Go, such as `true` or `1`.
pub(crate) fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "T" | "true" | "True" | "TRUE" => Ok(true),
        "0" | "f" | "F" | "false" | "False" | "FALSE" => Ok(false),
        _ => Err("expected `true` or `false`".to_owned()),
    }
}

/// A duration as in Go, such as `1m30s`.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let duration: SignedDuration = text
        .parse()
        .map_err(|_| "expected a duration such as `25s` or `1m30s`")?;
    Duration::try_from(duration).map_err(|_| "a duration cannot be negative".to_owned())
}

/// The namespaces in the environment; none if the variable is not set or is empty.
fn watched_namespaces() -> Vec<String> {
    split(std::env::var_os(WATCH_NAMESPACE).as_deref())
}

pub(crate) fn split(value: Option<&OsStr>) -> Vec<String> {
    let value = value.unwrap_or_default().to_string_lossy();
    match &*value {
        "" => Vec::new(),
        names => names.split(',').map(str::to_owned).collect(),
    }
}

#[cfg(test)]
mod tests;
