// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The metrics of webhooks.

use std::collections::BTreeSet;
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
type Answer = (Path, [(&'static str, u16); 1]);

/// The series of all webhooks. Clones share them.
#[derive(Clone)]
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
        for path in &paths {
            let path = [("webhook", path.clone())];
            drop(self.seconds.get_or_create(&path));
            drop(self.in_flight.get_or_create(&path));
            for status in [StatusCode::OK, StatusCode::INTERNAL_SERVER_ERROR] {
                drop(self.answers.get_or_create(&answer(&path, status)));
            }
        }
        Counts {
            series: self.clone(),
            paths: Arc::new(paths),
        }
    }
}

fn answer(path: &Path, status: StatusCode) -> Answer {
    (path.clone(), [("code", status.as_u16())])
}

/// The metrics of the webhooks of one server. Clones share them.
#[derive(Clone)]
pub(crate) struct Counts {
    series: Webhooks,
    paths: Arc<BTreeSet<String>>,
}

impl Counts {
    /// A request has arrived for `path`; `None` if there is no webhook at that path.
    pub(crate) fn begin(&self, path: &str) -> Option<InFlight> {
        let path = [("webhook", self.paths.get(path)?.clone())];
        self.series.in_flight.get_or_create(&path).inc();
        Some(InFlight {
            series: self.series.clone(),
            path,
            start: Instant::now(),
        })
    }
}

/// A request in progress. It may be dropped before it is answered.
pub(crate) struct InFlight {
    series: Webhooks,
    path: Path,
    start: Instant,
}

impl InFlight {
    pub(crate) fn answered(self, status: StatusCode) {
        let seconds = self.start.elapsed().as_secs_f64();
        self.series
            .seconds
            .get_or_create(&self.path)
            .observe(seconds);
        let answer = answer(&self.path, status);
        self.series.answers.get_or_create(&answer).inc();
    }
}

impl Drop for InFlight {
    fn drop(&mut self) {
        self.series.in_flight.get_or_create(&self.path).dec();
    }
}
