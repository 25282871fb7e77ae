// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The log line and the event about an object that cannot be read, once for each version of it.
//!
//! A mistake in a schema makes all objects of a kind unreadable at once. Only so many events wait: the log and the metric
//! still have all objects.

use kube::Resource;
use kube::runtime::events::{Event, EventType};

use super::{Watches, resource};
use crate::cache::Unreadable;
use crate::metrics::Share;

impl Watches {
    /// For the objects of one watch that cannot be read.
    pub(crate) fn skipped<K: Resource>(&self, kind: &K::DynamicType) -> Skipped {
        let resource = resource::<K>(kind);
        Skipped {
            watches: self.clone(),
            counted: self.series.unreadable(&resource),
            resource,
        }
    }
}

/// The objects of one watch that cannot be read.
pub(crate) struct Skipped {
    watches: Watches,
    counted: Share,
    resource: String,
}

impl Skipped {
    /// Reports an object that cannot be read, if there is a new one, and how many there are.
    pub(crate) fn note(&mut self, object: Option<Unreadable>, skipped: usize) {
        self.counted.set(skipped);
        let Some(object) = object else {
            return;
        };
        let (controller, error) = (self.watches.controller, &object.error);
        tracing::error!(
            controller,
            resource = self.resource,
            object = %object.key,
            field = error.field,
            error = error.reason,
            skipped,
            "an object cannot be read and is skipped"
        );
        let event = Event {
            type_: EventType::Warning,
            reason: "Unreadable".to_owned(),
            note: Some(format!(
                "The operator cannot read this object and skips it: {error}"
            )),
            action: "Skip".to_owned(),
            secondary: None,
        };
        self.watches.events.publish(event, object.reference);
    }
}
