// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The log line and the event about an object that cannot be read, once for each version of it.
//!
//! A mistake in a schema makes all objects of a kind unreadable at once. Their events are therefore published
//! one after the other, and only so many wait: the log and the metric still have all objects.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};
use tokio::sync::Notify;

use super::{LONGEST_PAUSE, resource};
use crate::api_server::ApiServer;
use crate::cache::{Unreadable, lock};
use crate::chain::chain;
use crate::key::Key;
use crate::metrics::Share;

/// How long publishing the event may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many characters of an action are kept: the API server accepts 128 bytes, and a character has up to 4.
const LONGEST_ACTION: usize = 32;

/// How many events wait to be published.
const WAITING: usize = 1000;

/// An event, and the object that it is about.
type Report = (Event, ObjectReference);

/// The events of all watches of a controller that wait to be published. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Reports(Arc<(Mutex<VecDeque<Report>>, Notify)>);

impl Reports {
    fn add(&self, report: Report) {
        let (waiting, added) = &*self.0;
        let mut waiting = lock(waiting);
        if waiting.len() < WAITING {
            waiting.push_back(report);
            added.notify_one();
        } else {
            tracing::debug!(object = report.1.name, "event not published: too many wait");
        }
    }

    /// Publishes them, one after the other, while the API server answers.
    pub(super) async fn publish(&self, server: &ApiServer, recorder: &Recorder) -> Infallible {
        let (waiting, added) = &*self.0;
        loop {
            while !server.answers() {
                server.answering(LONGEST_PAUSE).await;
            }
            let next = lock(waiting).pop_front();
            let Some((event, regarding)) = next else {
                added.notified().await;
                continue;
            };
            let object = regarding.name.as_deref();
            let published = recorder.publish(&event, &regarding);
            match tokio::time::timeout(PATIENCE, published).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = chain(&error), object, "event not published");
                }
                Err(_) => tracing::debug!(object, "event not published in time"),
            }
        }
    }
}

/// The objects of one watch that cannot be read.
pub(crate) struct Skipped {
    controller: &'static str,
    reports: Reports,
    counted: Share,
    resource: String,
    api_version: String,
    kind: String,
}

impl Skipped {
    pub(super) fn new<K: Resource>(
        controller: &'static str,
        reports: Reports,
        counted: Share,
        kind: &K::DynamicType,
    ) -> Self {
        Self {
            controller,
            reports,
            counted,
            resource: resource::<K>(kind),
            api_version: K::api_version(kind).into_owned(),
            kind: K::kind(kind).into_owned(),
        }
    }

    /// Reports an object that cannot be read, if there is a new one, and how many there are.
    pub(crate) fn note(&mut self, object: Option<Unreadable>, skipped: usize) {
        self.counted.set(skipped);
        if let Some(object) = object {
            self.report(&object, skipped);
        }
    }

    fn report(&self, object: &Unreadable, skipped: usize) {
        let key = Key::of_meta(&object.metadata);
        let (controller, error) = (self.controller, &object.error);
        tracing::error!(
            controller,
            resource = self.resource,
            object = %key,
            field = error.field,
            error = error.reason,
            skipped,
            "an object cannot be read and is skipped"
        );
        let regarding = ObjectReference {
            api_version: Some(self.api_version.clone()),
            kind: Some(self.kind.clone()),
            name: object.metadata.name.clone(),
            namespace: object.metadata.namespace.clone(),
            uid: object.metadata.uid.clone(),
            ..ObjectReference::default()
        };
        let event = Event {
            type_: EventType::Warning,
            reason: "Unreadable".to_owned(),
            note: Some(format!(
                "The operator cannot read this object and skips it: {error}"
            )),
            // The recorder merges events with equal actions, and keeps the first note.
            action: format!("Skip {}", error.field)
                .chars()
                .take(LONGEST_ACTION)
                .collect(),
            secondary: None,
        };
        self.reports.add((event, regarding));
    }
}
