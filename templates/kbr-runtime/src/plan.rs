// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What an operator would change in a cluster, without changing it: `--plan`.
//!
//! Each existing object is reconciled once, one after the other, and each write is sent as a dry run, which the API
//! server validates and answers as it would answer the write. What differs between the object and the answer is noted.
//! A reconcile sees its own writes in the caches, as it always does; the next one sees the cluster as it is.

mod report;
mod requests;
mod write;

use std::sync::{Arc, Mutex, MutexGuard};
use std::time::Duration;

use http::{Method, Request, Response, StatusCode};
use kube::Client;
use kube::client::Body;
use tokio::runtime::Handle as Threads;
use tokio::time::{sleep, timeout};
use tower::{BoxError, service_fn};
use tracing::instrument::WithSubscriber;

use crate::client::parameter;
use crate::key::Key;
use crate::lock::lock;
use crate::running::panicked;
use crate::target::Target;
use crate::workers::Work;
use report::{Step, What};
use write::dry_run;

/// How often an object is tried that somebody else changes at the same time.
const ATTEMPTS: u32 = 3;

/// The time between two attempts.
const PAUSE: Duration = Duration::from_secs(1);

/// What would be changed, as far as is known. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Plan(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    steps: Vec<Step>,
    /// The controller, and the object that it reconciles.
    current: (&'static str, String),
    /// Whether the current reconcile failed because of somebody else's write.
    is_conflict: bool,
    /// What the plan would create.
    created: Vec<Target>,
    /// Whether the pass of a controller has ended.
    has_passed: bool,
}

/// The pass of one controller.
pub(crate) struct Pass<'a> {
    pub(crate) controller: &'static str,
    /// The kind of its objects, such as `cronjobs.batch`.
    pub(crate) resource: String,
    pub(crate) objects: Vec<Arc<Key>>,
    /// Forgets the writes in the caches: the next reconcile sees the cluster as it is.
    pub(crate) forget: &'a (dyn Fn() + Sync),
    pub(crate) threads: Threads,
    /// A reconcile that takes longer blocks its thread: its own deadline is shorter.
    pub(crate) limit: Duration,
    pub(crate) work: Work,
}

/// A request that writes and has no dry run.
#[derive(Debug, thiserror::Error)]
#[error("a plan does not send `{method} {path}`: it has no dry run")]
struct NoDryRun {
    method: Method,
    path: String,
}

impl Plan {
    /// Reconciles each object once.
    pub(crate) async fn pass(&self, pass: Pass<'_>) {
        (pass.forget)();
        for object in &pass.objects {
            let name = format!("{} {object}", pass.resource);
            let mut attempts = 1;
            while self.attempt(&pass, object, &name).await && attempts < ATTEMPTS {
                self.lock()
                    .steps
                    .retain(|step| !step.is_of(pass.controller, &name));
                attempts += 1;
                sleep(PAUSE).await;
            }
        }
        self.lock().has_passed = true;
    }

    /// Reconciles an object. Returns whether somebody else has changed something at the same time.
    async fn attempt(&self, pass: &Pass<'_>, object: &Arc<Key>, name: &str) -> bool {
        {
            let mut state = self.lock();
            state.current = (pass.controller, name.to_owned());
            state.is_conflict = false;
        }
        let work = (pass.work)(object.clone()).with_current_subscriber();
        let task = pass.threads.spawn(work);
        let abort = task.abort_handle();
        match timeout(pass.limit, task).await {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => self.failed(&panicked(error), false),
            Err(_) => {
                abort.abort();
                self.failed("timeout: it blocks its thread", false);
            }
        }
        (pass.forget)();
        self.lock().is_conflict
    }

    /// Whether the last pass has ended.
    pub(crate) fn has_passed(&self) -> bool {
        std::mem::take(&mut self.lock().has_passed)
    }

    /// The current reconcile has failed.
    pub(crate) fn failed(&self, reason: &str, is_conflict: bool) {
        let mut state = self.lock();
        // The reason may be what was not written.
        if !state.is_unknown() {
            state.is_conflict = is_conflict;
            state.note(What::Failed, reason);
        }
    }

    /// What follows in the current reconcile is more than its dry runs show.
    pub(crate) fn unknown(&self, reason: &str) {
        self.lock().note(What::Unknown, reason);
    }

    /// A controller could not even begin.
    pub(crate) fn never_began(&self, controller: &'static str, reason: &str) {
        let mut state = self.lock();
        state.current = (controller, "all objects".to_owned());
        state.note(What::Failed, reason);
    }

    /// `client`, whose writes are dry runs.
    pub(crate) fn client(&self, client: Client) -> Client {
        let (plan, namespace) = (self.clone(), client.default_namespace().to_owned());
        let requests = service_fn(move |request| {
            let (plan, client) = (plan.clone(), client.clone());
            async move { plan.answer(&client, request).await }
        });
        Client::new(requests, namespace)
    }

    async fn answer(
        &self,
        client: &Client,
        request: Request<Body>,
    ) -> Result<Response<Body>, BoxError> {
        let (method, path) = (request.method().clone(), request.uri().path().to_owned());
        let target = Target::of(&path);
        let is_read = requests::is_read(&request, target.as_ref());
        let is_watch = parameter(&request, "watch").is_some();
        let Some(target) = target.filter(|target| is_read || target.has_dry_run()) else {
            if is_read {
                return Ok(client.send(request).await?);
            }
            let refused = NoDryRun { method, path };
            self.lock().note(What::Unknown, &refused.to_string());
            return Err(refused.into());
        };
        let response = if is_read {
            client.send(request).await?
        } else {
            let (response, old, new) = dry_run(client, &target, request).await?;
            if let Some(new) = new {
                self.lock().write(&target, &method, old, &new);
            }
            response
        };
        if !is_watch {
            self.lock().answered(&target, &method, response.status());
        }
        Ok(response)
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        lock(&self.0)
    }
}

impl State {
    /// Notes something about the object that is reconciled.
    fn note(&mut self, what: What, reason: &str) {
        let (by, object) = self.current.clone();
        let mut known = self.steps.iter().filter(|step| step.is_of(by, &object));
        let is_known = known.any(|step| step.what == what && step.reason == reason);
        if !is_known {
            self.steps.push(Step {
                what,
                object,
                by,
                reason: reason.to_owned(),
                fields: Vec::new(),
            });
        }
    }

    /// Whether it is not known what the current reconcile would do.
    fn is_unknown(&self) -> bool {
        let (by, object) = &self.current;
        let mut steps = self.steps.iter().filter(|step| step.is_of(by, object));
        steps.any(|step| step.what == What::Unknown)
    }

    /// A request was answered. If it depends on what the plan would create, it is not known what follows.
    fn answered(&mut self, target: &Target, method: &Method, status: StatusCode) {
        let is_list = target.name.is_none() && *method == Method::GET;
        // 409 is the answer to a write that names the uid of its object.
        if ![StatusCode::NOT_FOUND, StatusCode::CONFLICT].contains(&status) && !is_list {
            return;
        }
        let missing = self.created.iter().find(|created| match is_list {
            true => target.lists(created),
            false => target.needs(created),
        });
        if let Some(missing) = missing {
            let reason =
                format!("`{method}` of {target} depends on {missing}, which the plan would create");
            self.note(What::Unknown, &reason);
        }
    }
}

#[cfg(test)]
mod tests;
