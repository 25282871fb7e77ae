// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The checks that a project adds to `/healthz` and `/readyz`.
//!
//! Each check runs on its own thread, since it may block, and only once at a time, since a client could
//! otherwise fill the process with such threads by sending probes.

use std::fmt::Write as _;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::FutureExt;
use futures::future::{BoxFuture, Shared, join_all};
use tokio::runtime::Handle;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use crate::chain::chain;
use crate::lock::lock;
use crate::webhook::BoxError;

/// How long a check may take; less than the second after which the kubelet gives up on a probe by
/// default, so that the response names the check.
const PATIENCE: Duration = Duration::from_millis(800);

type Outcome = Result<(), String>;

type Run = Shared<BoxFuture<'static, Outcome>>;

/// The checks of one probe.
#[derive(Default)]
pub(crate) struct Checks(Vec<Check>);

struct Check {
    name: &'static str,
    start: Box<dyn Fn() -> Run + Send + Sync>,
    /// The latest run, which may not have finished.
    run: Mutex<Option<Run>>,
}

impl Checks {
    pub(crate) fn add<C, F, E>(&mut self, name: &'static str, check: C)
    where
        C: Fn() -> F + Send + Sync + 'static,
        F: Future<Output = Result<(), E>> + 'static,
        E: Into<BoxError>,
    {
        let check = Arc::new(check);
        let start = move || {
            let (check, runtime) = (check.clone(), Handle::current());
            let run = spawn_blocking(move || {
                let outcome = runtime.block_on(async { check().await });
                outcome.map_err(|error| chain(&*error.into()))
            });
            // An error means that the check panicked.
            run.map(|run| run.unwrap_or_else(|error| Err(error.to_string())))
                .boxed()
                .shared()
        };
        self.0.push(Check {
            name,
            start: Box::new(start),
            run: Mutex::new(None),
        });
    }

    /// Runs all checks, or the one named `only`, and returns the outcomes; `None` if no check has that
    /// name.
    pub(crate) async fn run(&self, only: Option<&str>) -> Option<Report> {
        let checks = self.0.iter();
        let checks = checks.filter(|check| only.is_none_or(|only| check.name == only));
        let outcomes = join_all(checks.map(Check::outcome)).await;
        (only.is_none() || !outcomes.is_empty()).then_some(Report(outcomes))
    }
}

impl Check {
    async fn outcome(&self) -> (&'static str, Outcome) {
        let run = self.run();
        let outcome = timeout(PATIENCE, run).await;
        let outcome = outcome.unwrap_or_else(|_| Err(format!("no answer within {PATIENCE:?}")));
        (self.name, outcome)
    }

    /// The current run, or a new one.
    fn run(&self) -> Run {
        let mut last = lock(&self.run);
        // A run is known to have finished only once it has been polled.
        if let Some(run) = &*last
            && run.clone().now_or_never().is_none()
        {
            return run.clone();
        }
        last.insert((self.start)()).clone()
    }
}

/// The outcome of each check, with its name.
pub(crate) struct Report(Vec<(&'static str, Outcome)>);

impl Report {
    /// The checks that failed, and why.
    pub(crate) fn failed(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let outcomes = self.0.iter();
        outcomes.filter_map(|(name, outcome)| Some((*name, outcome.as_ref().err()?.as_str())))
    }

    /// A line for each check, in the format of the API server's own probes.
    pub(crate) fn lines(&self) -> String {
        let mut text = String::new();
        for (name, outcome) in &self.0 {
            // Writing to a string does not fail.
            let _ = match outcome {
                Ok(()) => writeln!(text, "[+]{name} ok"),
                Err(reason) => writeln!(text, "[-]{name} failed: {reason}"),
            };
        }
        text
    }
}

#[cfg(test)]
mod tests;
