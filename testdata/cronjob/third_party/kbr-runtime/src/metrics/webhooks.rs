// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of webhooks.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use http::StatusCode;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use tokio::time::Instant;

use super::{Table, WIDE, histogram};

/// The path of a webhook.
type Path = [(&'static str, String); 1];

/// The path of a webhook, and the status of a response.
type Answer = ([(&'static str, String); 1], [(&'static str, u16); 1]);

/// The series of all webhooks.
pub(crate) struct Webhooks {
    seconds: Family<Path, Histogram>,
    answers: Family<Answer, Counter>,
    in_flight: Family<Path, Gauge>,
}

impl Webhooks {
    pub(super) fn new(table: &mut Table) -> Self {
        Self {
            seconds: table.register(
                "controller_runtime_webhook_latency_seconds",
                "How long webhooks take for their answers",
                Family::new_with_constructor(|| histogram(&WIDE)),
            ),
            answers: table.add(
                "controller_runtime_webhook_requests_total",
                "Requests that webhooks have answered, by the status of the answer",
            ),
            in_flight: table.add(
                "controller_runtime_webhook_requests_in_flight",
                "Requests that webhooks answer now",
            ),
        }
    }

    /// The series of the webhooks at `paths`, which exist from now on.
    pub(crate) fn at(&self, paths: BTreeSet<String>) -> Counts {
        let counts = paths.into_iter().map(|path| {
            let label = [("webhook", path.clone())];
            let webhook = Arc::new(Webhook {
                seconds: self.seconds.get_or_create_owned(&label),
                in_flight: self.in_flight.get_or_create_owned(&label),
                answers: self.answers.clone(),
                path: path.clone(),
            });
            for status in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
                drop(webhook.answers(status));
            }
            (path, webhook)
        });
        Counts(Arc::new(counts.collect()))
    }
}

/// The metrics of the webhooks of one server, by path. Clones share them.
#[derive(Clone)]
pub(crate) struct Counts(Arc<BTreeMap<String, Arc<Webhook>>>);

impl Counts {
    /// A request has arrived for `path`; `None` if there is no webhook at that path.
    pub(crate) fn begin(&self, path: &str) -> Option<InFlight> {
        let webhook = self.0.get(path)?.clone();
        webhook.in_flight.inc();
        let start = Instant::now();
        Some(InFlight { webhook, start })
    }
}

struct Webhook {
    seconds: Histogram,
    in_flight: Gauge,
    answers: Family<Answer, Counter>,
    path: String,
}

impl Webhook {
    fn answers(&self, status: StatusCode) -> Counter {
        let path = [("webhook", self.path.clone())];
        let code = [("code", status.as_u16())];
        self.answers.get_or_create_owned(&(path, code))
    }
}

/// A request in progress. It may be dropped before it is answered.
pub(crate) struct InFlight {
    webhook: Arc<Webhook>,
    start: Instant,
}

impl InFlight {
    pub(crate) fn answered(self, status: StatusCode) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.webhook.seconds.observe(seconds);
        self.webhook.answers(status).inc();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.webhook.in_flight.dec();
    }
}
