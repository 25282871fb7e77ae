// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The caches that a controller has declared, in which a reconcile finds its objects.

use std::any::{Any, TypeId, type_name};
use std::collections::HashMap;
use std::sync::Arc;

use super::{Handle, OwnedError};
use crate::cache::{Cache, Cached, Source};

/// The caches of a controller, by the type of their objects.
#[derive(Default)]
pub(crate) struct Declared(HashMap<TypeId, Vec<One>>);

struct One {
    cache: Box<dyn Any + Send + Sync>,
    source: Arc<dyn Source>,
    /// Whether the controller is triggered by these objects for their owners.
    is_owned: bool,
}

/// What a cache is looked for.
#[derive(Clone, Copy, Eq, PartialEq)]
pub(super) enum Use {
    /// Reading an object by its name.
    Read,
    /// Reading what the object controls.
    Owned,
    /// Writing what the object is to control: otherwise nothing would be reconciled when somebody else changes or deletes
    /// it.
    Write,
}

/// The caches that a reconcile has chosen, where there are several of one type.
pub(super) type Chosen = HashMap<TypeId, Arc<dyn Source>>;

impl Declared {
    pub(crate) fn add<T: Cached>(&mut self, cache: Cache<T>, is_owned: bool) {
        let (source, all) = (cache.source(), self.0.entry(TypeId::of::<T>()).or_default());
        if let Some(known) = all.iter_mut().find(|one| Arc::ptr_eq(&one.source, &source)) {
            known.is_owned |= is_owned;
            return;
        }
        all.push(One {
            cache: Box::new(cache),
            source,
            is_owned,
        });
    }

    /// The chosen cache, or else the only one. For what is owned, the only one that is owned comes before that.
    fn find<T: Cached>(&self, chosen: &Chosen, use_: Use) -> Result<&Cache<T>, OwnedError> {
        let id = TypeId::of::<T>();
        let all = self.0.get(&id).map_or(&[][..], Vec::as_slice);
        let (count, owned) = (all.len(), all.iter().filter(|one| one.is_owned));
        let owned: Vec<_> = owned.collect();
        let found = match (chosen.get(&id), &owned[..], all) {
            (Some(chosen), ..) => all.iter().find(|one| Arc::ptr_eq(&one.source, chosen)),
            (None, [one], _) if use_ != Use::Read => Some(*one),
            (None, _, [one]) => Some(one),
            _ => None,
        };
        let found = found.filter(|one| one.is_owned || use_ != Use::Write);
        let cache = found.and_then(|one| one.cache.downcast_ref());
        cache.ok_or_else(|| {
            let kind = type_name::<T>();
            OwnedError::Undeclared(match (count, use_) {
                (2.., _) if chosen.get(&id).is_none() => format!(
                    "the controller has {count} caches of `{kind}`: choose one with `Handle::using`"
                ),
                (_, Use::Write) => format!(
                    "the controller does not own `{kind}`: add its cache with `Controller::owns`"
                ),
                (_, Use::Read | Use::Owned) => format!(
                    "the controller has no cache of `{kind}`: add it with `Controller::owns` or `Controller::reads`"
                ),
            })
        })
    }
}

impl<K: Cached> Handle<K> {
    /// The same object, which finds objects of type `T` in `cache`, for a controller that has several caches of one type:
    /// of a [`DynamicObject`](kube::api::DynamicObject), or with several selectors.
    #[must_use]
    pub fn using<T: Cached>(&self, cache: &Cache<T>) -> Self {
        let mut this = self.clone();
        this.chosen.insert(TypeId::of::<T>(), cache.source());
        this
    }

    /// The cache of `T`.
    pub(super) fn cache<T: Cached>(&self, use_: Use) -> Result<&Cache<T>, OwnedError> {
        self.context.caches.find(&self.chosen, use_)
    }
}
