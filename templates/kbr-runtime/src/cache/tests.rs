// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use k8s_openapi::api::core::v1::{ConfigMap, Secret};
use kube::{Client, ResourceExt};
use serde_json::json;

impl<K: Cached> Cache<K> {
    /// Takes an event of a watch.
    pub(crate) fn take(&self, event: Event<Received<K>>) {
        self.0.take(event);
    }

    pub(crate) fn passed(&self, version: u64) {
        self.0.passed(version);
    }

    /// Whether the watch has passed all writes.
    pub(crate) fn is_settled(&self) -> bool {
        lock(&self.0.store).unsettled().is_empty()
    }
}

/// A client that nobody answers.
pub(crate) fn nowhere() -> Client {
    let service = tower::service_fn(|_: http::Request<kube::client::Body>| async {
        Err::<http::Response<kube::client::Body>, _>(std::io::Error::other("nobody answers"))
    });
    Client::new(service, "default")
}

/// A cache that no watch has filled.
pub(crate) fn empty<K: Cached<DynamicType = ()>>() -> Cache<K> {
    let cache = Cache::new(None, ());
    cache.keep(|_| true);
    cache
}

/// As it comes from the API server.
pub(crate) fn received<K: Serialize>(object: &K) -> Received<K> {
    Received::read(&serde_json::to_string(object).unwrap()).unwrap()
}

/// Makes the watch list these.
pub(crate) fn list<K: Cached + Serialize>(cache: &Cache<K>, objects: &[K]) {
    cache.take(Event::Init);
    for object in objects {
        cache.take(Event::InitApply(received(object)));
    }
    cache.take(Event::InitDone);
}

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
    let owner = owner(owned_by).controller_owner_ref(&());
    object.metadata.owner_references = owner.map(|owner| vec![owner]);
    object
}

fn apply(object: &ConfigMap) -> Event<Received<ConfigMap>> {
    Event::Apply(received(object))
}

fn delete(object: &ConfigMap) -> Event<Received<ConfigMap>> {
    Event::Delete(received(object))
}

fn remove(cache: &Cache<ConfigMap>, object: &ConfigMap) {
    cache.deleted(&object.metadata, None);
}

/// A cache whose first list held these.
fn listed(objects: &[ConfigMap]) -> Cache<ConfigMap> {
    let cache = empty();
    list(&cache, objects);
    cache
}

/// The names and versions of an owner's objects.
fn of(cache: &Cache<ConfigMap>, uid: &str) -> Vec<(String, u64)> {
    let objects = cache.controlled_by(uid).into_iter();
    objects
        .map(|(key, entry)| (key.name().to_owned(), entry.number()))
        .collect()
}

fn named(objects: &[(&str, u64)]) -> Vec<(String, u64)> {
    objects
        .iter()
        .map(|(name, version)| ((*name).to_owned(), *version))
        .collect()
}

/// What a subscriber is told: the name, the versions before and after, and why.
type Told = Arc<Mutex<Vec<(String, Option<u64>, Option<u64>, Trigger)>>>;

use crate::queue::Trigger;

fn told(
    cache: &Cache<ConfigMap>,
) -> impl Fn() -> Vec<(String, Option<u64>, Option<u64>, Trigger)> + use<> {
    let all = Told::default();
    let noted = all.clone();
    cache.subscribe(
        false,
        Box::new(move |change, _| {
            let version = |entry: &Option<Arc<Entry>>| entry.as_ref().map(|entry| entry.number());
            lock(&noted).push((
                change.key.name().to_owned(),
                version(&change.old),
                version(&change.new),
                change.trigger,
            ));
        }),
    );
    move || std::mem::take(&mut *lock(&all))
}

fn change(
    name: &str,
    old: Option<u64>,
    new: Option<u64>,
) -> (String, Option<u64>, Option<u64>, Trigger) {
    (name.to_owned(), old, new, Trigger::Change)
}

fn listing(
    name: &str,
    old: Option<u64>,
    new: Option<u64>,
) -> (String, Option<u64>, Option<u64>, Trigger) {
    (name.to_owned(), old, new, Trigger::List)
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

    cache.take(apply(&object("a", 4, "y")));
    assert_eq!(of(&cache, "x"), named(&[("c", 3)]));
    assert_eq!(of(&cache, "y"), named(&[("a", 4), ("b", 2)]));
}

#[test]
fn subscribers_are_told_what_was_and_what_is() {
    let cache = empty();
    let told = told(&cache);
    list(&cache, &[object("a", 1, "x")]);
    assert_eq!(told(), [listing("a", None, Some(1))]);

    cache.take(apply(&object("b", 2, "x")));
    cache.take(apply(&object("a", 3, "y")));
    cache.take(delete(&object("b", 4, "x")));
    assert_eq!(
        told(),
        [
            change("b", None, Some(2)),
            change("a", Some(1), Some(3)),
            change("b", Some(2), None),
        ]
    );
}

#[test]
fn what_changed_or_went_while_the_watch_was_cut_is_told_once() {
    let cache = listed(&[
        object("a", 1, "x"),
        object("b", 2, "y"),
        object("c", 3, "x"),
    ]);
    let told = told(&cache);

    // A list that breaks off tells of what it has shown.
    cache.take(Event::Init);
    cache.take(Event::InitApply(received(&object("a", 1, "x"))));
    assert_eq!(told(), [listing("a", Some(1), Some(1))]);
    list(
        &cache,
        &[
            object("a", 1, "x"),
            object("c", 5, "x"),
            object("d", 6, "x"),
        ],
    );

    assert_eq!(
        told(),
        [
            listing("a", Some(1), Some(1)),
            change("c", Some(3), Some(5)),
            change("d", None, Some(6)),
            change("b", Some(2), None),
        ]
    );
    list(
        &cache,
        &[
            object("a", 1, "x"),
            object("c", 5, "x"),
            object("d", 6, "x"),
        ],
    );
    assert!(told().iter().all(|(.., trigger)| *trigger == Trigger::List));
}

/// Created and deleted while the watch was cut: neither is in a list.
#[test]
fn an_own_object_that_somebody_deleted_while_the_watch_was_cut_is_told_to_be_gone() {
    let cache = listed(&[]);
    let told = told(&cache);
    cache.insert(&object("a", 5, "x"));
    assert_eq!(of(&cache, "x"), named(&[("a", 5)]));

    list(&cache, &[]);

    assert_eq!(of(&cache, "x"), []);
    assert_eq!(told(), [change("a", Some(5), None)]);
}

/// The watch was cut before it showed that the first was deleted and the second took its name. Each has an owner.
#[test]
fn an_own_object_that_took_the_name_of_another_is_told_to_be_gone_too() {
    let mut own = object("a", 8, "x");
    own.metadata.uid = Some("a-2".to_owned());
    let cache = listed(&[object("a", 3, "y")]);
    let told = told(&cache);
    cache.insert(&own);

    list(&cache, &[]);

    assert_eq!(of(&cache, "x"), []);
    assert_eq!(
        told(),
        [change("a", Some(3), None), change("a", Some(8), None)]
    );
}

#[test]
fn own_writes_show_before_the_watch_shows_them() {
    let cache = listed(&[object("a", 1, "x")]);
    let told = told(&cache);

    cache.insert(&object("b", 5, "x"));
    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));

    remove(&cache, &object("a", 1, "x"));
    assert_eq!(of(&cache, "x"), named(&[("b", 5)]));
    assert_eq!(told(), []);

    cache.take(apply(&object("b", 5, "x")));
    cache.take(delete(&object("a", 6, "x")));
    assert_eq!(
        told(),
        [change("b", None, Some(5)), change("a", Some(1), None)]
    );
    assert!(cache.is_settled());
}

#[test]
fn a_write_that_the_watch_has_passed_is_ignored() {
    let cache = listed(&[]);
    // The response to its creation arrives after its deletion.
    cache.take(apply(&object("a", 5, "x")));
    cache.take(delete(&object("a", 6, "x")));

    cache.insert(&object("a", 5, "x"));

    assert_eq!(of(&cache, "x"), []);
}

#[test]
fn an_object_written_while_a_list_arrives_stays_after_the_list() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.take(Event::Init);
    cache.insert(&object("b", 5, "x"));
    cache.take(Event::InitApply(received(&object("a", 1, "x"))));

    cache.take(Event::InitDone);

    assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 5)]));
}

#[test]
fn an_object_removed_while_a_list_arrives_does_not_come_back() {
    let cache = listed(&[object("a", 1, "x")]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(received(&object("a", 1, "x"))));
    remove(&cache, &object("a", 1, "x"));

    cache.take(Event::InitDone);
    assert_eq!(of(&cache, "x"), []);

    cache.take(delete(&object("a", 9, "x")));
    assert!(cache.is_settled());
}

#[test]
fn after_a_restored_backup_own_writes_show() {
    let cache = listed(&[object("a", 1_000, "x")]);

    list(&cache, &[object("a", 10, "x")]);
    cache.insert(&object("b", 11, "x"));

    assert_eq!(of(&cache, "x"), named(&[("a", 10), ("b", 11)]));
}

#[test]
fn a_list_that_is_arriving_is_not_past_writes_made_in_the_meantime() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.take(Event::InitApply(received(&object("a", 9, "x"))));

    cache.insert(&object("b", 5, "x"));

    assert_eq!(of(&cache, "x"), named(&[("a", 9), ("b", 5)]));
}

#[test]
fn an_object_that_a_finalizer_keeps_shows_again() {
    let cache = listed(&[object("a", 1, "x")]);
    remove(&cache, &object("a", 1, "x"));
    // A change from before the deletion.
    cache.take(apply(&object("a", 2, "x")));
    assert_eq!(of(&cache, "x"), []);

    let mut deleted = object("a", 3, "x");
    deleted.metadata.deletion_timestamp =
        Some(serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap());
    cache.take(apply(&deleted));

    assert_eq!(of(&cache, "x"), named(&[("a", 3)]));
}

#[tokio::test(start_paused = true)]
async fn a_write_that_no_event_settles_is_forgotten_after_a_while() {
    let cache = listed(&[]);
    cache.take(Event::Init);
    cache.insert(&object("a", 5, "x"));
    // Somebody else deleted it before the list was made.
    cache.take(Event::InitDone);
    assert_eq!(of(&cache, "x"), named(&[("a", 5)]));

    tokio::time::advance(Duration::from_secs(300)).await;
    cache.take(apply(&object("b", 2, "y")));

    assert_eq!(of(&cache, "x"), []);
}

/// Created by this process and deleted by somebody else before the list; the answer to the creation is late.
#[test]
fn a_late_answer_from_before_the_list_is_ignored() {
    let cache = listed(&[object("a", 2, "x")]);
    let told = told(&cache);
    cache.insert(&object("b", 5, "x"));
    cache.passed(4);
    assert_eq!(of(&cache, "x"), named(&[("a", 2), ("b", 5)]));

    cache.passed(7);
    assert_eq!(of(&cache, "x"), named(&[("a", 2)]));
    assert_eq!(told(), [change("b", Some(5), None)]);
    cache.insert(&object("c", 6, "x"));
    assert_eq!(of(&cache, "x"), named(&[("a", 2)]));
    // Otherwise its owner would never know.
    assert_eq!(told(), [change("c", Some(6), None)]);
    cache.insert(&object("a", 1, "x"));
    assert_eq!(told(), []);
}

/// The owner of what was written must know, whether the answer comes before or after what the watch shows.
#[test]
fn an_object_of_another_in_the_place_of_one_that_was_written_is_told() {
    let mut other = object("a", 7, "y");
    other.metadata.uid = Some("a-2".to_owned());
    let cache = listed(&[]);
    let told = told(&cache);
    cache.insert(&object("a", 5, "x"));
    list(&cache, std::slice::from_ref(&other));
    assert_eq!(
        told(),
        [change("a", Some(5), None), change("a", None, Some(7))]
    );

    // While another list arrives.
    cache.take(Event::Init);
    cache.insert(&object("a", 6, "x"));
    assert_eq!(told(), [change("a", Some(6), Some(7))]);
    assert_eq!(of(&cache, "x"), []);
}

#[test]
fn an_object_with_the_name_of_a_deleted_one_is_another() {
    let mut second = object("a", 7, "x");
    second.metadata.uid = Some("a-2".to_owned());
    let cache = listed(&[object("a", 1, "x")]);
    remove(&cache, &object("a", 1, "x"));
    cache.insert(&second);
    assert_eq!(of(&cache, "x"), named(&[("a", 7)]));

    // The watch is behind.
    cache.take(apply(&object("a", 2, "x")));
    cache.take(delete(&object("a", 3, "x")));
    assert_eq!(of(&cache, "x"), named(&[("a", 7)]));
    cache.take(apply(&second));
    assert_eq!(of(&cache, "x"), named(&[("a", 7)]));
    assert!(cache.is_settled());
}

#[test]
fn reading_finds_objects_by_name_and_by_index() {
    let cache = empty();
    cache.index("data", |object: &ConfigMap| {
        object
            .data
            .iter()
            .flat_map(|data| data.keys().cloned())
            .collect()
    });
    let with = |name, version, key: &str| {
        let mut object = object(name, version, "x");
        object.data = Some([(key.to_owned(), String::new())].into());
        object
    };
    list(&cache, &[with("b", 1, "one"), with("a", 2, "one")]);
    let names = |key| -> Vec<_> {
        let found = cache.by("data", key).unwrap().into_iter();
        found.map(|object| object.name_any()).collect()
    };
    assert_eq!(names("one"), ["a", "b"]);

    cache.insert(&with("a", 5, "two"));
    cache.take(delete(&with("b", 4, "one")));
    assert_eq!((names("one"), names("two")), (vec![], vec!["a".to_owned()]));
    let a = cache.get(&ObjectRef::new("a")).unwrap();
    assert_eq!(a.resource_version().as_deref(), Some("5"));
    assert!(cache.get(&ObjectRef::new("b")).is_none());
    assert_eq!(cache.list().len(), 1);
    let error = cache.by("other", "").unwrap_err().to_string();
    assert_eq!(
        error,
        "the cache of configmaps has no index `other`: add it with `Cache::index`"
    );
}

#[test]
fn of_objects_that_nobody_reads_only_the_metadata_is_kept() {
    let cache = Cache::<ConfigMap>::new(None, ());
    cache.keep(|owners| is_controlled_by_a::<Secret>(owners, &()));
    let mut foreign = object("b", 2, "y");
    foreign.metadata.owner_references = None;
    // It does not fit, and nobody needs it.
    let text = json!({"metadata": {"name": "c", "uid": "c"}, "data": 1}).to_string();
    cache.take(Event::Init);
    for received in [received(&object("a", 1, "x")), received(&foreign)] {
        cache.take(Event::InitApply(received));
    }
    cache.take(Event::InitApply(Received::read(&text).unwrap()));
    cache.take(Event::InitDone);

    let is_kept = |name: &str| {
        let entry = cache.entry(&Key::new(None, name.to_owned())).unwrap();
        assert!(entry.is_readable);
        entry.text.is_some()
    };
    assert!(is_kept("a") && !is_kept("b") && !is_kept("c"));
    assert_eq!(lock(&cache.0.store).unreadable(), 0);
}

#[test]
fn an_object_that_cannot_be_read_is_reported_once_per_version_and_counted() {
    let cache = empty::<ConfigMap>();
    let bad = |name: &str, version: u32| {
        let metadata = json!({"name": name, "uid": name, "resourceVersion": version.to_string()});
        let text = json!({"metadata": metadata, "data": "hunter2"}).to_string();
        Received::<ConfigMap>::read(&text).unwrap()
    };
    let take = |event| {
        let reported = cache.0.take(event).map(|unreadable| {
            assert_eq!(unreadable.error.field, "data");
            unreadable.reference.name.unwrap()
        });
        (
            reported.unwrap_or_default(),
            lock(&cache.0.store).unreadable(),
        )
    };
    let told = |name: &str, count| (name.to_owned(), count);
    for expected in ["bad", ""] {
        take(Event::Init);
        assert_eq!(take(Event::InitApply(bad("bad", 1))), told(expected, 1));
        take(Event::InitApply(received(&object("good", 2, "x"))));
        take(Event::InitDone);
    }
    assert_eq!(take(Event::Apply(bad("bad", 3))), told("bad", 1));
    assert_eq!(take(Event::Apply(bad("bad", 3))), told("", 1));
    assert_eq!(take(Event::Apply(bad("good", 4))), told("good", 2));
    // No reconcile acts on an older version.
    assert!(cache.get(&ObjectRef::new("good")).is_none());
    assert_eq!(take(apply(&object("good", 5, "x"))), told("", 1));
    assert!(cache.get(&ObjectRef::new("good")).is_some());
    assert_eq!(take(Event::Delete(bad("bad", 6))), told("", 0));
}

/// It is parsed when it is written, and need not be again.
#[test]
fn what_was_written_is_not_parsed_again_when_the_watch_shows_it() {
    let cache = listed(&[object("a", 1, "x")]);
    let slimmed = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = slimmed.clone();
    cache.slim(move |_| {
        count.fetch_add(1, Ordering::SeqCst);
    });
    cache.wrote(received(&object("a", 5, "x")));
    assert_eq!(slimmed.load(Ordering::SeqCst), 1);

    cache.take(apply(&object("a", 5, "x")));
    assert_eq!(slimmed.load(Ordering::SeqCst), 1);
    assert!(cache.is_settled());
    assert_eq!(of(&cache, "x"), named(&[("a", 5)]));

    // It is not known any more what it was.
    cache.take(apply(&object("a", 5, "x")));
    cache.take(apply(&object("a", 6, "x")));
    assert_eq!(slimmed.load(Ordering::SeqCst), 3);
}

/// Its type may write less than the API server does.
#[test]
fn what_the_watch_shows_replaces_what_the_caller_has_written() {
    let cache = listed(&[]);
    cache.insert(&object("a", 5, "x"));

    let mut text = json!(object("a", 5, "x"));
    text["unknown"] = json!(1);
    cache.take(Event::Apply(Received::read(&text.to_string()).unwrap()));

    let key = Key::new(None, "a".to_owned());
    assert_eq!(cache.entry(&key).unwrap().value()["unknown"], 1);
}

/// Two reconciles may write the same object, and their answers come in any order.
#[test]
fn a_late_answer_replaces_no_newer_write() {
    let with_uid = |uid: &str, version| {
        let mut object = object("a", version, "x");
        object.metadata.uid = Some(uid.to_owned());
        object
    };
    let (first, second) = (with_uid("1", 5), with_uid("2", 7));

    // The deletion of the first one, after the second one was created.
    let cache = listed(&[]);
    cache.insert(&second);
    remove(&cache, &first);
    assert_eq!(of(&cache, "x"), named(&[("a", 7)]));

    // An older version.
    let cache = listed(&[]);
    cache.insert(&with_uid("1", 8));
    cache.insert(&first);
    assert_eq!(of(&cache, "x"), named(&[("a", 8)]));

    // The last version of one that was deleted.
    let cache = listed(&[]);
    remove(&cache, &first);
    cache.insert(&first);
    assert_eq!(of(&cache, "x"), []);

    // The deletion of one that was changed meanwhile.
    let cache = listed(&[]);
    cache.insert(&with_uid("1", 8));
    remove(&cache, &first);
    assert_eq!(of(&cache, "x"), []);
}

#[test]
fn code_of_the_user_that_panics_concerns_one_object() {
    let cache = empty::<ConfigMap>();
    cache.index("names", |object| {
        assert!(object.name_any() != "bad", "on purpose");
        vec!["all".to_owned()]
    });
    cache.slim(|object| {
        assert!(object.name_any() != "worse", "on purpose");
        object.metadata.owner_references = None;
    });
    let objects = ["bad", "good", "worse"].map(|name| object(name, 1, "x"));
    list(&cache, &objects);

    let names = |objects: Vec<Arc<ConfigMap>>| -> Vec<_> {
        objects.iter().map(|object| object.name_any()).collect()
    };
    assert_eq!(names(cache.list()), ["bad", "good", "worse"]);
    assert_eq!(names(cache.by("names", "all").unwrap()), ["good", "worse"]);
    let owned = |object: &Arc<ConfigMap>| !object.owner_references().is_empty();
    assert_eq!(
        cache.list().iter().map(owned).collect::<Vec<_>>(),
        [false, false, true]
    );
}

/// Reading such an object panics if its name is `bad`.
#[derive(Clone, Debug)]
pub(crate) struct Odd;

impl<'de> serde::Deserialize<'de> for Odd {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = serde_json::Value::deserialize(deserializer)?;
        assert!(value != json!("bad"), "on purpose: {value}");
        Ok(Self)
    }
}

#[test]
fn an_object_whose_type_panics_is_unreadable_like_any_other() {
    type Object = kube::core::Object<Odd, Option<()>>;
    let kind = kube::api::ApiResource::erase::<ConfigMap>(&());
    let cache = Cache::<Object>::new(None, kind);
    cache.keep(|_| true);
    let object = |name: &str, spec: &str| {
        let metadata = json!({"name": name, "uid": name, "resourceVersion": "1"});
        let text =
            json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "spec": spec});
        Received::read(&text.to_string()).unwrap()
    };
    cache.take(Event::Init);
    let unreadable = cache.0.take(Event::InitApply(object("a", "bad"))).unwrap();
    assert_eq!(
        unreadable.error.to_string(),
        ".: the code that reads it panicked"
    );
    assert!(
        cache
            .0
            .take(Event::InitApply(object("b", "good")))
            .is_none()
    );
    cache.take(Event::InitDone);

    let shown: Vec<_> = cache
        .list()
        .iter()
        .map(|object| object.name_any())
        .collect();
    assert_eq!(shown, ["b"]);
    assert_eq!(lock(&cache.0.store).unreadable(), 1);
}

#[test]
fn a_write_waits_for_no_subscriber() {
    let cache = listed(&[]);
    let (begun, begin) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel();
    cache.subscribe(
        true,
        Box::new(move |change, _| {
            if change.key.name() == "a" {
                begun.send(()).unwrap();
                ended.recv().unwrap();
            }
        }),
    );
    std::thread::scope(|scope| {
        scope.spawn(|| cache.take(apply(&object("a", 1, "x"))));
        begin.recv().unwrap();
        // The mapper of another controller is still busy.
        cache.insert(&object("b", 2, "x"));
        assert_eq!(of(&cache, "x"), named(&[("a", 1), ("b", 2)]));
        end.send(()).unwrap();
    });
}

#[test]
fn a_subscriber_may_write_to_its_cache_and_changes_are_told_in_their_order() {
    let cache = listed(&[]);
    let other = cache.clone();
    cache.subscribe(
        true,
        Box::new(move |change, _| {
            if change.key.name() == "a" && change.new.is_some() {
                other.take(apply(&object("b", 9, "x")));
                other.take(delete(&object("b", 10, "x")));
            }
        }),
    );
    let told = told(&cache);
    cache.take(apply(&object("a", 1, "x")));
    let expected = [
        change("a", None, Some(1)),
        change("b", None, Some(9)),
        change("b", Some(9), None),
    ];
    assert_eq!(told(), expected);
}

/// Two threads: what is told last of an object is what the cache has.
#[test]
fn what_is_told_last_is_what_is_shown() {
    for round in 0..200 {
        let cache = listed(&[object("a", 1, "x")]);
        let last = Arc::new(Mutex::new(Some(1)));
        let noted = last.clone();
        cache.subscribe(
            false,
            Box::new(move |change, _| {
                *lock(&noted) = change.new.as_ref().map(|entry| entry.number());
            }),
        );
        std::thread::scope(|scope| {
            scope.spawn(|| {
                cache.take(delete(&object("a", 5, "x")));
                let mut again = object("a", 6, "x");
                again.metadata.uid = Some("again".to_owned());
                cache.take(apply(&again));
            });
            // The answer to a write before the deletion is late.
            scope.spawn(|| cache.insert(&object("a", 4, "x")));
        });
        let shown = cache.entry(&Key::of(&object("a", 1, "x")));
        assert_eq!(*lock(&last), shown.map(|entry| entry.number()), "{round}");
    }
}

#[test]
fn the_work_of_catching_up_is_that_for_each_write() {
    const WRITES: u64 = 2_000;
    let cache = listed(&[]);
    let name = |number: u64| format!("{number:05}");
    for number in 1..=WRITES {
        cache.insert(&object(&name(number), number, "x"));
    }
    let deleted = |number: u64| object(&name(number), number, "x");
    for number in 1..=WRITES {
        cache.take(apply(&object(&name(number), number, "x")));
    }
    for number in 1..=WRITES {
        remove(&cache, &deleted(number));
    }
    for number in 1..=WRITES {
        let mut gone = deleted(number);
        gone.metadata.resource_version = Some((WRITES + number).to_string());
        cache.take(delete(&gone));
    }
    assert!(cache.is_settled());
    assert_eq!(cache.count(), 0);
    let visits = u64::try_from(lock(&cache.0.store).visits).unwrap();
    assert!(visits <= 8 * WRITES, "{visits}");
}

#[tokio::test]
async fn equal_caches_are_one() {
    let mut caches = Caches::default();
    let a = caches.shared::<ConfigMap>(nowhere(), None);
    let b = caches.shared::<ConfigMap>(nowhere(), None);
    let other = caches.shared::<ConfigMap>(nowhere(), Some("default"));
    let metadata = caches.shared::<kube::api::PartialObjectMeta<ConfigMap>>(nowhere(), None);

    assert!(Arc::ptr_eq(&a.source(), &b.source()));
    assert!(!Arc::ptr_eq(&a.source(), &other.source()));
    assert!(!Arc::ptr_eq(&a.source(), &metadata.source()));
    assert_eq!(caches.all.len(), 3);
}

#[tokio::test(start_paused = true)]
async fn whoever_waits_for_another_version_gets_it_when_the_watch_shows_it() {
    let cache = listed(&[object("a", 1, "x")]);
    let key = Key::of(&object("a", 1, "x"));
    let second = Duration::from_secs(1);
    let another = |entry: Option<&Entry>| entry.is_some_and(|entry| &*entry.version != "1");
    let late = cache.shows(&key, second, another).await.unwrap();
    assert_eq!(late.number(), 1);

    let shown = cache.shows(&key, second * 3600, another);
    let showing = async {
        tokio::time::sleep(second).await;
        cache.take(apply(&object("b", 2, "x")));
        tokio::time::sleep(second).await;
        cache.take(apply(&object("a", 3, "x")));
    };
    let (shown, ()) = tokio::join!(shown, showing);
    assert_eq!(shown.unwrap().number(), 3);
}

mod model;
