// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! One run of a scenario, with a fault or without one.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::oneshot;

use super::created::{self, Counts, Created};
use super::kinds::Kinds;
use super::life::Lives;
use super::moment::{Fault, Moment};
use super::proxy::{Proxy, Shown, Tap};
use super::stage::{Run, Stage};
use super::state::Comparable;
use super::{Crash, Scenario};
use crate::control_plane::LOOPBACK;
use crate::error::LogEnd;
use crate::http_proxy::listen;
use crate::serving::Serving;
use crate::{TestEnv, TestEnvError, keys, namespaces};

/// What all runs share.
pub(super) struct Ground {
    pub(super) env: TestEnv,
    pub(super) kinds: Arc<Kinds>,
    pub(super) created: Created,
}

/// The undisturbed run of a scenario.
pub(super) struct Undisturbed {
    pub(super) moments: Vec<Moment>,
    pub(super) settled: Arc<Vec<Comparable>>,
    pub(super) created: Counts,
}

impl Undisturbed {
    /// All runs of the scenario with a fault.
    pub(super) fn cases<'a>(&'a self, scenario: &'a Scenario) -> impl Iterator<Item = Case<'a>> {
        let moments = self.moments.iter();
        moments.flat_map(move |moment| {
            moment.faults().map(move |fault| Case {
                scenario,
                undisturbed: self,
                moment: moment.clone(),
                fault,
            })
        })
    }
}

impl From<End> for Undisturbed {
    fn from(end: End) -> Self {
        Self {
            moments: end.moments,
            settled: Arc::new(end.settled),
            created: end.created,
        }
    }
}

/// A run with a fault.
pub(super) struct Case<'a> {
    pub(super) scenario: &'a Scenario,
    pub(super) undisturbed: &'a Undisturbed,
    pub(super) moment: Moment,
    pub(super) fault: Fault,
}

impl fmt::Display for Case<'_> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            formatter,
            "{}: {}: {}",
            self.scenario.name, self.moment, self.fault
        )
    }
}

/// How a run has ended.
pub(super) struct End {
    /// What was wrong.
    pub(super) outcome: Result<(), String>,
    pub(super) moments: Vec<Moment>,
    pub(super) is_hit: bool,
    pub(super) settled: Vec<Comparable>,
    pub(super) created: Counts,
    /// What the operator has written and logged.
    pub(super) record: String,
}

impl Crash {
    /// A namespace of its own for an operator, which does not run yet. Its logs will be in `folder`.
    async fn prepare(
        &self,
        ground: &Ground,
        case: Option<&Case<'_>>,
        folder: &Path,
        webhooks: Option<&Serving>,
    ) -> Result<Run, TestEnvError> {
        let env = &ground.env;
        fs::create_dir_all(folder).map_err(|source| TestEnvError::Folder {
            path: folder.to_owned(),
            source,
        })?;
        let admin = env.admin();
        let namespace = match env.pool() {
            Some(pool) => pool.add(&admin).await,
            None => namespaces::generate(&admin).await,
        };
        let namespace =
            namespace.map_err(|source| env.control_plane.refused("a namespace", source))?;
        let mut program = self.program.clone();
        if env.pool().is_some() {
            let watched = ("WATCH_NAMESPACE".to_owned(), namespace.clone());
            program.variables.push(watched);
        }
        program
            .arguments
            .extend(webhooks.map(arguments).unwrap_or_default());
        let listener = listen().await.map_err(TestEnvError::Proxy)?;
        let address = listener.local_addr().map_err(TestEnvError::Proxy)?;
        let server = env.admin_config();
        let tap = Tap {
            server: server.cluster_url.clone(),
            shown: match webhooks {
                Some(_) => Shown::Nothing(namespace.clone()),
                None if ground.kinds.need_a_cluster() => Shown::All,
                None => Shown::In(namespace.clone()),
            },
            namespaced: ground.kinds.namespaced(),
            planned: case.map(|case| (case.moment.clone(), case.fault)),
            takes_over: self.takes_over,
            admin: admin.clone(),
            lives: Lives {
                program,
                folder: folder.to_owned(),
                kubeconfig: env.manager_kubeconfig().to_owned(),
                address,
                state: Mutex::default(),
            },
            seen: Mutex::default(),
        };
        let proxy = Proxy::start(listener, &server, tap);
        let proxy = proxy.map_err(|error| TestEnvError::Proxy(io::Error::other(error)))?;
        let mut run = Run {
            admin,
            project: self.project.clone(),
            namespace,
            before: None,
            kinds: Arc::clone(&ground.kinds),
            differs: self.differs.clone(),
            proxy,
            expected: case.map(|case| Arc::clone(&case.undisturbed.settled)),
            settled: Mutex::default(),
        };
        if ground.kinds.need_a_cluster() {
            run.before = Some(BTreeSet::new());
            run.before = Some(
                run.uids()
                    .await
                    .map_err(io::Error::other)
                    .map_err(TestEnvError::Proxy)?,
            );
        }
        Ok(run)
    }

    /// Serves the webhooks of the project, if it has any, until `stopped`: in another process, which is shown no
    /// objects. So they can be called while an operator is dead, as in a cluster with two replicas.
    pub(super) async fn serve_webhooks(
        &self,
        ground: &Ground,
        ready: impl FnOnce(),
        stopped: oneshot::Receiver<()>,
    ) -> Result<(), TestEnvError> {
        let Some(serving) = &ground.env.installed().serving else {
            ready();
            return Ok(());
        };
        let folder = ground.env.logs().join("crash").join("webhooks");
        let run = self.prepare(ground, None, &folder, Some(serving)).await?;
        let serve = async {
            serving.answers(&folder.join("process-1.log")).await?;
            ready();
            // An error means that all runs are over.
            let _ = stopped.await;
            Ok(())
        };
        tokio::select! {
            outcome = serve => outcome,
            error = run.supervise() => Err(TestEnvError::Operator(io::Error::other(error))),
        }
    }

    /// Runs a scenario in a namespace of its own, with logs in `folder`.
    pub(super) async fn run_once(
        &self,
        ground: &Ground,
        scenario: &Scenario,
        case: Option<&Case<'_>>,
        folder: &Path,
    ) -> Result<End, TestEnvError> {
        let run = self.prepare(ground, case, folder, None).await?;
        let place = run.before.is_none().then(|| run.namespace.clone());
        let created = || {
            let created = ground.created.within(place.as_deref());
            created.map_err(|source| TestEnvError::Folder {
                path: ground.env.logs().to_owned(),
                source,
            })
        };
        let created_before = match place {
            Some(_) => Counts::new(),
            None => created()?,
        };
        let stage = Stage(Arc::new(run));
        let run = Arc::clone(&stage.0);
        let outcome = tokio::select! {
            outcome = (scenario.run)(stage) => outcome,
            error = run.supervise() => Err(error),
        };
        let lives = &run.proxy.tap.lives;
        lives.kill();
        let created = created::since(&created_before, created()?);
        let cleaned = run.clean_up().await;
        cleaned.map_err(|error| TestEnvError::Proxy(io::Error::other(error)))?;
        let record = record(&run.proxy.tap);
        let settled = run.settled.lock().unwrap_or_else(PoisonError::into_inner);
        let mut problem = outcome
            .err()
            .map_or_else(String::new, |error| error.to_string());
        if let Some(case) = case {
            let wanted = case.undisturbed.settled.len();
            if problem.is_empty() && settled.len() != wanted {
                let count = settled.len();
                problem = format!(
                    "it has settled {count} times, and the undisturbed run {wanted} times\n"
                );
            }
            if !problem.is_empty() && !problem.ends_with('\n') {
                problem.push('\n');
            }
            problem += &created::too_often(&created, &case.undisturbed.created);
        }
        let seen = run.proxy.tap.lock();
        Ok(End {
            outcome: match problem.as_str() {
                "" => Ok(()),
                _ => Err(problem),
            },
            created,
            moments: seen.moments(),
            is_hit: seen.is_hit,
            settled: settled.clone(),
            record,
        })
    }
}

/// What the operator has written and logged.
fn record(tap: &Tap) -> String {
    let lines = tap.lock().lines.clone();
    let lines: String = lines.iter().map(|line| format!("  {line}\n")).collect();
    let mut record = format!("what the operator wrote:\n{lines}");
    for (index, log) in tap.lives.logs().iter().enumerate() {
        let (number, path) = (index + 1, log.display());
        record += &format!(
            "\nthe log of process {number}, {path}, ends with\n{}\n",
            LogEnd::of(log)
        );
    }
    record
}

/// The flags of a process that serves webhooks there.
fn arguments(serving: &Serving) -> Vec<String> {
    vec![
        format!("--webhook-host={LOOPBACK}"),
        format!("--webhook-port={}", serving.port.number),
        format!("--webhook-cert-path={}", serving.certificates.display()),
        format!("--webhook-cert-name={}", keys::SERVING_CERTIFICATE),
        format!("--webhook-cert-key={}", keys::SERVING_KEY),
    ]
}

/// What happened in a run that has not ended as it should.
pub(super) fn story(case: &Case<'_>, end: &End) -> Option<String> {
    let problem = end.outcome.as_ref().err()?;
    let (scenario, moment, fault) = (&case.scenario.name, &case.moment, case.fault);
    Some(format!(
        "scenario: {scenario}\nrequest:  {moment}\nfault:    {fault}: {}\n\n{problem}\n\n{}\n\
         repeat it: make test-crash CRASH_FLAGS=\"--only '{case}'\"\n",
        fault.explained(),
        end.record
    ))
}

/// The same for the run without a fault.
pub(super) fn story_of_undisturbed(scenario: &Scenario, end: &End) -> Option<String> {
    let problem = end.outcome.as_ref().err()?;
    let name = &scenario.name;
    Some(format!(
        "scenario: {name}\nfault:    none, this is the undisturbed run\n\n{problem}\n\n{}\n\
         repeat it: make test-crash CRASH_FLAGS=\"--only '{name}: '\"\n",
        end.record
    ))
}
