// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::expectations::version;
use futures::FutureExt;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::ResourceExt;

type Cache = Owned<Secret, ConfigMap>;

fn owner(uid: &str) -> Secret {
    let mut owner = Secret::default();
    owner.metadata.name = Some(uid.to_owned());
    owner.metadata.uid = Some(uid.to_owned());
    owner
}

/// An object of that name and version, which a Secret of that uid controls.
fn object(name: &str, version: u64, owned_by: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.uid = Some(name.to_owned());
    object.metadata.resource_version = Some(version.to_string());
    object.metadata.owner_references = owner(owned_by)
        .controller_owner_ref(&())
        .map(|owner| vec![owner]);
    object
}

/// A cache that no watch has filled.
fn empty() -> Cache {
    Cache::from_stream(stream::empty())
}

/// A cache whose first list held these.
fn listed(objects: &[ConfigMap]) -> Cache {
    let cache = empty();
    list(&cache, objects);
    cache
}

/// Has the watch list these; returns the owners that are concerned.
fn list(cache: &Cache, objects: &[ConfigMap]) -> Vec<String> {
    cache.take(Event::Init);
    for object in objects {
        cache.take(Event::InitApply(packed(object.clone())));
    }
    owners(cache.take(Event::InitDone))
}

fn owners(touched: Vec<ObjectRef<Secret>>) -> Vec<String> {
    let mut owners: Vec<_> = touched.into_iter().map(|owner| owner.name).collect();
    owners.sort();
    owners.dedup();
    owners
}

/// The names and versions of what an owner has.
fn of(cache: &Cache, uid: &str) -> Vec<(String, u64)> {
    let state = cache.lock();
    let objects = state.of(uid);
    let mut objects: Vec<_> = objects.map(|o| (o.name_any(), version(&**o))).collect();
    objects.sort();
    objects
}

fn named(objects: &[(&str, u64)]) -> Vec<(String, u64)> {
    objects
        .iter()
        .map(|(name, version)| ((*name).to_owned(), *version))
        .collect()
}

#[test]
fn each_owner_has_its_own() {
    let cache = listed(&[
        object("a", 1, "x"),
        object("b", 2, "y"),
        object("c", 3, "x"),
    ]);

    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("c", 3)]));
    assert_eq!(of(&cache, "y"), named(&[("b", 2)]));
    assert_eq!(of(&cache, "z"), []);
}

#[test]
fn the_watch_is_followed_and_concerns_the_owner() {
    let cache = listed(&[object("a", 1, "x")]);

    assert_eq!(
        owners(cache.take(Event::Apply(packed(object("b", 2, "x"))))),
        ["x"]
    );
    assert_eq!(
        owners(cache.take(Event::Apply(packed(object("a", 3, "x"))))),
        ["x"]
    );
    assert_eq!(of(&cache, "x"), named(&[("a", 3), ("b", 2)]));
    assert_eq!(
        owners(cache.take(Event::Delete(packed(object("a", 4, "x"))))),
        ["x"]
    );
    assert_eq!(of(&cache, "x"), named(&[("b", 2)]));
}

#[test]
fn an_object_that_changes_hands_concerns_both() {
    let cache = listed(&[object("a", 1, "x")]);

    let touched = cache.take(Event::Apply(packed(object("a", 2, "y"))));

    assert_eq!(owners(touched), ["x", "y"]);
    assert_eq!(of(&cache, "x"), []);
    assert_eq!(of(&cache, "y"), named(&[("a", 2)]));
}

#[test]
fn a_new_list_replaces_everything_at_once_and_concerns_all() {
    let cache = listed(&[object("a", 1, "x"), object("b", 2, "y")]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(packed(object("c", 3, "z"))));
    assert_eq!(of(&cache, "z"), []);

    let touched = cache.take(Event::InitDone);

    assert_eq!(owners(touched), ["x", "y", "z"]);
    assert_eq!(of(&cache, "x"), []);
    assert_eq!(of(&cache, "z"), named(&[("c", 3)]));
}

#[test]
fn what_was_written_shows_before_the_watch_shows_it() {
    let cache = listed(&[object("a", 1, "x")]);

    cache.insert(object("b", 5, "x"));
    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));

    cache.remove(&object("a", 1, "x"));
    assert_eq!(of(&cache, "x"), named(&[("b", 5)]));
}

#[test]
fn what_the_watch_is_past_stays_as_the_watch_has_it() {
    let cache = listed(&[]);
    // The answer to its creation arrives after its end.
    cache.take(Event::Apply(packed(object("a", 5, "x"))));
    cache.take(Event::Delete(packed(object("a", 6, "x"))));

    cache.insert(object("a", 5, "x"));

    assert_eq!(of(&cache, "x"), []);
}

#[tokio::test]
async fn before_the_first_list_nobody_is_told_that_there_is_nothing() {
    let cache = empty();
    let owner = owner("x");
    let mut read = Box::pin(cache.of(&owner));
    assert!((&mut read).now_or_never().is_none());

    list(&cache, &[object("a", 1, "x")]);

    assert_eq!(read.await.unwrap().len(), 1);
}

#[test]
fn what_was_written_while_a_list_arrived_stays_after_it() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.take(Event::Init);
    cache.insert(object("b", 5, "x"));
    cache.take(Event::InitApply(packed(object("a", 1, "x"))));

    cache.take(Event::InitDone);

    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));
}

#[test]
fn what_was_removed_while_a_list_arrived_does_not_come_back() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(packed(object("a", 1, "x"))));
    cache.remove(&object("a", 1, "x"));

    cache.take(Event::InitDone);
    assert_eq!(of(&cache, "x"), []);

    cache.take(Event::Delete(packed(object("a", 9, "x"))));
    assert!(cache.lock().is_settled());
}

#[test]
fn after_a_restored_backup_own_writes_show() {
    let cache = listed(&[object("a", 1_000, "x")]);

    list(&cache, &[object("a", 10, "x")]);
    cache.insert(object("b", 11, "x"));

    assert_eq!(of(&cache, "x"), named(&[("a", 10), ("b", 11)]));
}

#[test]
fn a_list_that_arrives_is_not_past_what_was_written_meanwhile() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(packed(object("a", 9, "x"))));

    cache.insert(object("b", 5, "x"));

    assert_eq!(of(&cache, "x"), named(&[("b", 5)]));
}

#[test]
fn what_a_finalizer_keeps_shows_again() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.remove(&object("a", 1, "x"));
    // A change from before the deletion.
    cache.take(Event::Apply(packed(object("a", 2, "x"))));
    assert_eq!(of(&cache, "x"), []);

    let mut deleted = object("a", 3, "x");
    deleted.metadata.deletion_timestamp =
        Some(serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
    cache.take(Event::Apply(packed(deleted)));

    assert_eq!(of(&cache, "x"), named(&[("a", 3)]));
}

#[test]
fn a_write_that_no_event_settles_is_forgotten_in_time() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.insert(object("a", 5, "x"));
    // Another has deleted it before the list was made.
    cache.take(Event::InitDone);
    assert_eq!(of(&cache, "x"), named(&[("a", 5)]));

    cache.lock().age(std::time::Duration::from_secs(120));
    cache.take(Event::Apply(packed(object("b", 2, "y"))));

    assert_eq!(of(&cache, "x"), []);
}

#[tokio::test]
async fn an_owner_of_what_cannot_be_read_is_not_told_that_it_has_less() {
    let cache = listed(&[object("a", 1, "x"), object("b", 2, "y")]);
    let unreadable = Decoded::Unreadable(Box::new(crate::watch::Unreadable {
        metadata: object("a", 3, "x").metadata,
        misfit: crate::reading::Misfit {
            field: "data".to_owned(),
            reason: "expected a map".to_owned(),
        },
    }));

    let touched = owners(cache.take(Event::Apply(unreadable)));

    assert_eq!(touched, ["x"]);
    let error = cache.of(&owner("x")).await.unwrap_err();
    assert_eq!(error.to_string(), "a of configmaps cannot be read");
    assert_eq!(cache.of(&owner("y")).await.unwrap().len(), 1);

    cache.take(Event::Apply(packed(object("a", 4, "x"))));
    assert_eq!(cache.of(&owner("x")).await.unwrap().len(), 1);
}

#[test]
#[should_panic = "a cache of owned configmaps has two controllers"]
fn a_cache_has_one_controller() {
    let cache = empty();
    let _watch = cache.take_watch();
    let _watch = cache.take_watch();
}

mod model;
