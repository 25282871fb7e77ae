// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the watch of owned objects has shown, overlaid with the writes of this process.

use std::collections::HashMap;
use std::mem;
use std::sync::Arc;
use std::time::Duration;

use kube::api::ObjectMeta;
use kube::runtime::reflector::ObjectRef;
use kube::runtime::watcher::Event;
use kube::{Resource, ResourceExt as _};
use tokio::time::Instant;

use super::apply::Applied;
use super::index::{Index, controller, owners};
use crate::expectations::{version, version_of};
use crate::watch::Decoded;

/// After this time a write counts as passed even if the watch has not passed it: somebody else may have
/// deleted the object while a list arrived, and no event reports that.
const LONGEST: Duration = Duration::from_secs(120);

/// The objects of all owners.
pub(super) struct State<K> {
    shown: Shown<K>,
    /// The part that has arrived of a list that will replace everything shown before.
    list: Option<Shown<K>>,
    /// The writes that the watch has not passed, by the object's uid.
    writes: HashMap<String, Write>,
    /// The objects of those writes.
    written: Index<K>,
    /// The newest version of any object that the watch has shown. The watch is past all older writes.
    newest: u64,
    /// How many lists have begun.
    lists: u64,
    /// What was applied to which object.
    pub(super) applied: Applied,
}

/// What the watch shows.
struct Shown<K> {
    objects: Index<K>,
    /// The objects that cannot be read, by uid.
    unreadable: HashMap<String, Unreadable>,
}

struct Unreadable {
    owner: String,
    name: String,
}

/// A write of this process.
struct Write {
    /// The version that it created; for a deletion, the version that was deleted.
    version: u64,
    is_deletion: bool,
    /// How many lists had begun before it.
    lists: u64,
    at: Instant,
}

impl Write {
    /// Whether an object as the watch shows it is the result of this write, or of a later one.
    fn shows<K: Resource>(&self, object: &K) -> bool {
        if self.is_deletion {
            object.meta().deletion_timestamp.is_some()
        } else {
            version(object) >= self.version
        }
    }
}

impl<K> Default for Shown<K> {
    fn default() -> Self {
        Self {
            objects: Index::default(),
            unreadable: HashMap::new(),
        }
    }
}

impl<K> Default for State<K> {
    fn default() -> Self {
        Self {
            shown: Shown::default(),
            list: None,
            writes: HashMap::new(),
            written: Index::default(),
            newest: 0,
            lists: 0,
            applied: Applied::default(),
        }
    }
}

impl<K: Resource<DynamicType = ()>> Shown<K> {
    /// Replaces what was known of the object. Returns its old and new owners.
    fn apply<O: Resource<DynamicType = ()> + 'static>(
        &mut self,
        object: Decoded<K>,
    ) -> Vec<ObjectRef<O>> {
        let mut touched = self.remove(&object);
        touched.extend(owners::<O>(object.meta(), &()));
        match object {
            Decoded::Object(object) => self.objects.insert::<O>(object),
            Decoded::Unreadable(object) => {
                let metadata = object.metadata;
                if let (Some(owner), Some(uid)) = (controller::<O>(&metadata), metadata.uid) {
                    let name = metadata.name.unwrap_or_default();
                    self.unreadable.insert(uid, Unreadable { owner, name });
                }
            }
        }
        touched
    }

    /// Forgets the object. Returns the owners that it had.
    fn remove<O: Resource<DynamicType = ()> + 'static>(
        &mut self,
        object: &Decoded<K>,
    ) -> Vec<ObjectRef<O>> {
        let Some(uid) = &object.meta().uid else {
            return Vec::new();
        };
        if !self.unreadable.is_empty() {
            self.unreadable.remove(uid);
        }
        let before = self.objects.remove(uid);
        before.map_or_else(Vec::new, |before| owners::<O>(before.meta(), &()))
    }
}

impl<K: Resource<DynamicType = ()>> State<K> {
    /// The objects of the owner with this uid.
    pub(super) fn of(&self, owner: &str) -> impl Iterator<Item = &Arc<K>> {
        let shown = self.shown.objects.of(owner);
        let shown = shown.filter(|(uid, _)| !self.writes.contains_key(*uid));
        shown
            .chain(self.written.of(owner))
            .map(|(_, object)| object)
    }

    /// The name of an unreadable object of the owner with this uid.
    pub(super) fn unreadable(&self, owner: &str) -> Option<&str> {
        let mut unreadable = self.shown.unreadable.values();
        unreadable
            .find(|object| object.owner == owner)
            .map(|object| object.name.as_str())
    }

    /// Records an object that this process created or changed.
    pub(super) fn insert<O: Resource<DynamicType = ()>>(&mut self, object: K) {
        let Some(uid) = object.uid() else {
            return;
        };
        let version = version(&object);
        let before = self.writes.get(&uid);
        // A deleted object stays deleted; the response to an older write may arrive later.
        let is_over = before.is_some_and(|before| before.is_deletion || before.version >= version);
        let shown = self
            .shown
            .objects
            .get(&uid)
            .map(|shown| self::version(&**shown));
        // If the watch is past that version, it has shown the object, and maybe its deletion.
        if is_over || version <= self.newest.max(shown.unwrap_or_default()) {
            return;
        }
        self.note(uid, version, false);
        self.written.insert::<O>(object);
    }

    /// Records an object that this process deleted.
    pub(super) fn remove(&mut self, object: &ObjectMeta) {
        let Some(uid) = object.uid.clone() else {
            return;
        };
        let version = version_of(object);
        let was_written = self.written.remove(&uid).is_some();
        // Otherwise the watch has already shown its deletion.
        let is_new = version > self.newest;
        if was_written || is_new || self.shown.objects.contains(&uid) {
            self.note(uid, version, true);
        }
    }

    /// Takes an event of the watch. Returns the owners that it concerns.
    pub(super) fn take<O: Resource<DynamicType = ()> + 'static>(
        &mut self,
        event: Event<Decoded<K>>,
    ) -> Vec<ObjectRef<O>> {
        match event {
            Event::Init => {
                // After a backup was restored, the list may be older than what was shown.
                self.newest = 0;
                self.lists += 1;
                self.list = Some(Shown::default());
                Vec::new()
            }
            Event::InitApply(object) => {
                if let Some(list) = &mut self.list {
                    list.apply::<O>(object);
                }
                Vec::new()
            }
            Event::InitDone => {
                let list = self.list.take().unwrap_or_default();
                let before = mem::replace(&mut self.shown, list);
                let versions = self
                    .shown
                    .objects
                    .all()
                    .map(|(_, object)| version(&**object));
                self.newest = versions.max().unwrap_or_default();
                self.drop_listed();
                let (shown, written) = (&self.shown.objects, &self.written);
                self.applied
                    .retain(|uid| shown.contains(uid) || written.contains(uid));
                // The previous owners as well: an object deleted in the meantime is not in the list.
                let objects = before.objects.triggers::<O>();
                objects.chain(self.shown.objects.triggers::<O>()).collect()
            }
            Event::Apply(object) => {
                self.newest = self.newest.max(version(&object));
                self.drop_shown(&object);
                let touched = self.shown.apply(object);
                self.drop_passed();
                touched
            }
            Event::Delete(object) => {
                self.newest = self.newest.max(version(&object));
                if let Some(uid) = object.meta().uid.as_deref() {
                    self.forget(uid);
                    self.applied.forget(uid);
                }
                let mut touched = self.shown.remove(&object);
                touched.extend(owners::<O>(object.meta(), &()));
                self.drop_passed();
                touched
            }
        }
    }

    /// Drops the writes that a list has settled.
    fn drop_listed(&mut self) {
        self.drop_settled(|state, uid, write| {
            // The list was requested after the write.
            let is_older = write.lists < state.lists;
            let listed = state.shown.objects.get(uid);
            is_older || listed.is_some_and(|listed| write.shows(&**listed))
        });
        self.drop_passed();
    }

    /// Drops the write that the watch has settled with that object.
    fn drop_shown(&mut self, object: &Decoded<K>) {
        if let Some(uid) = &object.meta().uid
            && let Some(write) = self.writes.get(uid)
            && write.shows(object)
        {
            self.forget(uid);
        }
    }

    /// Drops the writes that are older than what the watch has shown.
    fn drop_passed(&mut self) {
        self.drop_settled(|state, uid, write| {
            let is_past = write.version <= state.newest;
            // A deletion is kept until the watch no longer shows the object.
            let is_gone = !write.is_deletion || !state.shown.objects.contains(uid);
            (is_past && is_gone) || write.at.elapsed() >= LONGEST
        });
    }

    fn drop_settled(&mut self, is_settled: impl Fn(&Self, &str, &Write) -> bool) {
        let writes = self.writes.iter();
        let settled = writes.filter(|(uid, write)| is_settled(self, uid, write));
        let settled: Vec<String> = settled.map(|(uid, _)| uid.clone()).collect();
        for uid in settled {
            self.forget(&uid);
        }
    }

    /// Whether the watch has passed all writes.
    #[cfg(test)]
    pub(super) fn is_settled(&self) -> bool {
        self.writes.is_empty()
    }

    /// As if this time had passed since all writes.
    #[cfg(test)]
    pub(super) fn age(&mut self, time: Duration) {
        for write in self.writes.values_mut() {
            write.at = write.at.checked_sub(time).unwrap_or(write.at);
        }
    }

    fn note(&mut self, uid: String, version: u64, is_deletion: bool) {
        let write = Write {
            version,
            is_deletion,
            lists: self.lists,
            at: Instant::now(),
        };
        self.writes.insert(uid, write);
    }

    fn forget(&mut self, uid: &str) {
        self.writes.remove(uid);
        self.written.remove(uid);
    }
}
