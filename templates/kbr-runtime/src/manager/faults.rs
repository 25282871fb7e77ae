// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Why the parts of a manager cannot work together: found before anything starts.

use std::sync::Arc;

use super::{Manager, Registration};
use crate::cache::Source;
use crate::controller::field_manager;
use crate::lock::lock;

/// The most bytes that the [API server] accepts of a field manager.
///
/// [API server]: https://github.com/kubernetes/kubernetes/blob/v1.37.0/staging/src/k8s.io/apimachinery/pkg/apis/meta/v1/validation/validation.go
const LONGEST_FIELD_MANAGER: usize = 128;

impl Manager {
    /// Why what was added cannot work together, and what to do about it.
    pub(super) fn faults(&self) -> Vec<String> {
        let mut faults = Vec::new();
        for source in &self.caches.all {
            let watched = source.watched();
            let of_cache = lock(&watched.faults).clone().into_iter();
            faults.extend(of_cache.map(|fault| format!("a cache of {} {fault}", watched.resource)));
        }
        for (number, controller) in self.controllers.iter().enumerate() {
            let before = self.controllers[..number].iter();
            faults.extend(self.too_long(controller));
            faults.extend(
                before
                    .filter_map(|other| namesake(other, controller))
                    .next(),
            );
            let who = format!("the controller `{}`", controller.name);
            faults.extend(self.foreign(&who, &controller.sources));
        }
        for (path, sources) in self.webhooks.caches() {
            faults.extend(self.foreign(&format!("the webhook at `{path}`"), sources));
        }
        faults
    }

    fn too_long(&self, controller: &Registration) -> Option<String> {
        let field_manager = field_manager(self.operator, controller.name) + controller.suffix;
        let length = field_manager.len();
        (length > LONGEST_FIELD_MANAGER).then(|| {
            format!(
                "the field manager `{field_manager}` has {length} bytes, of which Kubernetes accepts \
                 {LONGEST_FIELD_MANAGER}: give the operator or the controller a shorter name"
            )
        })
    }

    /// The first of the `sources` that is not of this manager, which would never be filled.
    fn foreign(&self, who: &str, sources: &[Arc<dyn Source>]) -> Option<String> {
        let is_foreign =
            |source: &&Arc<dyn Source>| !self.caches.all.iter().any(|own| Arc::ptr_eq(own, source));
        let foreign = &sources.iter().find(is_foreign)?.watched().resource;
        Some(format!(
            "{who} has a cache of {foreign} from another manager, which does not fill it here: get the cache from the \
             manager that runs it, such as with `Manager::all`"
        ))
    }
}

/// Why these two cannot have one name. A controller for each namespace may: they do the same.
fn namesake(one: &Registration, other: &Registration) -> Option<String> {
    let (name, of_one, of_other) = (one.name, one.cache.watched(), other.cache.watched());
    let is_elsewhere = of_one.resource == of_other.resource
        && of_one.namespace.is_some()
        && of_other.namespace.is_some()
        && of_one.namespace != of_other.namespace;
    if name != other.name || is_elsewhere {
        return None;
    }
    let (first, second) = (&of_one.resource, &of_other.resource);
    Some(format!(
        "two controllers have the name `{name}`, one of {first} and one of {second}, but metrics, logs and `managedFields` \
         know them by it: give one another name"
    ))
}
