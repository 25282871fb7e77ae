// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Compares the cache with a plain model: a server with a history of versions, a watch at some position in
//! it, and the responses to own writes, which may arrive late. `KBR_SCHEDULES` is how often, and `KBR_SEED` the seed.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};

use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngAlgorithm, TestRng, TestRunner};

use super::*;
use crate::random::tests::{again, seeds};

/// How many lists of steps are tried unless `KBR_SCHEDULES` says otherwise.
const SCHEDULES: u64 = 10_000;

/// Every second one belongs to `y`.
const OBJECTS: usize = 6;

/// Those from here on have a finalizer.
const HELD: usize = 3;

#[derive(Clone, Copy, Debug)]
enum Step {
    /// Creates the object, or changes it if it exists. `By` is who writes, and whether the response is late.
    Put(usize, By),
    Delete(usize, By),
    /// Removes the finalizer of an object that is being deleted.
    Release(usize, By),
    /// The oldest late response arrives.
    Answer,
    /// The watch shows the next event, or the next object of its list.
    Next,
    /// The watch breaks and lists again; nothing is listed before the next step.
    Restart,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum By {
    Us,
    UsLate,
    Another,
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let by = || prop_oneof![Just(By::Us), Just(By::UsLate), Just(By::Another)];
    let step = prop_oneof![
        4 => (0..OBJECTS, by()).prop_map(|(object, by)| Step::Put(object, by)),
        2 => (0..OBJECTS, by()).prop_map(|(object, by)| Step::Delete(object, by)),
        1 => (HELD..OBJECTS, by()).prop_map(|(object, by)| Step::Release(object, by)),
        2 => Just(Step::Answer),
        6 => Just(Step::Next),
        1 => Just(Step::Restart),
    ];
    proptest::collection::vec(step, 1..14)
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Request {
    Put,
    Delete,
    Release,
}

/// The result of a write: the object, or its deletion.
#[derive(Clone, Debug)]
struct Change {
    request: Request,
    uid: String,
    version: u64,
    object: Option<ConfigMap>,
    /// The object before the write.
    before: Option<ConfigMap>,
}

#[derive(Default)]
struct Model {
    version: u64,
    /// The objects that exist at present.
    present: HashMap<usize, ConfigMap>,
    history: Vec<Change>,
    late: VecDeque<Change>,
    /// How far the watch is in the history, in versions.
    position: u64,
    /// The rest of the list that is arriving, and its version.
    list: Option<(Option<VecDeque<ConfigMap>>, u64)>,
    /// What the list that is arriving has shown.
    listed: BTreeSet<String>,
    /// The versions of lists that broke off after they had shown the object.
    seen: BTreeMap<String, u64>,
    /// The newest version that the cache can know of: newer objects may show for longer.
    known: u64,
    /// The last own write of each object whose response has arrived.
    own: BTreeMap<String, Change>,
    lives: usize,
}

impl Model {
    fn write(&mut self, cache: &Cache<ConfigMap>, index: usize, by: By, request: Request) {
        // A reconcile makes its writes one after another.
        while by != By::Another
            && let Some(late) = self.late.pop_front()
        {
            self.answer(cache, late);
        }
        let before = self.present.get(&index).cloned();
        let deleted = before
            .as_ref()
            .and_then(|object| object.metadata.deletion_timestamp.clone());
        let is_effective = match request {
            Request::Put => true,
            Request::Delete => before.is_some() && deleted.is_none(),
            Request::Release => deleted.is_some(),
        };
        if !is_effective {
            // The answer to a second deletion is the object as it is.
            if request == Request::Delete
                && by != By::Another
                && let Some(before) = before
            {
                let seen = Change {
                    request,
                    uid: before.name_any(),
                    version: before.resource_version().unwrap().parse().unwrap(),
                    object: Some(before.clone()),
                    before: Some(before),
                };
                self.answer(cache, seen);
            }
            return;
        }
        self.version += 1;
        let name = match &before {
            Some(before) => before.name_any(),
            None => {
                self.lives += 1;
                format!("{index}-{}", self.lives)
            }
        };
        let owner = if index.is_multiple_of(2) { "x" } else { "y" };
        let mut made = object(&name, self.version, owner);
        let is_held = (HELD..OBJECTS).contains(&index);
        made.metadata.finalizers = is_held.then(|| vec!["example.com/finalizer".to_owned()]);
        made.metadata.deletion_timestamp = match request {
            Request::Delete => Some(Time(Timestamp::UNIX_EPOCH)),
            _ => deleted,
        };
        let is_left = match request {
            Request::Put => true,
            Request::Delete => is_held,
            Request::Release => false,
        };
        match is_left {
            true => self.present.insert(index, made.clone()),
            false => self.present.remove(&index),
        };
        let change = Change {
            request,
            uid: name,
            version: self.version,
            object: is_left.then_some(made),
            before,
        };
        self.history.push(change.clone());
        match by {
            By::Us => self.answer(cache, change),
            By::UsLate => self.late.push_back(change),
            By::Another => {}
        }
    }

    fn answer(&mut self, cache: &Cache<ConfigMap>, change: Change) {
        match (&change.object, &change.before) {
            (Some(object), _) if change.request == Request::Put => cache.insert(object),
            (left, Some(before)) => {
                cache.deleted(&before.metadata, left.as_ref().map(received));
            }
            (_, None) => unreachable!(),
        }
        let last = self.own.get(&change.uid);
        if last.is_none_or(|last| last.version < change.version) {
            self.own.insert(change.uid.clone(), change);
        }
    }

    fn next(&mut self, cache: &Cache<ConfigMap>) {
        if let Some((items, version)) = &mut self.list {
            let items = items.get_or_insert_with(|| {
                *version = self.version;
                self.present.values().cloned().collect()
            });
            match items.pop_front() {
                Some(object) => {
                    self.listed.insert(object.name_any());
                    cache.take(Event::InitApply(received(&object)));
                }
                None => {
                    self.position = *version;
                    self.list = None;
                    self.listed.clear();
                    self.seen.clear();
                    cache.take(Event::InitDone);
                    let listed = self
                        .history
                        .iter()
                        .filter(|change| change.version <= self.position);
                    let mut present: BTreeMap<&String, u64> = BTreeMap::new();
                    for change in listed {
                        match change.object {
                            Some(_) => present.insert(&change.uid, change.version),
                            None => present.remove(&change.uid),
                        };
                    }
                    self.known = present.values().max().copied().unwrap_or_default();
                }
            };
            return;
        }
        let Some(change) = self
            .history
            .iter()
            .find(|change| change.version > self.position)
        else {
            return;
        };
        self.position = change.version;
        self.known = change.version;
        let event = match (&change.object, &change.before) {
            (Some(object), _) => Event::Apply(object.clone()),
            (None, Some(before)) => {
                let mut last = before.clone();
                last.metadata.resource_version = Some(change.version.to_string());
                Event::Delete(last)
            }
            (None, None) => unreachable!(),
        };
        cache.take(match event {
            Event::Apply(object) => apply(&object),
            Event::Delete(object) => delete(&object),
            _ => unreachable!(),
        });
    }

    fn restart(&mut self, cache: &Cache<ConfigMap>) {
        cache.take(Event::Init);
        // What a list has shown before it broke off stays.
        if let Some((_, version)) = &self.list {
            for uid in std::mem::take(&mut self.listed) {
                self.seen.insert(uid, *version);
            }
        }
        self.list = Some((None, 0));
        self.known = 0;
    }

    /// The version of an object that must show: the newer of what the watch has shown and what this process
    /// has written.
    fn expected(&self, uid: &str) -> Option<u64> {
        let mut changes = self.history.iter().filter(|change| change.uid == uid);
        let position = match &self.list {
            Some((_, version)) if self.listed.contains(uid) => *version,
            _ => self
                .position
                .max(self.seen.get(uid).copied().unwrap_or_default()),
        };
        let shown = changes.rfind(|change| change.version <= position);
        let own = self.own.get(uid);
        let newer = [shown, own]
            .into_iter()
            .flatten()
            .max_by_key(|change| change.version)?;
        newer.object.as_ref().map(|_| newer.version)
    }

    fn check(&self, cache: &Cache<ConfigMap>) -> Result<(), TestCaseError> {
        let mut shown: BTreeMap<String, u64> = of(cache, "x").into_iter().collect();
        shown.extend(of(cache, "y"));
        let uids = self.history.iter().map(|change| &change.uid);
        for uid in uids {
            let (shown, expected) = (shown.get(uid).copied(), self.expected(uid));
            // Its deletion was part of a list, which does not show it.
            let may_linger = expected.is_none()
                && shown.is_some_and(|shown| shown > self.known)
                && shown == self.own.get(uid).map(|own| own.version);
            prop_assert!(
                shown == expected || may_linger,
                "{uid}: {shown:?}, expected {expected:?}"
            );
        }
        Ok(())
    }
}

fn run(steps: Vec<Step>) -> Result<(), TestCaseError> {
    let (cache, mut model) = (empty(), Model::default());
    model.restart(&cache);
    for step in steps {
        match step {
            Step::Put(index, by) => model.write(&cache, index, by, Request::Put),
            Step::Delete(index, by) => model.write(&cache, index, by, Request::Delete),
            Step::Release(index, by) => model.write(&cache, index, by, Request::Release),
            Step::Answer => {
                if let Some(change) = model.late.pop_front() {
                    model.answer(&cache, change);
                }
            }
            Step::Next => model.next(&cache),
            Step::Restart => model.restart(&cache),
        }
        model.check(&cache)?;
    }
    // In the end the cache is the same as the server, and keeps nothing of deleted objects.
    while let Some(change) = model.late.pop_front() {
        model.answer(&cache, change);
    }
    model.write(&cache, OBJECTS, By::Another, Request::Put);
    while model.list.is_some() || model.position < model.version {
        model.next(&cache);
    }
    model.check(&cache)?;
    prop_assert!(cache.is_settled());
    Ok(())
}

/// The names and UIDs of what exists as far as a subscriber has been told.
fn alive(cache: &Cache<ConfigMap>) -> Arc<Mutex<BTreeSet<(String, String)>>> {
    let alive = Arc::<Mutex<BTreeSet<_>>>::default();
    let told = alive.clone();
    let subscriber = move |change: &crate::cache::Change, _: Option<&ConfigMap>| {
        let mut told = lock(&told);
        let named = |entry: &Arc<Entry>| (change.key.name().to_owned(), entry.uid.to_string());
        if let Some(old) = &change.old {
            told.remove(&named(old));
        }
        told.extend(change.new.iter().map(named));
        drop(told);
        // The other thread has something to say meanwhile.
        std::thread::yield_now();
    };
    cache.subscribe(false, Box::new(subscriber));
    alive
}

/// The watch shows the changes on one thread, while the answers to own writes arrive on another. Each life of an object
/// has the name of the last one. A subscriber is told of everything that appears and goes.
fn on_two_threads(steps: Vec<Step>) -> Result<(), TestCaseError> {
    // The server's history, and which of it this process wrote. Nobody reads this cache.
    let (aside, mut model) = (empty(), Model::default());
    let mut own = Vec::new();
    for step in steps {
        let (index, by, request) = match step {
            Step::Put(index, by) => (index, by, Request::Put),
            Step::Delete(index, by) => (index, by, Request::Delete),
            Step::Release(index, by) => (index, by, Request::Release),
            Step::Answer | Step::Next | Step::Restart => continue,
        };
        let before = model.history.len();
        model.write(&aside, index, by, request);
        let written = model.history.get(before).cloned();
        own.extend(written.filter(|_| by != By::Another));
    }
    model.write(&aside, OBJECTS, By::Another, Request::Put);
    let rename = |object: &mut ConfigMap| {
        let name = object.name_any();
        object.metadata.name = name.split('-').next().map(str::to_owned);
    };
    for change in own.iter_mut().chain(&mut model.history) {
        change
            .object
            .iter_mut()
            .chain(&mut change.before)
            .for_each(rename);
    }
    model.present.values_mut().for_each(rename);
    let cache = empty();
    let told = alive(&cache);
    cache.take(Event::Init);
    cache.take(Event::InitDone);
    let mut answered = Model::default();
    let begin = std::sync::Barrier::new(2);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            begin.wait();
            own.into_iter()
                .for_each(|change| answered.answer(&cache, change))
        });
        begin.wait();
        while model.position < model.version {
            model.next(&cache);
        }
    });
    let mut shown: Vec<_> = of(&cache, "x");
    shown.extend(of(&cache, "y"));
    let shown: BTreeMap<String, u64> = shown.into_iter().collect();
    let named = |object: &ConfigMap| (object.name_any(), object.uid().unwrap());
    let there: BTreeSet<_> = model.present.values().map(named).collect();
    prop_assert_eq!(&*lock(&told), &there);
    let present = model.present.values();
    let present = present.map(|object| {
        (
            object.name_any(),
            object.resource_version().unwrap().parse().unwrap(),
        )
    });
    prop_assert_eq!(shown, present.collect::<BTreeMap<String, u64>>());
    prop_assert!(cache.is_settled());
    Ok(())
}

/// What tries so many lists of steps, which follow from the seed.
fn runner(seed: u64, cases: u64) -> TestRunner {
    let config = ProptestConfig {
        cases: u32::try_from(cases).unwrap(),
        failure_persistence: None,
        ..ProptestConfig::default()
    };
    let mut bytes = [0; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    TestRunner::new_with_rng(config, TestRng::from_seed(RngAlgorithm::ChaCha, &bytes))
}

#[test]
fn a_seed_decides_the_steps() {
    let drawn = |seed| {
        let tree = steps().new_tree(&mut runner(seed, 1)).unwrap();
        format!("{:?}", tree.current())
    };
    assert_eq!(drawn(7), drawn(7));
    let different: BTreeSet<_> = (0..100).map(drawn).collect();
    assert!(different.len() > 90);
}

#[test]
fn on_two_threads_the_cache_ends_as_the_server_does() {
    let seeds = seeds(SCHEDULES);
    let mut runner = runner(seeds.start, seeds.end - seeds.start);
    let done = runner.run(&steps(), on_two_threads);
    done.unwrap_or_else(|error| panic!("{error}\n{}", again(&seeds, "on_two_threads")));
}

#[test]
fn the_newer_of_what_the_watch_has_shown_and_what_was_written_shows() {
    let seeds = seeds(SCHEDULES);
    let mut runner = runner(seeds.start, seeds.end - seeds.start);
    let done = runner.run(&steps(), run);
    done.unwrap_or_else(|error| panic!("{error}\n{}", again(&seeds, "the_newer_of")));
}
