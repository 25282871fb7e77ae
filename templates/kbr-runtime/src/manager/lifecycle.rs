// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! When controllers and tasks start and end: some at once, the others while this process leads.

use std::future::pending;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Task;
use crate::ManagerError;
use crate::api_server::ApiServer;
use crate::cache::{Source, all_listed};
use crate::chain::chain;
use crate::controller::Prepared;
use crate::election::Election;
use crate::running::{Part, Running};

/// The part of the grace period after which no answer of the API server is waited for longer than [`LAST_REQUEST`]. The
/// rest is for what reconciles do after the error.
const LAST_ANSWER: f64 = 0.9;

/// The part of the grace period that each request may take then: webhooks still ask, until they have ended.
const LAST_REQUEST: f64 = 0.03;

/// How long everything else may take to end after a part of the manager has failed: it may need what has failed.
pub(super) const AFTER_FAILURE: Duration = Duration::from_millis(750);

/// Runs the controllers while this process leads.
pub(super) struct Lifecycle {
    /// Without an election, this process leads.
    pub(super) election: Option<Election>,
    pub(super) server: ApiServer,
    pub(super) stop: CancellationToken,
    pub(super) grace: Duration,
    pub(super) running: Running,
    /// Fills caches until everything has ended.
    pub(super) watching: Running,
    /// Those caches that are filled on every replica, or have begun to be.
    pub(super) filled: Vec<Arc<dyn Source>>,
}

impl Lifecycle {
    /// Runs `controllers` and `tasks`, at once or once this process leads, until the stop or until a controller or one
    /// of the `others` ends. Also returns the election that may be left: nothing that needs the Lease runs any more.
    pub(super) async fn run(
        mut self,
        mut controllers: Vec<Prepared>,
        tasks: Vec<Task>,
        others: impl Future<Output = ManagerError>,
    ) -> (Result<(), ManagerError>, Option<Election>) {
        let mut others = pin!(others);
        for controller in controllers.iter_mut().filter(|one| one.is_warm) {
            begin_watches(&mut self.watching, controller);
            self.filled.extend_from_slice(&controller.sources);
        }
        // Without an election, everything starts at once, and tasks wait for all caches.
        let has_election = self.election.is_some();
        let (leading, always) = controllers
            .into_iter()
            .partition(|one| one.needs_leader && has_election);
        let (leading_tasks, tasks) = tasks
            .into_iter()
            .partition(|task| task.needs_lead && has_election);
        self.start(always, tasks);
        let mut election = self.election.take();
        if let Some(candidate) = &mut election {
            let outcome = tokio::select! {
                biased;
                outcome = self.ended(others.as_mut()) => Some(outcome),
                won = candidate.won() => match won {
                    Ok(()) => None,
                    Err(error) => {
                        // There is no Lease to release.
                        election = None;
                        Some(Err(error))
                    }
                },
            };
            if let Some(outcome) = outcome {
                let (outcome, _) = self.finish(outcome).await;
                return (outcome, election);
            }
        }
        self.start(leading, leading_tasks);
        let finished = async {
            let outcome = self.ended(others).await;
            self.finish(outcome).await
        };
        let lost = async {
            match &mut election {
                Some(election) => election.lost().await,
                None => pending().await,
            }
        };
        let (outcome, is_finished) = tokio::select! {
            finished = finished => finished,
            // Everything that is running is dropped at its current `await`.
            error = lost => return (Err(error), None),
        };
        // What has not ended may still write, so the Lease must then expire.
        (outcome, election.filter(|_| is_finished))
    }

    fn start(&mut self, controllers: Vec<Prepared>, tasks: Vec<Task>) {
        for mut controller in controllers {
            let name = controller.name;
            tracing::info!(controller = name, "starting");
            begin_watches(&mut self.watching, &mut controller);
            self.filled.extend(controller.sources);
            let work = controller.work.map(Err);
            self.running.spawn(Part::Controller(name), work);
        }
        for task in tasks {
            let (caches, stop) = (self.filled.clone(), self.stop.clone());
            self.running.spawn(Part::Task(task.name), async move {
                // An empty cache that is not listed yet must not look like one without objects.
                tokio::select! {
                    biased;
                    () = all_listed(&caches) => {}
                    () = stop.cancelled() => return Ok(()),
                }
                tracing::info!(task = task.name, "starting the task");
                task.run.await?;
                if !stop.is_cancelled() {
                    tracing::info!(task = task.name, "the task has ended");
                }
                Ok(())
            });
        }
    }

    /// Waits until the stop, or until something ends that should not.
    async fn ended(
        &mut self,
        others: Pin<&mut impl Future<Output = ManagerError>>,
    ) -> Result<(), ManagerError> {
        tokio::select! {
            // A controller that ends because of the stop has not ended by itself.
            biased;
            () = self.stop.cancelled() => Ok(()),
            error = self.running.ended() => Err(error),
            error = self.watching.ended() => Err(error),
            error = others => Err(error),
        }
    }

    /// Stops what runs and waits for it within the grace period, at whose end nothing waits long for the API server.
    /// After an error, which is logged at once, that is [`AFTER_FAILURE`]. Returns the first error, and whether everything
    /// has ended.
    async fn finish(
        &mut self,
        outcome: Result<(), ManagerError>,
    ) -> (Result<(), ManagerError>, bool) {
        let grace = match &outcome {
            Ok(()) => self.grace,
            Err(error) => {
                named(error);
                self.grace.min(AFTER_FAILURE)
            }
        };
        self.stop.cancel();
        let running = std::mem::take(&mut self.running);
        let give_up = async {
            sleep(grace.mul_f64(LAST_ANSWER)).await;
            self.server.give_up_after(grace.mul_f64(LAST_REQUEST));
            pending().await
        };
        let finished = tokio::select! {
            finished = running.finish(grace) => finished,
            never = give_up => never,
        };
        // `outcome` is the cause, or has hidden it until now.
        if let (Err(_), Err(error)) = (&outcome, &finished) {
            tracing::error!(error = chain(error), "the manager did not end in time");
        }
        let is_finished = finished.is_ok();
        (outcome.and(finished), is_finished)
    }
}

/// Logs what has failed before anything waits.
pub(super) fn named(error: &ManagerError) {
    tracing::error!(
        error = chain(error),
        "a part of the manager has failed: it ends"
    );
}

/// Fills the caches of a controller from now on, unless that has begun.
pub(super) fn begin_watches(watching: &mut Running, controller: &mut Prepared) {
    if let Some(watch) = controller.watch.take() {
        watching.spawn(Part::Watches(controller.name), watch.map(Err));
    }
}
