// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Names that an object wants for what it owns.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};

use crate::key::{Index, Key, unindex};
use crate::lock::lock;

/// By resource, such as `jobs.batch`, and name, the objects that want that name and may not get it. Clones share it.
#[derive(Clone, Default)]
pub(crate) struct Names(Arc<Mutex<Index<Name>>>);

type Name = (String, Arc<Key>);

impl Names {
    /// `object` wants `name`. Called before the name is tried: it may become free at any time after that.
    pub(super) fn want(&self, resource: &str, name: &Arc<Key>, object: &Arc<Key>) {
        let mut wanted = lock(&self.0);
        let by = wanted
            .entry((resource.to_owned(), name.clone()))
            .or_default();
        by.insert(object.clone());
    }

    /// `object` has `name`, or does not want it any more.
    pub(super) fn forget(&self, resource: &str, name: &Arc<Key>, object: &Arc<Key>) {
        unindex(
            &mut lock(&self.0),
            &(resource.to_owned(), name.clone()),
            object,
        );
    }

    /// The name has become free: who wanted it.
    pub(crate) fn freed(&self, resource: &str, name: &Arc<Key>) -> BTreeSet<Arc<Key>> {
        let freed = lock(&self.0).remove(&(resource.to_owned(), name.clone()));
        freed.unwrap_or_default()
    }

    /// Forgets what a deleted object wanted.
    pub(crate) fn gone(&self, object: &Arc<Key>) {
        lock(&self.0).retain(|_, by| {
            by.remove(object);
            !by.is_empty()
        });
    }
}
