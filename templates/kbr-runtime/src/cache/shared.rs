// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The caches of a manager, of whatever kind: who asks for the same gets the same.

use std::any::{Any, TypeId};
use std::collections::HashMap;
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures::future::BoxFuture;
use futures::{FutureExt, StreamExt};
use kube::Client;
use kube::runtime::watcher;
use tokio::sync::watch;

use super::{Cache, Cached, Inner, lock, may_block};
use crate::watch::{FailingWatches, Selection, Watches};

/// How long events are taken without a pause, in which the watch may be ended.
const BATCH: Duration = Duration::from_millis(50);

/// A cache of any kind, as a manager and a controller see it.
pub(crate) trait Source: Send + Sync {
    /// Follows the watch for as long as it is polled. Returns an error if the watch has ended, which it should not, and
    /// `Ok` at once if somebody else follows it.
    fn follow(self: Arc<Self>, watches: Watches) -> BoxFuture<'static, Result<(), String>>;

    fn watched(&self) -> &Watched;

    /// Keeps all objects, and not only their metadata.
    fn keep_all(&self);

    /// Forgets what this process wrote, which were dry runs; so will be what it writes later.
    #[cfg(feature = "plan")]
    fn forget_writes(&self);
}

/// What is known of the watch of a cache.
#[derive(Default)]
pub(crate) struct Watched {
    /// What is watched, such as `jobs.batch`.
    pub(crate) resource: String,
    /// The namespace, if it is only one.
    pub(crate) namespace: Option<String>,
    pub(crate) is_listed: watch::Sender<bool>,
    pub(crate) failing: FailingWatches,
    /// The last error before the first list.
    pub(crate) error: Mutex<Option<String>>,
    /// Whether it is filled before this process leads.
    pub(crate) is_warm: AtomicBool,
    /// Why the manager may not run.
    pub(crate) faults: Mutex<Vec<String>>,
}

impl Watched {
    /// Waits for the first list.
    pub(crate) async fn listed(&self) {
        let mut is_listed = self.is_listed.subscribe();
        // The sender is not dropped meanwhile.
        let _ = is_listed.wait_for(|is_listed| *is_listed).await;
    }
}

/// Waits for the first list of each of these.
pub(crate) async fn all_listed(sources: &[Arc<dyn Source>]) {
    for source in sources {
        source.watched().listed().await;
    }
}

impl<K: Cached> Source for Inner<K> {
    fn follow(self: Arc<Self>, watches: Watches) -> BoxFuture<'static, Result<(), String>> {
        Box::pin(async move {
            let Some(selection) = lock(&self.selection).take() else {
                return Ok(());
            };
            let panics = watches.panics::<K>(&self.kind);
            self.use_for(|uses| uses.panics = panics);
            let mut skipped = watches.skipped::<K>(&self.kind);
            let this = self.clone();
            let note = move |error: &str| {
                let watched = &this.watched;
                if !*watched.is_listed.borrow() {
                    *lock(&watched.error) = Some(error.to_owned());
                }
            };
            let this = self.clone();
            let passed = move |version| this.in_watch(|| this.passed(version));
            let failing = &self.watched.failing;
            let events = watches.watch(selection, &self.kind, failing, note, passed);
            let mut events = events.fuse();
            while let Some(event) = events.next().await {
                self.in_watch(|| {
                    let (start, mut next) = (Instant::now(), Some(event));
                    while let Some(event) = next {
                        let unreadable = self.take(event);
                        let count = lock(&self.store).unreadable();
                        skipped.note(unreadable, count);
                        // To give this thread away for each object of a list would cost more than to read the object.
                        let has_time = start.elapsed() < BATCH;
                        next = has_time.then(|| events.next().now_or_never()?).flatten();
                    }
                });
            }
            Err("it has no more events".to_owned())
        })
    }

    fn watched(&self) -> &Watched {
        &self.watched
    }

    fn keep_all(&self) {
        self.use_for(|uses| uses.readers.push(Arc::new(|_| true)));
    }

    #[cfg(feature = "plan")]
    fn forget_writes(&self) {
        lock(&self.store).forget_writes();
    }
}

impl<K: Cached> Inner<K> {
    /// Runs `code` of the watch, which may call functions of the operator.
    fn in_watch<T>(&self, code: impl FnOnce() -> T) -> T {
        let calls_functions = lock(&self.uses).calls_functions();
        if calls_functions {
            may_block(code)
        } else {
            code()
        }
    }
}

/// The caches of a manager.
#[derive(Default)]
pub(crate) struct Caches {
    /// Those with the manager's client and without a selector, by type and namespace.
    shared: HashMap<(TypeId, Option<String>), Box<dyn Any + Send + Sync>>,
    pub(crate) all: Vec<Arc<dyn Source>>,
}

impl Caches {
    /// The cache of all objects in that namespace, or in all namespaces.
    pub(crate) fn shared<K: Cached>(&mut self, client: Client, namespace: Option<&str>) -> Cache<K>
    where
        K::DynamicType: Default,
    {
        let namespace = namespace.map(str::to_owned);
        let id = (TypeId::of::<K>(), namespace.clone());
        let known = self.shared.get(&id).and_then(|any| any.downcast_ref());
        if let Some(cache) = known {
            return Cache::clone(cache);
        }
        let selection = Selection {
            client,
            namespace,
            config: watcher::Config::default(),
        };
        let cache = Cache::<K>::new(Some(selection), K::DynamicType::default());
        self.shared.insert(id, Box::new(cache.clone()));
        self.all.push(cache.source());
        cache
    }
}
