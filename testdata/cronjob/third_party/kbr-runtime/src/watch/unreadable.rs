// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The log line and the event about an object that cannot be read, once for each version of it.

use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::ObjectReference;
use kube::Resource;
use kube::runtime::events::{Event, EventType, Recorder};
use kube::runtime::watcher;

use super::{Decoded, Unreadable, resource};
use crate::backoff::Key;
use crate::chain::chain;

/// How long publishing the event may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// How many characters of an action are kept: the API server accepts 128 bytes, and a character has up to 4.
const LONGEST_ACTION: usize = 32;

/// The objects of one watch that cannot be read.
pub(crate) struct Skipped {
    controller: &'static str,
    recorder: Recorder,
    /// The versions that have been reported, by uid.
    reported: HashMap<String, String>,
    /// The same for a list that is arriving.
    listed: HashMap<String, String>,
}

impl Skipped {
    pub(super) fn new(controller: &'static str, recorder: Recorder) -> Self {
        Self {
            controller,
            recorder,
            reported: HashMap::new(),
            listed: HashMap::new(),
        }
    }

    /// Reports an object in `event` that cannot be read, and forgets one that can be read or was deleted.
    pub(crate) fn note<K>(&mut self, event: &watcher::Event<Decoded<K>>)
    where
        K: Resource,
        K::DynamicType: Default,
    {
        match event {
            watcher::Event::Init => self.listed.clear(),
            watcher::Event::InitApply(Decoded::Unreadable(object)) => {
                self.report::<K>(object);
                self.listed.extend(identity(object));
            }
            watcher::Event::InitApply(Decoded::Object(_)) => {}
            watcher::Event::InitDone => self.reported = std::mem::take(&mut self.listed),
            watcher::Event::Apply(Decoded::Unreadable(object)) => {
                self.report::<K>(object);
                self.reported.extend(identity(object));
            }
            watcher::Event::Apply(object @ Decoded::Object(_)) | watcher::Event::Delete(object) => {
                if !self.reported.is_empty()
                    && let Some(uid) = &object.meta().uid
                {
                    self.reported.remove(uid);
                }
            }
        }
    }

    fn report<K>(&self, object: &Unreadable)
    where
        K: Resource,
        K::DynamicType: Default,
    {
        let Some((uid, version)) = identity(object) else {
            return;
        };
        if self.reported.get(&uid) == Some(&version) {
            return;
        }
        let kind = K::DynamicType::default();
        let (resource, key) = (resource::<K>(&kind), Key::of_meta(&object.metadata));
        let (controller, error) = (self.controller, &object.error);
        // Including those that are new in a list that is arriving.
        let skipped = self.reported.len().max(self.listed.len())
            + usize::from(!self.reported.contains_key(&uid));
        tracing::error!(
            controller,
            resource,
            object = %key,
            field = error.field,
            error = error.reason,
            skipped,
            "an object cannot be read and is skipped"
        );
        let regarding = ObjectReference {
            api_version: Some(K::api_version(&kind).into_owned()),
            kind: Some(K::kind(&kind).into_owned()),
            name: object.metadata.name.clone(),
            namespace: object.metadata.namespace.clone(),
            uid: Some(uid),
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
        let recorder = self.recorder.clone();
        tokio::spawn(async move {
            let published = recorder.publish(&event, &regarding);
            match tokio::time::timeout(PATIENCE, published).await {
                Ok(Ok(())) => {}
                Ok(Err(error)) => {
                    tracing::debug!(error = chain(&error), object = %key, "event not published");
                }
                Err(_) => tracing::debug!(object = %key, "event not published in time"),
            }
        });
    }
}

/// The uid and the version.
fn identity(object: &Unreadable) -> Option<(String, String)> {
    let metadata = &object.metadata;
    Some((metadata.uid.clone()?, metadata.resource_version.clone()?))
}
