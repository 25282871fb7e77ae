// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a watch has shown, overlaid with the writes of this process.
//!
//! A write shows until the watch has passed it. This is a plain state machine: it knows no client and no clock
//! but the one that says how old a write is.

use std::collections::{BTreeSet, HashMap, HashSet, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use kube::api::ObjectMeta;
use tokio::time::Instant;

use super::entry::{Entry, Term};
use crate::key::{Index, Key, unindex};
use crate::queue::Trigger;

/// After this time a write counts as passed even if the watch has not passed it: the object may not be among
/// those that the watch selects. Longer than a silent watch is kept.
const LONGEST: Duration = Duration::from_secs(300);

/// An object of a cache, and its name.
pub(crate) type Named = (Arc<Key>, Arc<Entry>);

/// The objects of one cache.
#[derive(Default)]
pub(crate) struct Store {
    objects: HashMap<Arc<Key>, Slot>,
    /// The writes that the watch has not passed, by the version that it must reach.
    by_version: BTreeSet<(u64, Arc<Key>)>,
    /// When each write was made, the oldest first. Those that are settled leave it when they come to its front.
    by_age: VecDeque<(Instant, Arc<Key>)>,
    /// How often a write was looked at to see whether it is settled.
    #[cfg(test)]
    pub(super) visits: usize,
    /// The visible objects that each object controls, by its uid.
    controlled: Index<Box<str>>,
    /// The visible objects of all other indexes.
    indexes: Index<Term>,
    /// The newest version of any object that the watch has shown. The watch is past all older writes.
    newest: u64,
    /// How many lists have begun.
    lists: u64,
    /// The objects that the list that is arriving has shown.
    list: Option<HashSet<Arc<Key>>>,
    is_listed: bool,
    /// How many objects that the watch has shown cannot be read.
    unreadable: usize,
    /// Whether all writes are dry runs, which no watch will ever show.
    is_plan: bool,
}

/// An object of which something is known.
#[derive(Default)]
struct Slot {
    /// As the watch has shown it.
    shown: Option<Arc<Entry>>,
    written: Option<Written>,
}

impl Slot {
    fn visible(&self) -> Option<&Arc<Entry>> {
        match &self.written {
            Some(written) => written.object.as_ref(),
            None => self.shown.as_ref(),
        }
    }
}

/// A write of this process.
struct Written {
    /// The result; `None` for a deletion.
    object: Option<Arc<Entry>>,
    uid: Box<str>,
    /// The version that it created; for a deletion, the version that was deleted.
    version: u64,
    /// How many lists had begun before it.
    lists: u64,
    at: Instant,
}

impl Written {
    /// Whether an object as the watch shows it is the result of this write, or of a later one.
    fn is_shown_by(&self, shown: &Entry) -> bool {
        if shown.uid != self.uid {
            // It has taken the name after the deletion, or before the write.
            return shown.number() > self.version;
        }
        match self.object {
            Some(_) => shown.number() >= self.version,
            // An extension API server may delete it later than it says.
            None => shown.is_deleting && shown.number() > self.version,
        }
    }
}

/// What the watch has shown of one object.
pub(crate) struct Change {
    pub(crate) key: Arc<Key>,
    /// What everybody was told of before.
    pub(crate) old: Option<Arc<Entry>>,
    /// `None` if it is gone.
    pub(crate) new: Option<Arc<Entry>>,
    pub(crate) trigger: Trigger,
}

impl Change {
    fn new(key: &Arc<Key>, old: Option<Arc<Entry>>, new: Option<Arc<Entry>>) -> Self {
        Self {
            key: key.clone(),
            old,
            new,
            trigger: Trigger::Change,
        }
    }
}

impl Store {
    /// How many objects that the watch has shown cannot be read.
    pub(crate) fn unreadable(&self) -> usize {
        self.unreadable
    }

    pub(crate) fn get(&self, key: &Key) -> Option<&Arc<Entry>> {
        self.objects.get(key)?.visible()
    }

    /// The name of an object, which is kept once.
    pub(super) fn key(&self, key: Key) -> Arc<Key> {
        let known = self.objects.get_key_value(&key);
        known.map_or_else(|| Arc::new(key), |(known, _)| known.clone())
    }

    /// All visible objects, sorted.
    pub(crate) fn all(&self) -> Vec<Named> {
        let objects = self.objects.iter();
        let mut all: Vec<_> = objects
            .filter_map(|(key, slot)| Some((key.clone(), slot.visible()?.clone())))
            .collect();
        all.sort_unstable_by(|(key, _), (other, _)| key.cmp(other));
        all
    }

    /// How many visible objects there are.
    pub(crate) fn count(&self) -> usize {
        let objects = self.objects.values();
        objects.filter(|slot| slot.visible().is_some()).count()
    }

    /// The visible objects that the object with this uid controls, sorted.
    pub(crate) fn controlled_by(&self, uid: &str) -> Vec<Named> {
        self.found(self.controlled.get(uid))
    }

    /// The visible objects that an index finds, sorted.
    pub(crate) fn by(&self, term: &Term) -> Vec<Named> {
        self.found(self.indexes.get(term))
    }

    fn found(&self, keys: Option<&BTreeSet<Arc<Key>>>) -> Vec<Named> {
        let keys = keys.into_iter().flatten();
        keys.filter_map(|key| Some((key.clone(), self.get(key)?.clone())))
            .collect()
    }

    /// Forgets what this process wrote: it was a dry run, as all later writes are.
    #[cfg(feature = "plan")]
    pub(super) fn forget_writes(&mut self) {
        self.is_plan = true;
        for key in self.unsettled() {
            self.update(&key, |slot| slot.written = None);
        }
        self.by_version.clear();
        self.by_age.clear();
    }

    /// The objects with writes that are not settled, sorted.
    pub(super) fn unsettled(&self) -> BTreeSet<Arc<Key>> {
        let written = self.by_age.iter().filter(|(at, key)| self.is_of(*at, key));
        written.map(|(_, key)| key.clone()).collect()
    }

    /// Whether the write that was made then is not settled.
    fn is_of(&self, at: Instant, key: &Key) -> bool {
        let slot = self.objects.get(key);
        let written = slot.and_then(|slot| slot.written.as_ref());
        written.is_some_and(|written| written.at == at)
    }

    /// A list begins.
    pub(crate) fn begin_list(&mut self) {
        // After a backup was restored, the list may be older than what was shown.
        self.newest = 0;
        self.lists += 1;
        self.list = Some(HashSet::new());
    }

    /// What this process wrote, if the watch now shows it as the API server returned it: it need not be parsed again.
    pub(super) fn echo(&self, key: &Key, shown: &ObjectMeta) -> Option<Arc<Entry>> {
        let written = self.objects.get(key)?.written.as_ref()?.object.as_ref()?;
        let is_same = shown.uid.as_deref() == Some(&*written.uid)
            && shown.resource_version.as_deref() == Some(&*written.version);
        let is_answer = written.is_answer && written.is_readable && !self.is_plan;
        (is_same && is_answer).then(|| written.clone())
    }

    /// The watch or its list has shown an object.
    pub(crate) fn show(&mut self, key: &Arc<Key>, new: Arc<Entry>) -> Vec<Change> {
        let is_of_list = self.list.is_some();
        match &mut self.list {
            Some(list) => {
                list.insert(key.clone());
            }
            None => self.newest = self.newest.max(new.number()),
        }
        let is_listed = self.is_listed;
        let (old, passed) = self.update(key, |slot| {
            let old = slot.shown.replace(new.clone());
            let passed = slot.written.take_if(|written| written.is_shown_by(&new));
            (old, passed)
        });
        let is_known = |old: &Arc<Entry>| old.version == new.version && old.uid == new.uid;
        let trigger = match (is_of_list, &old) {
            (true, Some(old)) if is_known(old) => Trigger::List,
            (true, None) if !is_listed => Trigger::List,
            _ => Trigger::Change,
        };
        let mut changes = Vec::new();
        // Another object has taken the name of one that was written and never shown.
        let passed = passed.filter(|written| written.uid != new.uid);
        if let Some(gone) = passed.and_then(|written| written.object) {
            changes.push(Change::new(key, Some(gone), None));
        }
        changes.push(Change {
            trigger,
            ..Change::new(key, old, Some(new))
        });
        self.expect(key);
        if !is_of_list {
            self.settle(&mut changes);
        }
        changes
    }

    /// The watch has shown that an object is gone: its uid, and the version of its deletion.
    pub(crate) fn hide(&mut self, key: &Arc<Key>, uid: &str, version: u64) -> Vec<Change> {
        self.newest = self.newest.max(version);
        let old = self.update(key, |slot| {
            let shown = slot.shown.take();
            match slot.written.take_if(|written| *written.uid == *uid) {
                Some(written) => shown.or(written.object),
                None => shown,
            }
        });
        self.expect(key);
        let mut changes = vec![Change::new(key, old, None)];
        self.settle(&mut changes);
        changes
    }

    /// A list is complete. Returns what has gone in the meantime, of which no event tells.
    pub(crate) fn end_list(&mut self) -> Vec<Change> {
        let listed = self.list.take().unwrap_or_default();
        self.is_listed = true;
        let known = self.objects.iter();
        let gone = known.filter(|(key, slot)| slot.shown.is_some() && !listed.contains(*key));
        let mut gone: Vec<_> = gone.map(|(key, _)| key.clone()).collect();
        gone.sort_unstable();
        let gone = gone.into_iter().map(|key| {
            let old = self.update(&key, |slot| slot.shown.take());
            Change::new(&key, old, None)
        });
        let mut changes: Vec<_> = gone.collect();
        let shown = self.objects.values().filter_map(|slot| slot.shown.as_ref());
        self.newest = shown.map(|shown| shown.number()).max().unwrap_or_default();
        // The list was requested after most of them.
        let told = changes.len();
        for key in self.unsettled() {
            let gone = self.settle_one(&key, &changes[..told]);
            changes.extend(gone);
        }
        changes
    }

    /// A watch continues from that version, up to which everything has been shown. Only after a list is complete.
    pub(crate) fn pass(&mut self, version: u64) -> Vec<Change> {
        let mut changes = Vec::new();
        if self.list.is_none() {
            self.newest = self.newest.max(version);
            self.settle(&mut changes);
        }
        changes
    }

    /// Records what this process wrote, as the API server returned it. If the watch is past that and does not show the
    /// object, it is gone already, which nobody has been told.
    pub(crate) fn wrote(&mut self, key: &Arc<Key>, entry: Arc<Entry>) -> Option<Change> {
        let version = if self.is_plan {
            u64::MAX
        } else {
            entry.number()
        };
        let shown = self.objects.get(key).and_then(|slot| slot.shown.as_ref());
        let is_past = shown.is_some_and(|shown| shown.number() >= version);
        if !is_past && self.newest < version {
            let uid = entry.uid.clone();
            self.note(key, Some(entry), uid, version);
            return None;
        }
        if shown.is_some_and(|shown| shown.uid == entry.uid) {
            return None;
        }
        // Another object may have taken the name.
        let new = shown.cloned();
        Some(Change::new(key, Some(entry), new))
    }

    /// Records that this process deleted the object with this uid, which had this version.
    pub(crate) fn deleted(&mut self, key: &Arc<Key>, uid: &str, version: u64) {
        let visible = self.objects.get(key).and_then(Slot::visible);
        // Otherwise the watch has already shown its deletion.
        if visible.is_some_and(|visible| *visible.uid == *uid) || version > self.newest {
            self.note(key, None, uid.into(), version);
        }
    }

    /// Notes a write, unless a newer one is known: answers may arrive in another order. What is deleted may have been
    /// changed after that version.
    fn note(&mut self, key: &Arc<Key>, object: Option<Arc<Entry>>, uid: Box<str>, version: u64) {
        let before = self.objects.get(key).and_then(|it| it.written.as_ref());
        let is_newer = |before: &Written| {
            (before.version, before.object.is_none()) > (version, object.is_none())
                && (object.is_some() || before.uid != uid)
        };
        if before.is_some_and(is_newer) && !self.is_plan {
            return;
        }
        let at = Instant::now();
        let written = Written {
            object,
            uid,
            version,
            lists: self.lists,
            at,
        };
        self.by_age.push_back((at, key.clone()));
        let before = self.update(key, |slot| slot.written.replace(written));
        if let Some(before) = before {
            self.by_version.remove(&(before.version, key.clone()));
        }
        self.expect(key);
    }

    /// Looks at the write of this object, if there is one, once the watch has reached its version.
    fn expect(&mut self, key: &Arc<Key>) {
        let slot = self.objects.get(key);
        if let Some(written) = slot.and_then(|slot| slot.written.as_ref()) {
            self.by_version.insert((written.version, key.clone()));
        }
    }

    /// Drops the writes that the watch has passed, or that are too old. If their objects are gone, adds that to
    /// `changes`. The work is that for the writes that are dropped, however many others there are.
    fn settle(&mut self, changes: &mut Vec<Change>) {
        let told = changes.len();
        while let Some((version, _)) = self.by_version.first()
            && *version <= self.newest
            && let Some((_, key)) = self.by_version.pop_first()
        {
            // A deletion that the watch still shows is settled by the next event of the object.
            let gone = self.settle_one(&key, &changes[..told]);
            changes.extend(gone);
        }
        while let Some((at, key)) = self.by_age.front().cloned()
            && (at.elapsed() >= LONGEST || !self.is_of(at, &key))
        {
            self.by_age.pop_front();
            let gone = self.settle_one(&key, &changes[..told]);
            changes.extend(gone);
        }
    }

    /// Drops the write of one object if it is settled. Returns that the object is gone if that is so and is not among
    /// the changes that are `told`, which are sorted.
    fn settle_one(&mut self, key: &Arc<Key>, told: &[Change]) -> Option<Change> {
        #[cfg(test)]
        {
            self.visits += 1;
        }
        let slot = self.objects.get(key)?;
        let written = slot.written.as_ref()?;
        let is_past = written.version <= self.newest;
        // A deletion is kept until the watch no longer shows the object.
        let shown = slot.shown.as_ref();
        let shows_deleted =
            written.object.is_none() && shown.is_some_and(|shown| shown.uid == written.uid);
        // The list was requested after the write.
        let is_listed = self.list.is_none() && written.lists < self.lists;
        let is_over = written.at.elapsed() >= LONGEST;
        if !(is_past && !shows_deleted || is_listed || is_over) {
            return None;
        }
        let old = self.update(key, |slot| {
            let written = slot.written.take();
            written
                .and_then(|written| written.object)
                .filter(|_| slot.shown.is_none())
        })?;
        let first = told.partition_point(|change| change.key < *key);
        let mut told = told[first..].iter().take_while(|change| change.key == *key);
        // The one that is told to be gone may have had the name before this one.
        let is_told = told.any(|change| {
            let gone = change.old.as_ref().filter(|_| change.new.is_none());
            gone.is_some_and(|gone| gone.uid == old.uid)
        });
        (!is_told).then(|| Change::new(key, Some(old), None))
    }

    /// Changes what is known of one object, and the indexes with it.
    fn update<T>(&mut self, key: &Arc<Key>, change: impl FnOnce(&mut Slot) -> T) -> T {
        let slot = self.objects.entry(key.clone()).or_default();
        let is_unreadable = |slot: &Slot| {
            let shown = slot.shown.as_ref();
            usize::from(shown.is_some_and(|shown| !shown.is_readable))
        };
        let before = slot.visible().cloned();
        self.unreadable -= is_unreadable(slot);
        let result = change(slot);
        self.unreadable += is_unreadable(slot);
        let after = slot.visible().cloned();
        if slot.shown.is_none() && slot.written.is_none() {
            self.objects.remove(key);
        }
        if before.as_ref().map(Arc::as_ptr) == after.as_ref().map(Arc::as_ptr) {
            return result;
        }
        if let Some(before) = before {
            if let Some(uid) = before.controller() {
                unindex(&mut self.controlled, uid, key);
            }
            for term in &before.terms {
                unindex(&mut self.indexes, term, key);
            }
        }
        if let Some(after) = after {
            if let Some(uid) = after.controller() {
                let controlled = self.controlled.entry(uid.into()).or_default();
                controlled.insert(key.clone());
            }
            for term in &after.terms {
                let found = self.indexes.entry(term.clone()).or_default();
                found.insert(key.clone());
            }
        }
        result
    }
}
