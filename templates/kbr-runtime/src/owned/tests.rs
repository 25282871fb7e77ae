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

/// An object with this name and version, which a Secret with this uid controls.
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

/// Makes the watch list these; returns the owners that the list concerns.
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

/// The names and versions of an owner's objects.
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
fn each_owner_has_its_own_objects() {
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
fn events_of_the_watch_update_the_cache_and_concern_the_owner() {
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
fn an_object_whose_owner_changes_concerns_both_owners() {
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
fn own_writes_show_before_the_watch_shows_them() {
    let cache = listed(&[object("a", 1, "x")]);

    cache.insert(object("b", 5, "x"));
    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));

    cache.remove(&object("a", 1, "x"));
    assert_eq!(of(&cache, "x"), named(&[("b", 5)]));
}

#[test]
fn a_write_that_the_watch_has_passed_is_ignored() {
    let cache = listed(&[]);
    // The response to its creation arrives after its deletion.
    cache.take(Event::Apply(packed(object("a", 5, "x"))));
    cache.take(Event::Delete(packed(object("a", 6, "x"))));

    cache.insert(object("a", 5, "x"));

    assert_eq!(of(&cache, "x"), []);
}

#[tokio::test]
async fn a_read_waits_for_the_first_list() {
    let cache = empty();
    let owner = owner("x");
    let mut read = Box::pin(cache.of(&owner));
    assert!((&mut read).now_or_never().is_none());

    list(&cache, &[object("a", 1, "x")]);

    assert_eq!(read.await.unwrap().len(), 1);
}

#[test]
fn an_object_written_while_a_list_arrives_stays_after_the_list() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.take(Event::Init);
    cache.insert(object("b", 5, "x"));
    cache.take(Event::InitApply(packed(object("a", 1, "x"))));

    cache.take(Event::InitDone);

    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));
}

#[test]
fn an_object_removed_while_a_list_arrives_does_not_come_back() {
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
fn a_list_that_is_arriving_is_not_past_writes_made_in_the_meantime() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(packed(object("a", 9, "x"))));

    cache.insert(object("b", 5, "x"));

    assert_eq!(of(&cache, "x"), named(&[("b", 5)]));
}

#[test]
fn an_object_that_a_finalizer_keeps_shows_again() {
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
fn a_write_that_no_event_settles_is_forgotten_after_a_while() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.insert(object("a", 5, "x"));
    // Somebody else deleted it before the list was made.
    cache.take(Event::InitDone);
    assert_eq!(of(&cache, "x"), named(&[("a", 5)]));

    cache.lock().age(std::time::Duration::from_secs(120));
    cache.take(Event::Apply(packed(object("b", 2, "y"))));

    assert_eq!(of(&cache, "x"), []);
}

#[tokio::test]
async fn an_unreadable_object_is_an_error_for_its_owner_and_not_a_missing_object() {
    let cache = listed(&[object("a", 1, "x"), object("b", 2, "y")]);
    let unreadable = Decoded::Unreadable(Box::new(crate::watch::Unreadable {
        metadata: object("a", 3, "x").metadata,
        error: crate::reading::DecodeError {
            field: "data".to_owned(),
            reason: "expected a map".to_owned(),
        },
    }));

    let touched = owners(cache.take(Event::Apply(unreadable)));

    assert_eq!(touched, ["x"]);
    let error = cache.of(&owner("x")).await.unwrap_err();
    assert_eq!(error.to_string(), "configmaps `a` cannot be read");
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
