// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How a controller runs, from its subscriptions to the end of its last reconcile.

use std::collections::BTreeSet;
use std::error::Error;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures::StreamExt;
use futures::future::BoxFuture;
use kube::Client;
use tokio::runtime::Handle as Threads;
use tokio_util::sync::CancellationToken;

use super::{Controller, is_replaced};
use crate::api_server::ApiServer;
use crate::cache::{Cached, Source, all_listed};
use crate::events::Events;
use crate::handle::{Context, Statuses};
use crate::lock::lock;
#[cfg(feature = "plan")]
use crate::plan::Pass;
use crate::queue::{Cause, Queue};
use crate::reconciler::{Policy, Reconciler};
use crate::restless::Restless;
use crate::running::Tasks;
use crate::watch::Watches;
use crate::{Action, Clock, Handle, metrics, workers};

/// How long the first lists of a plan may take. Nobody waits for a CRD that is not installed.
#[cfg(feature = "plan")]
const PLAN_SYNC_LIMIT: Duration = Duration::from_secs(30);

impl<K: Cached> Controller<K> {
    /// Subscribes to the caches. Nothing is sent yet.
    pub(crate) fn prepare<R, F, E>(
        mut self,
        name: &'static str,
        reconcile: R,
        policy: Policy<K, E>,
        run: Run,
    ) -> Prepared
    where
        R: Fn(Handle<K>) -> F + Send + Sync + 'static,
        F: Future<Output = Result<Action, E>> + Send + 'static,
        E: Error + Send + 'static,
    {
        let (queue, stop, threads) = (run.queue, run.stop, run.threads);
        let watches = Watches::new(name, run.server.clone(), run.events.clone(), run.series);
        queue.configure(self.timeout, self.debounce);
        queue.counts().most.inc_by(self.concurrency.into());
        let cache = self.cache.clone();
        let (backoff, names) = (self.backoff.clone(), self.names.clone());
        let pause = self.pause.clone();
        let statuses = Arc::<Mutex<Statuses>>::default();
        let written = statuses.clone();
        // Last, so that what the others keep of an object is up to date before its reconcile.
        self.subscribe(&cache, false, move |change, _, queue| {
            let key = &change.key;
            if let Some(old) = change.old.as_ref().filter(|_| is_replaced(change)) {
                lock(&written).noted.remove(&*old.uid);
            }
            if change.new.is_none() {
                queue.forget(key);
                backoff.forget(key);
                names.gone(key);
                if let Some(pause) = &pause {
                    pause.forget(key);
                }
                return BTreeSet::new();
            }
            BTreeSet::from([key.clone()])
        });
        for setup in self.setup {
            setup(queue.clone());
        }
        let sources = self.sources.iter();
        let failing = sources.map(|source| source.watched().failing.clone());
        let reconciler = Reconciler {
            controller: name,
            backoff: self.backoff,
            timeout: self.timeout,
            server: run.server.clone(),
            queue: queue.clone(),
            stop: stop.clone(),
            failing: failing.collect(),
            restless: Restless::new(),
        };
        #[cfg(feature = "plan")]
        let server = run.server.clone();
        let context = Context {
            field_manager: field_manager(run.operator, name),
            client: run.client,
            clock: run.clock,
            server: run.server,
            events: run.events,
            cache: self.cache,
            caches: self.caches,
            pods: self.pods,
            applied: self.applied,
            statuses,
            names: self.names,
            takes_over: self.takes_over,
        };
        let work = reconciler.wrap(Arc::new(context), reconcile, policy, self.pause);
        let limit = match self.concurrency {
            0 => usize::MAX,
            limit => limit.into(),
        };
        let (sources, streams) = (self.sources, self.streams);
        let sync_limit = self.sync_limit;
        #[cfg(feature = "plan")]
        let sync_limit = match server.plan() {
            Some(_) => sync_limit.min(PLAN_SYNC_LIMIT),
            None => sync_limit,
        };
        let limits = sources.iter().map(|source| (source.clone(), sync_limit));
        let limits: Vec<_> = limits.collect();
        let (all, watching, shown) = (sources.clone(), watches.clone(), sources.clone());
        let work = async move {
            let mut triggers = Tasks::default();
            for mut stream in streams {
                let (queue, cause) = (queue.clone(), Arc::new(Cause::Stream));
                triggers.spawn("a stream of objects to reconcile", async move {
                    while let Some((object, trigger)) = stream.next().await {
                        queue.add_for(&object, trigger, &cause);
                    }
                    // It may end, but not by a panic: its objects would not be reconciled any more.
                    Ok(())
                });
            }
            let reconciled = async {
                // A list does not arrive while the API server is unreachable.
                if stop
                    .run_until_cancelled(all_listed(&sources))
                    .await
                    .is_none()
                {
                    return Ok(());
                }
                #[cfg(feature = "plan")]
                if let Some(plan) = server.plan() {
                    let pass = Pass {
                        controller: name,
                        resource: cache.resource(),
                        objects: cache.keys(),
                        forget: &|| sources.iter().for_each(|source| source.forget_writes()),
                        threads,
                        limit: queue.bound(),
                        work,
                    };
                    plan.pass(pass).await;
                    return Ok(());
                }
                workers::run(queue, limit, threads, work, stop).await
            };
            tokio::select! {
                outcome = reconciled => outcome.err().unwrap_or_else(|| "it was stopped".to_owned()),
                (stream, reason) = triggers.failed() => format!("{stream} ended: {reason}"),
                reason = watches.never_listed(&limits) => reason,
            }
        };
        Prepared {
            name,
            needs_leader: self.needs_leader,
            is_warm: self.is_warm,
            sync_limit,
            watch: Some(Box::pin(async move { watching.follow(&all).await })),
            work: Box::pin(work),
            sources: shown,
        }
    }
}

/// A controller that can start.
pub(crate) struct Prepared {
    pub(crate) name: &'static str,
    pub(crate) needs_leader: bool,
    pub(crate) is_warm: bool,
    /// How long the first list of a cache may take.
    pub(crate) sync_limit: Duration,
    /// Fills the caches, unless it has begun. Returns why it ended, which it should not.
    pub(crate) watch: Option<BoxFuture<'static, String>>,
    /// Reconciles until the stop, then lets running reconciles finish. Returns why it ended.
    pub(crate) work: BoxFuture<'static, String>,
    pub(crate) sources: Vec<Arc<dyn Source>>,
}

/// Who writes what a controller writes.
pub(crate) fn field_manager(operator: Option<&str>, controller: &str) -> String {
    match operator {
        Some(operator) => format!("{operator}/{controller}"),
        None => controller.to_owned(),
    }
}

/// What the manager gives to a controller that it runs.
#[derive(Clone)]
pub(crate) struct Run {
    /// The name of the operator, if it has one.
    pub(crate) operator: Option<&'static str>,
    pub(crate) server: ApiServer,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) events: Events,
    pub(crate) series: metrics::Watches,
    pub(crate) queue: Queue,
    pub(crate) threads: Threads,
    pub(crate) stop: CancellationToken,
}
