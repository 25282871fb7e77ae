// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of a manager, with the names, labels and buckets of controller-runtime, so that its
//! dashboards and alerts work unchanged; and a few that it lacks, with the prefix `kbr_`.
//!
//! Everything is counted, whether or not metrics are served: counting costs nanoseconds where it is frequent, since a
//! controller looks up its series only once, when it starts.

mod controllers;
#[cfg(feature = "native-histograms")]
pub(crate) mod native;
mod process;
mod requests;
mod watches;
mod webhooks;

use std::collections::BTreeSet;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard};

use k8s_openapi::jiff::Timestamp;
#[cfg(feature = "native-histograms")]
use prometheus_client::encoding::prometheus_protobuf;
use prometheus_client::encoding::text;
use prometheus_client::metrics::MetricType;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
#[cfg(not(feature = "native-histograms"))]
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry};

pub(crate) use controllers::{Backlog, Counts};
pub(crate) use requests::{Requests, method};
pub(crate) use watches::{DECODED, SLOW, Share, Watches};
pub(crate) use webhooks::Counts as WebhookCounts;

use crate::lock::lock;
use controllers::Controllers;
#[cfg(feature = "native-histograms")]
use native::histogram;
use process::Process;
use webhooks::Webhooks;

/// Labels with their values.
type Labels<const N: usize> = [(&'static str, &'static str); N];

/// Buckets in seconds, for anything that takes from a moment to minutes: they start at ten nanoseconds,
/// and each is ten times the previous one.
const WIDE: [f64; 12] = [
    1e-8, 1e-7, 1e-6, 1e-5, 1e-4, 1e-3, 0.01, 0.1, 1.0, 10.0, 100.0, 1000.0,
];

/// The suffix of each counter's name, which is not part of the name here.
const TOTAL: &str = "_total";

/// The metrics of a manager, returned by [`Manager::metrics`](crate::Manager::metrics). Clones share
/// them.
///
/// The manager's own metrics are those of controller-runtime 0.24, `kbr_api_server_warnings_total`, `kbr_cache_panics_total`, `kbr_certificate_expiration_timestamp_seconds`, `kbr_decoded_objects_total`, `kbr_dropped_events_total`,
/// `kbr_failing_watches`, `kbr_restless_objects_total`, `kbr_slow_functions_total` and `kbr_unreadable_objects`; see the [guide](crate::guide::metrics). You can add your own:
///
/// ```
/// use kbr_runtime::prometheus_client::metrics::counter::Counter;
/// use kbr_runtime::Manager;
///
/// struct Context {
///     mails: Counter,
/// }
///
/// fn register(manager: &mut Manager) {
///     let context = Context {
///         mails: manager.metrics().register("mails_total", "Mails that were sent", Counter::default()),
///     };
///     context.mails.inc();
/// }
/// ```
#[derive(Clone)]
pub struct Metrics(Arc<Shared>);

struct Shared {
    table: Mutex<Table>,
    controllers: Controllers,
    webhooks: Webhooks,
    watches: Watches,
    reads: CertificateReads,
    leads: Family<[(&'static str, String); 1], Gauge>,
}

#[derive(Default)]
struct Table {
    names: BTreeSet<String>,
    registry: Registry,
}

impl Metrics {
    pub(crate) fn new() -> Self {
        let mut table = Table::default();
        table.registry.register_collector(Box::new(Process));
        Self(Arc::new(Shared {
            controllers: Controllers::new(&mut table),
            webhooks: Webhooks::new(&mut table),
            reads: CertificateReads {
                total: table.add(
                    "certwatcher_read_certificate_total",
                    "Certificates that were read because their files had changed",
                ),
                errors: table.add(
                    "certwatcher_read_certificate_errors_total",
                    "Certificates that could not be read",
                ),
                expiries: table.add(
                    "kbr_certificate_expiration_timestamp_seconds",
                    "When a certificate expires, in seconds since 1970",
                ),
            },
            leads: table.add(
                "leader_election_master_status",
                "Whether this process leads",
            ),
            watches: Watches::new(&mut table),
            table: Mutex::new(table),
        }))
    }

    /// Registers `metric` and returns it, so that you can keep it where you count. It can be any metric
    /// of [`prometheus_client`], such as a `Family` for a metric with labels.
    ///
    /// `name` is the name that Prometheus shows. The name of a counter ends in `_total`, which is added
    /// if it is missing. `help` describes the metric in a few words; a full stop is added.
    ///
    /// # Panics
    ///
    /// When `name` is already taken or not valid: a name consists of letters, digits, `_` and `:`, and
    /// does not begin with a digit.
    pub fn register<M: Metric + Clone>(&self, name: &str, help: &str, metric: M) -> M {
        self.table().register(name, help, metric)
    }

    /// Registers `requests` as the requests to the API server at `host`.
    pub(crate) fn count_requests(&self, host: &str, requests: &Requests) {
        let mut table = self.table();
        table.take(requests::NAME);
        let host = ("host".into(), host.to_owned().into());
        let registry = table.registry.sub_registry_with_label(host);
        registry.register(requests::NAME, requests::HELP, requests.0.clone());
    }

    /// Registers the warnings of the API server.
    pub(crate) fn count_warnings(&self, warnings: &Counter) {
        self.register(
            "kbr_api_server_warnings_total",
            "Warnings in the responses of the API server, such as of an unknown field",
            warnings.clone(),
        );
    }

    /// The counter of events that were not published.
    pub(crate) fn dropped_events(&self) -> Counter {
        self.register(
            "kbr_dropped_events_total",
            "Events that were not published: too many waited, or the API server did not accept them",
            Counter::default(),
        )
    }

    /// Registers the counters of panics in webhooks.
    pub(crate) fn count_panics(&self, admissions: Counter, conversions: Counter) {
        self.register(
            "controller_runtime_webhook_panics_total",
            "Defaulters and validators that have panicked",
            admissions,
        );
        self.register(
            "controller_runtime_conversion_webhook_panics_total",
            "Converters that have panicked",
            conversions,
        );
    }

    /// The series of a controller, which exist from now on, with zeros.
    pub(crate) fn controller(&self, name: &'static str) -> Arc<Counts> {
        self.0.controllers.of(name)
    }

    /// Reports what waits and what runs in the queue of `controller`, according to `backlog`.
    pub(crate) fn watch(
        &self,
        controller: &'static str,
        backlog: impl Fn() -> Backlog + Send + Sync + 'static,
    ) {
        self.0.controllers.watch(controller, Box::new(backlog));
    }

    pub(crate) fn webhooks(&self) -> &Webhooks {
        &self.0.webhooks
    }

    pub(crate) fn watches(&self) -> &Watches {
        &self.0.watches
    }

    pub(crate) fn certificate_reads(&self) -> CertificateReads {
        self.0.reads.clone()
    }

    /// The gauge that shows, as 0 or 1, whether this process is the leader in the election for the
    /// Lease `lease`.
    pub(crate) fn leads(&self, lease: String) -> Gauge {
        self.0.leads.get_or_create_owned(&[("name", lease)])
    }

    /// All metrics in the OpenMetrics text format.
    pub(crate) fn text(&self) -> Result<String, fmt::Error> {
        let mut text = String::new();
        text::encode(&mut text, &self.current().registry)?;
        Ok(text)
    }

    /// All metrics in Prometheus' protobuf format, with native histograms.
    #[cfg(feature = "native-histograms")]
    pub(crate) fn protobuf(&self) -> Result<Vec<u8>, prometheus_protobuf::EncodeError> {
        prometheus_protobuf::encode_to_vec(&self.current().registry)
    }

    /// All metrics as they are now.
    fn current(&self) -> MutexGuard<'_, Table> {
        self.0.controllers.refresh();
        self.table()
    }

    fn table(&self) -> MutexGuard<'_, Table> {
        lock(&self.0.table)
    }
}

/// A histogram with `buckets`.
#[cfg(not(feature = "native-histograms"))]
fn histogram(buckets: &[f64]) -> Histogram {
    Histogram::new(buckets.iter().copied())
}

impl fmt::Debug for Metrics {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Table {
    /// See [`Metrics::register`].
    fn register<M: Metric + Clone>(&mut self, name: &str, help: &str, metric: M) -> M {
        let is_counter = matches!(metric.metric_type(), MetricType::Counter);
        let family = if is_counter {
            name.strip_suffix(TOTAL).unwrap_or(name)
        } else {
            name
        };
        self.take(family);
        self.registry.register(family, help, metric.clone());
        metric
    }

    /// The same for a metric without settings.
    fn add<M: Metric + Clone + Default>(&mut self, name: &str, help: &str) -> M {
        self.register(name, help, M::default())
    }

    fn take(&mut self, name: &str) {
        let is_first = |char: char| char.is_ascii_alphabetic() || matches!(char, '_' | ':');
        let is_name = name.starts_with(is_first)
            && name
                .chars()
                .all(|char| is_first(char) || char.is_ascii_digit());
        assert!(is_name, "`{name}` cannot be the name of a metric");
        let is_new = self.names.insert(name.to_owned());
        assert!(is_new, "two metrics have the name `{name}`");
    }
}

/// Counts certificate reads, and notes when the certificates expire. Clones share the metrics.
#[derive(Clone, Debug, Default)]
pub(crate) struct CertificateReads {
    total: Counter,
    errors: Counter,
    expiries: Family<Labels<1>, Gauge>,
}

impl CertificateReads {
    pub(crate) fn count(&self, is_good: bool) {
        self.total.inc();
        if !is_good {
            self.errors.inc();
        }
    }

    /// Notes when the certificate of what is `served` expires, if that is known.
    pub(crate) fn expires(&self, served: &'static str, end: Option<Timestamp>) {
        if let Some(end) = end {
            let gauge = self.expiries.get_or_create(&[("certificate", served)]);
            gauge.set(end.as_second());
        }
    }
}

#[cfg(test)]
mod tests;
