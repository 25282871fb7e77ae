// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! What happens to the operator, and how long it may take to recover.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use clap::ValueEnum;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::rbac::v1::ClusterRole;
use kbr_testing::{FaultProxy, ProxiedRequest, TestEnv};
use kube::api::{
    ApiResource, DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams,
};
use kube::{Api, Client, ResourceExt};
use serde_json::json;
use tokio::time::sleep;

use crate::Result;
use crate::judge::Whom;
use crate::operators::Operators;
use crate::random::Random;
use crate::record::ended;
use crate::schedules::{Scheduled, container};

/// The role of the manager.
const ROLE: &str = "cronjob-manager-role";

/// The kinds of faults.
#[derive(Clone, Copy, Debug, Eq, PartialEq, ValueEnum)]
pub enum Kind {
    /// The API server is killed and restarted.
    ApiServer,
    /// CronJobs are unknown to the API server, as if their CRD were not installed.
    CrdAway,
    /// All watches are closed, several times.
    CutWatches,
    /// All connections are closed, several times.
    CutAll,
    /// No watch is served for long enough that etcd is compacted.
    Compaction,
    /// Nothing passes, and no connection is closed.
    BlackHole,
    /// No event of a watch passes, and no watch is closed.
    BlackHoleWatches,
    /// Jobs are created, but the responses are lost.
    LoseAnswers,
    /// The response to one request that creates a Job is lost, and nothing else.
    LoseOneAnswer,
    /// Creating Jobs in one namespace fails with 429 or 503.
    RefuseJobs,
    /// Writing statuses fails with 429, 500 or 503.
    RefuseStatuses,
    /// Connections are closed as soon as they are open.
    RefuseConnections,
    /// A rule of the manager's role is missing.
    Rights,
    /// The operator is killed and restarted.
    Kill,
    /// The operator is stopped with SIGTERM and restarted.
    Terminate,
    /// A second operator runs.
    TwoOperators,
    /// The operator cannot read one of the CronJobs.
    Unreadable,
    /// The operator cannot read one of the CronJobs, and is restarted meanwhile.
    UnreadableAtStart,
    /// Jobs that have ended are deleted, while all watches are closed.
    DeleteJobs,
    /// The operator's clock is wrong.
    Clock,
}

/// A fault.
#[derive(Clone, Debug)]
pub struct Fault {
    pub kind: Kind,
    pub seconds: u64,
    /// A random number for further choices.
    choice: u64,
}

/// What faults are injected into.
pub struct World {
    pub env: TestEnv,
    pub admin: Client,
    pub faults: FaultProxy,
    pub operators: Operators,
    pub cronjobs: Vec<Scheduled>,
    /// Shifts the operator's clock, if possible.
    pub clock: Option<crate::clock::Shift>,
    /// The original role, while a fault has removed a rule from it.
    role: Option<ClusterRole>,
}

impl Fault {
    pub fn draw(random: &mut Random, kind: Kind, longest: u64) -> Self {
        let (least, most) = match kind {
            Kind::ApiServer => (1, 62),
            Kind::CrdAway => (10, 90),
            Kind::BlackHole | Kind::BlackHoleWatches => (10, 60),
            // Long enough for a run of the object to be due.
            Kind::Unreadable | Kind::UnreadableAtStart => (40, 60),
            Kind::Compaction => (25, 40),
            Kind::CutWatches | Kind::CutAll | Kind::DeleteJobs => (5, 20),
            Kind::Kill | Kind::Terminate => (0, 20),
            _ => (10, 40),
        };
        Self {
            kind,
            seconds: random.between(least..=most.min(longest).max(least)),
            choice: random.between(0..=999),
        }
    }

    /// Which CronJobs it excuses, and for how many seconds after its end.
    pub fn excuses(&self, world: &World) -> Option<(Whom, i64)> {
        let victim = self.victim(world);
        match self.kind {
            // Another operator must do no harm, and a watch that is closed is restarted.
            Kind::CutWatches | Kind::CutAll | Kind::DeleteJobs | Kind::TwoOperators => None,
            Kind::Unreadable | Kind::UnreadableAtStart => {
                let Scheduled {
                    namespace, name, ..
                } = victim.clone();
                Some((Whom::One(namespace, name), 15))
            }
            Kind::RefuseJobs => Some((Whom::Namespace(victim.namespace.clone()), 60)),
            Kind::ApiServer
            | Kind::CrdAway
            | Kind::Compaction
            | Kind::RefuseConnections
            | Kind::Kill
            | Kind::Terminate => Some((Whom::All, 15)),
            Kind::BlackHole
            | Kind::BlackHoleWatches
            | Kind::LoseAnswers
            | Kind::LoseOneAnswer
            | Kind::RefuseStatuses
            | Kind::Rights
            | Kind::Clock => Some((Whom::All, 60)),
        }
    }

    /// The CronJob that must not get Jobs while it lasts.
    pub fn ghost<'a>(&self, world: &'a World) -> Option<&'a Scheduled> {
        let is_unreadable = matches!(self.kind, Kind::Unreadable | Kind::UnreadableAtStart);
        is_unreadable.then(|| self.victim(world))
    }

    fn victim<'a>(&self, world: &'a World) -> &'a Scheduled {
        &world.cronjobs[self.choice as usize % world.cronjobs.len()]
    }

    pub fn describe(&self, world: &World) -> String {
        let victim = self.victim(world);
        let what = match self.kind {
            Kind::RefuseJobs => format!("{} in {}", self.code(), victim.namespace),
            Kind::RefuseStatuses => self.code().to_string(),
            Kind::Unreadable | Kind::UnreadableAtStart => {
                format!("{}/{}", victim.namespace, victim.name)
            }
            Kind::Rights => format!("rule {}", self.choice),
            Kind::Clock => format!("{} s", self.shift()),
            _ => String::new(),
        };
        format!("{:?} for {} s {what}", self.kind, self.seconds)
    }

    fn code(&self) -> u16 {
        [429, 503, 500][self.choice as usize % if self.kind == Kind::RefuseJobs { 2 } else { 3 }]
    }

    /// By how many seconds the clock is wrong.
    fn shift(&self) -> i64 {
        [3600, -3600, 90, -90, 7200][self.choice as usize % 5]
    }

    /// Whether it stops or starts operators.
    fn is_of_processes(&self) -> bool {
        matches!(
            self.kind,
            Kind::Kill | Kind::Terminate | Kind::TwoOperators | Kind::UnreadableAtStart
        )
    }

    /// Whether both can happen at the same time.
    pub fn goes_with(&self, other: &Self) -> bool {
        self.kind != other.kind && !(self.is_of_processes() && other.is_of_processes())
    }

    /// Begins it; `is_alone` says whether it is the only fault. Returns violations.
    async fn begin(&self, world: &mut World, is_alone: bool) -> Result<Vec<String>> {
        let victim = self.victim(world).clone();
        let World {
            faults, operators, ..
        } = world;
        match self.kind {
            Kind::ApiServer => world.env.kill_api_server(),
            Kind::CutWatches | Kind::CutAll | Kind::DeleteJobs => {}
            Kind::CrdAway => {
                let is_of_crd = |request: &ProxiedRequest| request.path.contains("/cronjobs");
                faults.refuse(is_of_crd, 404, None);
                faults.cut_requests(is_of_crd);
            }
            Kind::Compaction => {
                faults.refuse(|request| request.is_watch, 503, None);
                faults.cut_requests(|request| request.is_watch);
            }
            Kind::BlackHole => faults.black_hole(),
            Kind::BlackHoleWatches => faults.black_hole_requests(|request| request.is_watch),
            Kind::LoseAnswers => faults.lose_answers(creates_job),
            Kind::LoseOneAnswer => {
                let is_next = AtomicBool::new(true);
                faults.lose_answers(move |request| {
                    creates_job(request) && is_next.swap(false, Ordering::Relaxed)
                });
            }
            Kind::RefuseJobs => {
                let place = format!("/namespaces/{}/", victim.namespace);
                let has_retry_after = self.choice.is_multiple_of(2);
                let after = has_retry_after.then_some(Duration::from_secs(1));
                let refused =
                    move |request: &_| creates_job(request) && request.path.contains(&place);
                faults.refuse(refused, self.code(), after);
            }
            Kind::RefuseStatuses => {
                let refused = |request: &ProxiedRequest| request.path.ends_with("/status");
                faults.refuse(refused, self.code(), None);
            }
            Kind::RefuseConnections => {
                faults.refuse_connections();
                faults.cut();
            }
            Kind::Rights => world.take_rights(self.choice as usize).await?,
            Kind::Kill => operators.kill()?,
            Kind::Terminate => {
                return Ok(operators.terminate(is_alone).await?.into_iter().collect());
            }
            Kind::TwoOperators => operators.start()?,
            Kind::Unreadable => world.set_readable(&victim, false).await?,
            Kind::UnreadableAtStart => {
                world.set_readable(&victim, false).await?;
                world.operators.kill()?;
                world.operators.start()?;
            }
            Kind::Clock => {
                let clock = world.clock.as_ref().ok_or("the clock cannot be set")?;
                clock.set(self.shift())?;
            }
        }
        Ok(Vec::new())
    }

    /// Does what happens each second while it lasts.
    async fn go_on(&self, world: &World) {
        match self.kind {
            Kind::CutAll => world.faults.cut(),
            Kind::CutWatches => world.faults.cut_requests(|request| request.is_watch),
            Kind::DeleteJobs => {
                world.faults.cut_requests(|request| request.is_watch);
                // The API server may be down.
                let _ = world.delete_ended_jobs().await;
            }
            _ => {}
        }
    }

    /// Undoes what the proxy's `heal` does not.
    async fn end(&self, world: &mut World) -> Result<()> {
        match self.kind {
            Kind::ApiServer => Ok(world.env.start_api_server().await?),
            Kind::Rights => world.give_rights().await,
            Kind::Kill | Kind::Terminate => world.operators.start(),
            Kind::TwoOperators => world.operators.kill(),
            Kind::Unreadable | Kind::UnreadableAtStart => {
                world.set_readable(&self.victim(world).clone(), true).await
            }
            Kind::Clock => world.clock.as_ref().map_or(Ok(()), |clock| clock.set(0)),
            _ => Ok(()),
        }
    }
}

/// Runs faults at the same time, from start to end. Returns violations.
pub async fn happen(faults: &[Fault], world: &mut World) -> Result<Vec<String>> {
    let mut faults: Vec<&Fault> = faults.iter().collect();
    // Faults that change objects need the API server, and a second operator needs a first.
    faults.sort_by_key(|fault| (fault.kind == Kind::ApiServer, fault.is_of_processes()));
    let mut violations = Vec::new();
    for fault in &faults {
        violations.extend(fault.begin(world, faults.len() == 1).await?);
    }
    let seconds = faults.iter().map(|fault| fault.seconds).max();
    for _ in 0..seconds.unwrap_or_default() {
        for fault in &faults {
            fault.go_on(world).await;
        }
        violations.extend(world.pass(1).await?);
    }
    world.faults.heal();
    for fault in faults.iter().rev() {
        fault.end(world).await?;
    }
    Ok(violations)
}

fn creates_job(request: &ProxiedRequest) -> bool {
    request.method == "POST" && request.path.ends_with("/jobs")
}

impl World {
    pub fn new(
        env: TestEnv,
        faults: FaultProxy,
        operators: Operators,
        cronjobs: Vec<Scheduled>,
        clock: Option<crate::clock::Shift>,
    ) -> Self {
        Self {
            admin: env.admin(),
            env,
            faults,
            operators,
            cronjobs,
            clock,
            role: None,
        }
    }

    /// Lets time pass. Returns violations of the operator's process.
    pub async fn pass(&mut self, seconds: u64) -> Result<Vec<String>> {
        let mut violations = Vec::new();
        for _ in 0..seconds {
            sleep(Duration::from_secs(1)).await;
            violations.extend(self.operators.check()?);
        }
        Ok(violations)
    }

    async fn take_rights(&mut self, rule: usize) -> Result<()> {
        let api = Api::<ClusterRole>::all(self.admin.clone());
        let role = api.get(ROLE).await?;
        let mut less = role.clone();
        if let Some(rules) = less.rules.as_mut().filter(|rules| !rules.is_empty()) {
            rules.remove(rule % rules.len());
        }
        api.replace(ROLE, &PostParams::default(), &less).await?;
        self.role = Some(role);
        Ok(())
    }

    async fn give_rights(&mut self) -> Result<()> {
        if let Some(mut role) = self.role.take() {
            role.metadata.resource_version = None;
            let api = Api::<ClusterRole>::all(self.admin.clone());
            api.replace(ROLE, &PostParams::default(), &role).await?;
        }
        Ok(())
    }

    async fn set_readable(&self, cronjob: &Scheduled, is_readable: bool) -> Result<()> {
        let resource = ApiResource::erase::<api::v1::CronJob>(&());
        let namespace = &cronjob.namespace;
        let api = Api::<DynamicObject>::namespaced_with(self.admin.clone(), namespace, &resource);
        let containers = json!([container(is_readable)]);
        let template = json!({ "spec": { "containers": containers } });
        let patch = json!({ "spec": { "jobTemplate": { "spec": { "template": template } } } });
        let params = PatchParams::default();
        api.patch(&cronjob.name, &params, &Patch::Merge(patch))
            .await?;
        Ok(())
    }

    async fn delete_ended_jobs(&self) -> Result<()> {
        let jobs = Api::<Job>::all(self.admin.clone());
        let jobs = jobs.list(&ListParams::default()).await?;
        for job in jobs.iter().filter(|job| ended(job).is_some()) {
            let api =
                Api::<Job>::namespaced(self.admin.clone(), &job.namespace().unwrap_or_default());
            match api
                .delete(&job.name_any(), &DeleteParams::background())
                .await
            {
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                deleted => drop(deleted?),
            }
        }
        Ok(())
    }
}
