// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::metrics::Counts;
use futures::stream;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Config as ClientConfig;
use std::sync::Mutex;
use std::time::Instant;

fn object(name: &str) -> ConfigMap {
    let mut object = ConfigMap::default();
    object.metadata.namespace = Some("default".to_owned());
    object.metadata.name = Some(name.to_owned());
    object
}

/// As it comes from the API server.
fn packed(object: &ConfigMap) -> Packed<ConfigMap> {
    let text = serde_json::to_string(object).unwrap();
    let Decoded::Object(packed) = serde_json::from_str(&text).unwrap() else {
        panic!("{text}");
    };
    packed
}

/// Runs kube's own queue over `objects`, each requested once, until `wanted` events have arrived.
///
/// Objects whose name starts with `gone` are not in the store. No API server is involved.
async fn drive<R, F>(objects: &[&str], backoff: &Backoff, wanted: usize, reconcile: R)
where
    R: Fn(Arc<ConfigMap>, Arc<()>) -> F + Send + Sync + 'static,
    F: Future<Output = Result<Action, Infallible>> + Send + 'static,
{
    let (store, mut writer) = reflector::store();
    writer.apply_watcher_event(&watcher::Event::Init);
    for name in objects.iter().filter(|name| !name.starts_with("gone")) {
        writer.apply_watcher_event(&watcher::Event::InitApply(object(name)));
    }
    writer.apply_watcher_event(&watcher::Event::InitDone);
    let keys = objects.iter().map(|name| Arc::new(Key::of(&object(name))));
    let turns = stream::iter(keys.collect::<Vec<_>>()).chain(stream::pending());
    let nowhere = ClientConfig::new("http://127.0.0.1:1".parse().unwrap());
    let counted = Queue::new(Counts::unread());
    let reconciler = Reconciler {
        controller: "test",
        backoff: backoff.clone(),
        timeout: TIMEOUT,
        server: ApiServer::new(nowhere),
        queue: counted.clone(),
        stop: CancellationToken::new(),
        failing: crate::watch::FailingWatches::default(),
    };
    let reconcile = reconciler.wrap(reconcile, Arc::new(|_, _, _| None), None, Arc::new(()));
    let config = Config::default().concurrency(1);
    let events = Cache::of(store).reconcile(reconcile, turns.boxed(), config);
    let mut events = events.take(wanted);
    while let Some(event) = events.next().await {
        observe("test", backoff, &counted, event);
    }
}

#[tokio::test]
async fn a_panicking_object_is_retried_with_growing_delays_and_blocks_no_other() {
    let backoff = Backoff::default();
    let calls = Arc::new(Mutex::new(Vec::new()));
    let seen = calls.clone();
    let reconcile = move |object: Arc<ConfigMap>, _| {
        let name = object.metadata.name.clone().unwrap();
        let mut calls = seen.lock().unwrap();
        calls.push((name.clone(), Instant::now()));
        let attempts = calls.iter().filter(|(other, _)| *other == name).count();
        async move {
            assert!(name == "good" || attempts > 3, "on purpose");
            Ok(Action::await_change())
        }
    };

    drive(&["bad", "good"], &backoff, 5, reconcile).await;

    let calls = calls.lock().unwrap();
    let of = |name: &str| -> Vec<Instant> {
        let calls = calls.iter().filter(|(other, _)| other == name);
        calls.map(|(_, at)| *at).collect()
    };
    assert_eq!(of("good").len(), 1);
    let bad = of("bad");
    assert_eq!(bad.len(), 4);
    for (pair, ms) in bad.windows(2).zip([5, 10, 20]) {
        assert!(pair[1] - pair[0] >= Duration::from_millis(ms), "{pair:?}");
    }
    assert_eq!(backoff.len(), 0);
}

#[tokio::test]
async fn a_deleted_object_is_forgotten() {
    let backoff = Backoff::default();
    backoff.failed(&Key::of(&object("gone")), Duration::ZERO);
    backoff.failed(&Key::of(&object("other")), Duration::ZERO);
    let unreachable = |_, _| async { panic!("nothing to reconcile") };

    drive(&["gone"], &backoff, 1, unreachable).await;

    assert_eq!(backoff.len(), 1);
}

#[tokio::test]
async fn a_stop_only_interrupts_a_controller_that_has_not_synced() {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    let cache = Cache::<ConfigMap>::of(store);
    let stop = CancellationToken::new();
    let mut unlisted = Box::pin(stopped_before_listed(cache.listed(), stop.clone()));
    assert!((&mut unlisted).now_or_never().is_none());
    stop.cancel();
    assert!(unlisted.now_or_never().is_some());

    writer.apply_watcher_event(&watcher::Event::Init);
    writer.apply_watcher_event(&watcher::Event::InitDone);
    let unlisted = stopped_before_listed(cache.listed(), stop);
    assert!(unlisted.now_or_never().is_none());
}

/// Otherwise it would be in the queue twice, once with the namespace of a child.
#[test]
fn an_owner_without_a_namespace_has_one_name_in_the_queue() {
    use k8s_openapi::api::core::v1::Namespace;
    let mut of_child = ObjectRef::<Namespace>::new("a");
    of_child.namespace = Some("of the child".to_owned());
    let name = |request: ReconcileRequest| request.object.to_string();
    assert_eq!(name(named(of_child, Trigger::Change)), "a");

    let object = ObjectRef::<ConfigMap>::new("a").within("b");
    assert_eq!(name(named(object, Trigger::Change)), "b/a");
}

#[tokio::test]
async fn an_object_that_can_no_longer_be_read_is_removed_from_the_cache() {
    let (store, mut writer) = reflector::store::<ConfigMap>();
    let server = ApiServer::new(ClientConfig::new("http://127.0.0.1:1".parse().unwrap()));
    let recorder = Recorder::new(server.client().unwrap(), "test".into());
    let watches = Watches::new("test", server, recorder, metrics::Watches::default());
    let mut readable = Readable::new(store.clone(), watches.skipped());
    let unreadable = |name| {
        Decoded::Unreadable(Box::new(crate::watch::Unreadable {
            metadata: object(name).metadata,
            error: crate::reading::DecodeError {
                field: "data".to_owned(),
                reason: "expected a map".to_owned(),
            },
        }))
    };
    let mut take = |event| {
        if let Some(event) = readable.take(event) {
            writer.apply_watcher_event(&event);
        }
        let mut names: Vec<_> = store
            .state()
            .iter()
            .map(|o| o.metadata.name.clone())
            .collect();
        names.sort();
        names.into_iter().flatten().collect::<Vec<_>>()
    };

    take(watcher::Event::Init);
    take(watcher::Event::InitApply(Decoded::Object(object("a"))));
    take(watcher::Event::InitApply(unreadable("b")));
    assert_eq!(take(watcher::Event::InitDone), ["a"]);
    assert_eq!(
        take(watcher::Event::Apply(Decoded::Object(object("b")))),
        ["a", "b"]
    );
    assert_eq!(take(watcher::Event::Apply(unreadable("a"))), ["b"]);
    assert_eq!(
        take(watcher::Event::Apply(Decoded::Object(object("a")))),
        ["a", "b"]
    );
    assert!(take(watcher::Event::Delete(unreadable("a"))) == ["b"]);
}

#[tokio::test]
async fn objects_changed_while_a_watch_was_interrupted_go_before_the_rest_of_its_list() {
    let (store, mut writer) = reflector::store::<Packed<ConfigMap>>();
    let mut shown = Shown::new(store, Vec::new());
    let mut take = |event| {
        writer.apply_watcher_event(&event);
        let requests = shown.take(&event).into_iter();
        let mut requests: Vec<_> = requests
            .map(|request| (request.object.to_string(), request.trigger))
            .collect();
        requests.sort_by(|(a, _), (b, _)| a.cmp(b));
        requests
    };
    let version = |name: &str, version: &str| {
        let mut object = object(name);
        object.metadata.resource_version = Some(version.to_owned());
        packed(&object)
    };
    let request = |name: &str, trigger| (format!("default/{name}"), trigger);
    let (list, change) = (Trigger::List, Trigger::Change);

    take(watcher::Event::Init);
    take(watcher::Event::InitApply(version("a", "1")));
    take(watcher::Event::InitApply(version("b", "2")));
    let all = take(watcher::Event::InitDone);
    assert_eq!(all, [request("a", list), request("b", list)]);
    let one = take(watcher::Event::Apply(version("b", "3")));
    assert_eq!(one, [request("b", change)]);

    // A list that is interrupted triggers no reconcile.
    take(watcher::Event::Init);
    take(watcher::Event::InitApply(version("d", "9")));
    take(watcher::Event::Init);
    for object in [version("a", "1"), version("b", "4"), version("c", "5")] {
        // The cache has the previous objects until the whole list has arrived.
        assert!(take(watcher::Event::InitApply(object)).is_empty());
    }
    let all = take(watcher::Event::InitDone);
    assert_eq!(
        all,
        [
            request("a", list),
            request("b", change),
            request("c", change)
        ]
    );
}

#[test]
fn observers_of_a_watch_see_the_objects_themselves() {
    let (store, _writer) = reflector::store::<Packed<ConfigMap>>();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let observed = seen.clone();
    let observer: Observer<ConfigMap> = Box::new(move |event| {
        let what = match event {
            watcher::Event::Init => "init".to_owned(),
            watcher::Event::InitDone => "done".to_owned(),
            watcher::Event::InitApply(object) => format!("listed {:?}", object.data),
            watcher::Event::Apply(object) => format!("changed {:?}", object.data),
            watcher::Event::Delete(object) => format!("gone {:?}", object.metadata.name),
        };
        observed.lock().unwrap().push(what);
    });
    let mut shown = Shown::new(store, vec![observer]);
    let mut object = object("a");
    object.data = Some([("key".to_owned(), "value".to_owned())].into());
    let object = packed(&object);

    for event in [
        watcher::Event::Init,
        watcher::Event::InitApply(object.clone()),
        watcher::Event::InitDone,
        watcher::Event::Apply(object.clone()),
        watcher::Event::Delete(object),
    ] {
        shown.take(&event);
    }

    let data = r#"Some({"key": "value"})"#;
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "init",
            &format!("listed {data}"),
            "done",
            &format!("changed {data}"),
            r#"gone Some("a")"#,
        ]
    );
}

#[tokio::test]
async fn the_cache_has_the_objects_that_the_watch_has_shown() {
    let (store, mut writer) = reflector::store::<Packed<ConfigMap>>();
    let cache = Cache::<ConfigMap>::of(store);
    let reference = ObjectRef::new("a").within("default");
    assert_eq!((cache.get(&reference), cache.state().len()), (None, 0));
    assert!(cache.listed().now_or_never().is_none());

    writer.apply_watcher_event(&watcher::Event::Init);
    writer.apply_watcher_event(&watcher::Event::InitApply(packed(&object("a"))));
    writer.apply_watcher_event(&watcher::Event::InitDone);

    assert!(cache.listed().now_or_never().is_some());
    assert_eq!(*cache.get(&reference).unwrap(), object("a"));
    assert_eq!(*cache.state()[0], object("a"));
    assert_eq!(cache.keys(), [Key::of(&object("a"))]);
}
