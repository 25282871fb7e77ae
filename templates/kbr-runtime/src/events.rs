// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Events (`events.k8s.io`), which are published by one task while nobody waits for them.
//!
//! Nothing may depend on events: too many at once, and those that the API server does not take in time, are dropped
//! and counted. A repetition is counted in the [series](https://kubernetes.io/docs/reference/kubernetes-api/cluster-resources/event-v1/)
//! of the first event.

use std::collections::HashMap;
use std::env;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use k8s_openapi::api::events::v1::{Event as Stored, EventSeries};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use k8s_openapi::jiff::Timestamp;
use kube::api::{Patch, PatchParams, PostParams};
use kube::core::Request;
use kube::runtime::events::{Event, EventType};
use kube::{Client, Resource};
use prometheus_client::metrics::counter::Counter;
use serde_json::json;
use tokio::sync::mpsc;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;

use crate::api_server::ApiServer;
use crate::chain::chain;
use crate::client::send;
use crate::reading::hash_of_text;

/// How many events wait to be published.
const WAITING: usize = 4096;

/// How long publishing one event may take.
const PATIENCE: Duration = Duration::from_secs(5);

/// How long after an event the same event counts as its repetition.
const REPETITION: Duration = Duration::from_secs(360);

/// The most bytes that the API server accepts in the note, and in the reason and action.
const LONGEST_NOTE: usize = 1024;
const LONGEST_WORD: usize = 128;

/// The most bytes of an object's name in the name of an event: 253 are allowed, and a time in hexadecimal follows.
const LONGEST_NAME: usize = 230;

/// Publishes the events of one controller or task, without waiting for the API server. See
/// [`Manager::events`](crate::Manager::events). Clones share the queue in which events wait.
#[derive(Clone, Debug)]
pub struct Events {
    controller: String,
    waiting: mpsc::Sender<Stored>,
    dropped: Counter,
}

impl Events {
    /// The events that are published by the returned publisher.
    pub(crate) fn new(dropped: Counter) -> (Self, Publisher) {
        let (waiting, receiver) = mpsc::channel(WAITING);
        let events = Self {
            controller: String::new(),
            waiting,
            dropped: dropped.clone(),
        };
        let publisher = Publisher {
            waiting: receiver,
            dropped,
            published: HashMap::new(),
            most: 64,
            is_failing: false,
        };
        (events, publisher)
    }

    /// The same for another controller.
    pub(crate) fn of(&self, controller: &str) -> Self {
        Self {
            controller: controller.to_owned(),
            ..self.clone()
        }
    }

    /// Publishes `event` about the object `regarding` soon. Does not wait.
    ///
    /// An event that is equal to one of the last six minutes, note included, is counted in the `series` of that one. The
    /// API server accepts 1024 bytes of a note, and 128 of a reason and of an action; the rest is cut off. The event is
    /// dropped if 4096 others wait, or if the API server does not accept it within five seconds;
    /// `kbr_dropped_events_total` counts that.
    ///
    /// The role must allow `create` and `patch` on `events` in the API group `events.k8s.io`.
    pub fn publish(&self, event: Event, regarding: ObjectReference) {
        let is_warning = event.type_ == EventType::Warning;
        let event = Stored {
            action: Some(cut(event.action, LONGEST_WORD)),
            note: event.note.map(|note| cut(note, LONGEST_NOTE)),
            reason: Some(cut(event.reason, LONGEST_WORD)),
            regarding: Some(regarding),
            related: event.secondary,
            reporting_controller: Some(self.controller.clone()),
            type_: Some(if is_warning { "Warning" } else { "Normal" }.to_owned()),
            event_time: Some(MicroTime(Timestamp::now())),
            ..Stored::default()
        };
        if self.waiting.try_send(event).is_err() {
            self.dropped.inc();
        }
    }
}

/// Publishes the events that wait, one after the other.
pub(crate) struct Publisher {
    waiting: mpsc::Receiver<Stored>,
    dropped: Counter,
    /// The events of the last minutes, by the hash of what makes them equal.
    published: HashMap<u64, Published>,
    /// At how many of them the old ones are removed.
    most: usize,
    is_failing: bool,
}

/// An event in the API server.
struct Published {
    name: String,
    count: i32,
    last: Instant,
}

impl Publisher {
    /// Publishes events while the API server answers, until `end` is cancelled and none waits any more.
    pub(crate) async fn run(
        &mut self,
        client: Client,
        server: &ApiServer,
        end: &CancellationToken,
    ) {
        let instance = cut(instance(|name| env::var(name).ok()), LONGEST_WORD);
        loop {
            let event = tokio::select! {
                biased;
                event = self.waiting.recv() => event,
                () = end.cancelled() => return,
            };
            let Some(mut event) = event else {
                return;
            };
            while !server.answers() {
                server.answering(PATIENCE).await;
            }
            event.reporting_instance = Some(instance.clone());
            match timeout(PATIENCE, self.publish(&client, event)).await {
                Ok(Ok(())) => self.is_failing = false,
                Ok(Err(error)) => self.failed(&chain(&error), is_end_of_namespace(&error)),
                Err(_) => self.failed(&format!("no answer within {PATIENCE:?}"), false),
            }
        }
    }

    async fn publish(&mut self, client: &Client, mut event: Stored) -> kube::Result<()> {
        let regarding = event.regarding.clone().unwrap_or_default();
        let namespace = regarding.namespace.unwrap_or_else(|| "default".to_owned());
        // The answers are not read: there is nothing to know from them.
        let events = Request::new(Stored::url_path(&(), Some(&namespace)));
        let at = event
            .event_time
            .take()
            .unwrap_or_else(|| MicroTime(Timestamp::now()));
        let text = serde_json::to_string(&event).map_err(kube::Error::SerdeError)?;
        let hash = hash_of_text(&text);
        let last = Instant::now();
        self.forget_old(last);
        let first = self.published.get_mut(&hash);
        if let Some(first) = first.filter(|first| last - first.last < REPETITION) {
            let series = EventSeries {
                count: first.count.saturating_add(1),
                last_observed_time: at.clone(),
            };
            (first.count, first.last) = (series.count, last);
            let patch = Patch::Merge(json!({ "series": series }));
            let patch = events.patch(&first.name, &PatchParams::default(), &patch);
            match send(client, "patch", patch).await {
                // It expires after an hour, and may be deleted before.
                Err(kube::Error::Api(status)) if status.is_not_found() => {}
                patched => return patched.map(|_| ()),
            }
        }
        let object = regarding.name.unwrap_or_else(|| "manager".to_owned());
        let name = format!(
            "{}.{:x}",
            cut(object, LONGEST_NAME),
            Timestamp::now().as_nanosecond()
        );
        event.metadata.name = Some(name.clone());
        event.metadata.namespace = Some(namespace);
        event.event_time = Some(at);
        let event = serde_json::to_vec(&event).map_err(kube::Error::SerdeError)?;
        let create = events.create(&PostParams::default(), event);
        send(client, "create", create).await?;
        let count = 1;
        self.published.insert(hash, Published { name, count, last });
        Ok(())
    }

    /// Forgets the events that nothing repeats any more, once there are twice as many as after the last time.
    fn forget_old(&mut self, now: Instant) {
        if self.published.len() >= self.most {
            self.published
                .retain(|_, event| now - event.last < REPETITION);
            self.most = 2 * self.published.len().max(32);
        }
    }

    /// Logs the first of several failures, unless it was to be expected.
    fn failed(&mut self, error: &str, is_expected: bool) {
        self.dropped.inc();
        if is_expected || self.is_failing {
            tracing::debug!(error, "event not published");
        } else {
            self.is_failing = true;
            tracing::warn!(
                error,
                "event not published; the next ones are logged at the level debug"
            );
        }
    }
}

/// The name of the pod, or outside of one that of the machine, with the environment `variable`.
pub(crate) fn instance(variable: impl Fn(&'static str) -> Option<String>) -> String {
    let mut names = ["POD_NAME", "HOSTNAME"].into_iter().filter_map(variable);
    let name = names.find(|name| !name.is_empty());
    name.unwrap_or_else(|| "manager".to_owned())
}

/// Whether nothing can be created because the namespace is being deleted.
fn is_end_of_namespace(error: &kube::Error) -> bool {
    let kube::Error::Api(status) = error else {
        return false;
    };
    let mut causes = status.details.iter().flat_map(|details| &details.causes);
    causes.any(|cause| cause.reason == "NamespaceTerminating")
}

/// At most so many bytes of a text.
fn cut(mut text: String, most: usize) -> String {
    while text.len() > most {
        text.pop();
    }
    text
}

#[cfg(test)]
mod tests;
