// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! When controllers and tasks start and end: some at once, the others while this process leads.

use std::future::pending;
use std::pin::{Pin, pin};
use std::time::Duration;

use tokio::task::JoinSet;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::Task;
use crate::ManagerError;
use crate::api_server::ApiServer;
use crate::chain::chain;
use crate::controller::Prepared;
use crate::election::Election;
use crate::running::Running;

/// The part of the grace period after which no answer of the API server is waited for. The rest is for what
/// reconciles do after the error.
const LAST_ANSWER: f64 = 0.9;

/// Runs the controllers while this process leads.
pub(super) struct Lead {
    /// Without an election, this process leads.
    pub(super) election: Option<Election>,
    pub(super) server: ApiServer,
    pub(super) stop: CancellationToken,
    pub(super) grace: Duration,
}

impl Lead {
    /// Runs `controllers` and `tasks`, at once or once this process leads, until the stop or until a controller or one
    /// of the `others` ends. `watching` continues until everything has ended. Also returns the election that may be
    /// left: nothing that needs the Lease runs any more.
    pub(super) async fn run(
        mut self,
        mut controllers: Vec<Prepared>,
        tasks: Vec<Task>,
        mut watching: JoinSet<()>,
        others: impl Future<Output = ManagerError>,
    ) -> (Result<(), ManagerError>, Option<Election>) {
        let mut others = pin!(others);
        let mut running = Running::default();
        for controller in &mut controllers {
            if controller.is_warm {
                watching.extend(controller.watch.take());
            }
        }
        let (leading, always): (Vec<_>, Vec<_>) = controllers
            .into_iter()
            .partition(|controller| controller.needs_leader);
        let (leading_tasks, tasks): (Vec<_>, Vec<_>) =
            tasks.into_iter().partition(|task| task.needs_lead);
        self.start(always, tasks, &mut running, &mut watching);
        let mut election = self.election.take();
        if let Some(candidate) = &mut election {
            let outcome = tokio::select! {
                biased;
                outcome = self.ended(&mut running, others.as_mut()) => Some(outcome),
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
                let finished = self.finish(running).await;
                return (first_error(outcome, finished), election);
            }
        }
        self.start(leading, leading_tasks, &mut running, &mut watching);
        let finished = async {
            let outcome = self.ended(&mut running, others).await;
            (outcome, self.finish(running).await)
        };
        let lost = async {
            match &mut election {
                Some(election) => election.lost().await,
                None => pending().await,
            }
        };
        let (outcome, finished) = tokio::select! {
            finished = finished => finished,
            // Everything that is running is dropped at its current `await`.
            error = lost => return (Err(error), None),
        };
        // What has not ended may still write, so the Lease must then expire.
        let election = election.filter(|_| finished.is_ok());
        (first_error(outcome, finished), election)
    }

    fn start(
        &self,
        controllers: Vec<Prepared>,
        tasks: Vec<Task>,
        running: &mut Running,
        watching: &mut JoinSet<()>,
    ) {
        for task in tasks {
            tracing::info!(task = task.name, "starting the task");
            running.spawn_task(task.name, (task.start)(self.stop.clone()));
        }
        for controller in controllers {
            tracing::info!(controller = controller.name, "starting");
            watching.extend(controller.watch);
            running.spawn(controller.name, controller.work);
        }
    }

    /// Waits until the stop, or until something ends that should not.
    async fn ended(
        &self,
        running: &mut Running,
        others: Pin<&mut impl Future<Output = ManagerError>>,
    ) -> Result<(), ManagerError> {
        tokio::select! {
            // A controller that ends because of the stop has not ended by itself.
            biased;
            () = self.stop.cancelled() => Ok(()),
            error = running.ended() => Err(error),
            error = others => Err(error),
        }
    }

    /// Stops `running` and waits for it within the grace period, at whose end nothing waits for the API server
    /// any more.
    async fn finish(&self, running: Running) -> Result<(), ManagerError> {
        self.stop.cancel();
        let give_up = async {
            sleep(self.grace.mul_f64(LAST_ANSWER)).await;
            self.server.give_up();
            pending().await
        };
        tokio::select! {
            finished = running.finish(self.grace) => finished,
            never = give_up => never,
        }
    }
}

/// The first error, which is the cause of the second, or has hidden it until now.
fn first_error(
    outcome: Result<(), ManagerError>,
    finished: Result<(), ManagerError>,
) -> Result<(), ManagerError> {
    if let (Err(_), Err(error)) = (&outcome, &finished) {
        tracing::error!(error = chain(error), "the manager did not end in time");
    }
    outcome.and(finished)
}
