// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The log line and the event about an object that cannot be read, once for each version of it.
//!
//! A mistake in a schema makes all objects of a kind unreadable at once. Their events are therefore published
//! one after the other, and only so many wait: the log and the metric still have all objects.

use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::{Event, EventType};
use tokio::time::timeout;

use super::{LONGEST_PAUSE, Watches, resource};
use crate::cache::Unreadable;
use crate::chain::chain;
use crate::handle::note_of;
use crate::key::Key;
use crate::metrics::Share;

/// How long publishing the event may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many characters of an action are kept: the API server accepts 128 bytes, and a character has up to 4.
const LONGEST_ACTION: usize = 32;

/// How many events wait to be published.
pub(super) const WAITING: usize = 1000;

/// An event, and the object that it is about.
pub(super) type Report = (Event, ObjectReference);

impl Watches {
    /// Publishes events about objects that cannot be read, one after the other, while the API server answers. Never
    /// returns.
    pub(crate) async fn report_unreadable(&self) {
        let mut waiting = self.waiting.lock().await;
        while let Some((event, regarding)) = waiting.recv().await {
            while !self.server.answers() {
                self.server.answering(LONGEST_PAUSE).await;
            }
            let object = regarding.name.as_deref();
            let published = self.recorder.publish(&event, &regarding);
            match timeout(PATIENCE, published).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = chain(&error), object, "event not published");
                }
                Err(_) => tracing::debug!(object, "event not published in time"),
            }
        }
    }

    /// For the objects of one watch that cannot be read.
    pub(crate) fn skipped<K: Resource>(&self, kind: &K::DynamicType) -> Skipped {
        let resource = resource::<K>(kind);
        Skipped {
            watches: self.clone(),
            counted: self.series.unreadable(&resource),
            resource,
            api_version: K::api_version(kind).into_owned(),
            kind: K::kind(kind).into_owned(),
        }
    }
}

/// The objects of one watch that cannot be read.
pub(crate) struct Skipped {
    watches: Watches,
    counted: Share,
    resource: String,
    api_version: String,
    kind: String,
}

impl Skipped {
    /// Reports an object that cannot be read, if there is a new one, and how many there are.
    pub(crate) fn note(&mut self, object: Option<Unreadable>, skipped: usize) {
        self.counted.set(skipped);
        let Some(object) = object else {
            return;
        };
        let key = Key::of_meta(&object.metadata);
        let (controller, error) = (self.watches.controller, &object.error);
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
            note: Some(note_of(format!(
                "The operator cannot read this object and skips it: {error}"
            ))),
            // The recorder merges events with equal actions, and keeps the first note.
            action: format!("Skip {}", error.field)
                .chars()
                .take(LONGEST_ACTION)
                .collect(),
            secondary: None,
        };
        if let Err(error) = self.watches.reports.try_send((event, regarding)) {
            let object = error.into_inner().1.name;
            tracing::debug!(object, "event not published: too many wait");
        }
    }
}
