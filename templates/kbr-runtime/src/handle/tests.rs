// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with canned responses of an API server.

use std::collections::VecDeque;
use std::future::pending;

use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{ApiResource, DynamicObject};
use kube::client::Body;
use kube::runtime::watcher::Event as WatchEvent;
use prometheus_client::metrics::counter::Counter;
use serde_json::{Value, json};

use super::*;
use crate::cache::tests::{empty, list, received};

pub(super) fn owner() -> Secret {
    let mut owner = Secret::default();
    owner.metadata.name = Some("owner".to_owned());
    owner.metadata.namespace = Some("here".to_owned());
    owner.metadata.uid = Some("owner-1".to_owned());
    owner.metadata.resource_version = Some("3".to_owned());
    owner
}

/// The desired object, with this text.
pub(super) fn wanted(text: &str) -> ConfigMap {
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some("map".to_owned());
    wanted.data = Some([("text".to_owned(), text.to_owned())].into());
    wanted
}

/// The same object as the API server has it, in this version.
pub(super) fn stored(text: &str, version: u32) -> ConfigMap {
    let mut stored = wanted(text);
    stored.metadata.namespace = Some("here".to_owned());
    stored.metadata.uid = Some("map-1".to_owned());
    stored.metadata.resource_version = Some(version.to_string());
    stored.metadata.owner_references = owner().controller_owner_ref(&()).map(|owner| vec![owner]);
    stored
}

pub(super) fn status(code: u16, reason: &str) -> Value {
    json!({ "kind": "Status", "status": "Failure", "reason": reason, "code": code, "message": "" })
}

/// The requests in order: the method, and the body.
pub(super) type Requests = Arc<Mutex<Vec<(Method, Value)>>>;

/// What handles of a controller of these objects share, which has no other caches and whose client nobody answers.
pub(crate) fn context<K: Cached>(cache: Cache<K>, client: Client) -> Context<K> {
    Context {
        field_manager: "test".to_owned(),
        events: Events::new(Counter::default()).0,
        client,
        clock: Clock::system(),
        server: ApiServer::new(kube::Config::new("http://127.0.0.1:1".parse().unwrap())),
        cache,
        caches: Declared::default(),
        pods: Vec::new(),
        applied: Arc::default(),
        statuses: Arc::default(),
        names: Names::default(),
        takes_over: TakeOver::default(),
    }
}

/// A reconcile of [`owner`], with an API server that gives these responses, one per request.
pub(super) struct World {
    pub(super) handle: Handle<Secret>,
    pub(super) maps: Cache<ConfigMap>,
    pub(super) requests: Requests,
}

/// A client with an API server that gives these responses, one per request, and the requests.
pub(super) fn answering(answers: impl IntoIterator<Item = Value>) -> (Client, Requests) {
    let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
    let requests = Requests::default();
    let asked = requests.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answers, asked) = (answers.clone(), asked.clone());
        async move {
            let (parts, body) = request.into_parts();
            assert!(parts.uri.path().contains("/namespaces/here/"));
            let body = body.collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            lock(&asked).push((parts.method, body));
            let answer = lock(&answers).pop_front();
            let answer = answer.expect("an unexpected request");
            let code = answer["code"].as_u64().unwrap_or(200);
            let response = Response::builder().status(u16::try_from(code).unwrap());
            let response = response.body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, tower::BoxError>(response.unwrap())
        }
    });
    (Client::new(service, "here"), requests)
}

impl World {
    pub(super) fn new(known: &[ConfigMap], answers: impl IntoIterator<Item = Value>) -> Self {
        let (client, requests) = answering(answers);
        let (cache, maps) = (empty::<Secret>(), empty::<ConfigMap>());
        list(&cache, &[owner()]);
        list(&maps, known);
        let mut caches = Declared::default();
        caches.add(maps.clone(), true);
        let context = Context {
            caches,
            ..context(cache, client)
        };
        Self {
            handle: Handle::new(Arc::new(owner()), Arc::new(context)),
            maps,
            requests,
        }
    }

    pub(super) fn taking_over(mut self, managers: &[&str]) -> Self {
        let managers = managers.iter().map(|&name| name.to_owned());
        let context = Arc::get_mut(&mut self.handle.context).unwrap();
        context.takes_over = TakeOver::Of(managers.collect());
        self
    }

    pub(super) fn methods(&self) -> Vec<Method> {
        let requests = lock(&self.requests);
        requests.iter().map(|(method, _)| method.clone()).collect()
    }

    /// The version and uid of the object that a patch is meant for.
    pub(super) fn meant(&self, request: usize) -> (Option<String>, Option<String>) {
        let requests = lock(&self.requests);
        assert_eq!(requests[request].0, Method::PATCH);
        let metadata = &requests[request].1["metadata"];
        let text = |field: &str| metadata[field].as_str().map(str::to_owned);
        (text("resourceVersion"), text("uid"))
    }

    /// Who wants the name of the ConfigMap, now that it is free.
    pub(super) fn wanting(&self) -> usize {
        let name = Arc::new(Key::new(Some("here".to_owned()), "map".to_owned()));
        let freed = self.handle.context.names.freed("configmaps", &name);
        freed.len()
    }
}

#[tokio::test]
async fn reading_sends_no_request() {
    let mut foreign = stored("foreign", 5);
    foreign.metadata.name = Some("foreign".to_owned());
    foreign.metadata.uid = Some("map-2".to_owned());
    foreign.metadata.owner_references = None;
    let world = World::new(&[stored("a", 4), foreign.clone()], []);

    let owned = world.handle.owned::<ConfigMap>().unwrap();
    assert_eq!(owned.len(), 1);
    assert_eq!(*owned[0], stored("a", 4));
    assert_eq!(
        *world.handle.get::<ConfigMap>("foreign").unwrap().unwrap(),
        foreign
    );
    assert!(world.handle.get::<ConfigMap>("missing").unwrap().is_none());
    assert_eq!(world.handle.metadata.name.as_deref(), Some("owner"));
}

#[tokio::test]
async fn an_object_is_parsed_once_for_each_reconcile_and_version() {
    let world = World::new(&[stored("a", 4)], []);
    let owned = || world.handle.clone().owned::<ConfigMap>().unwrap().remove(0);
    let first = owned();
    // `DECODED` also counts what other tests parse meanwhile.
    assert!(Arc::ptr_eq(&first, &owned()));
    assert!(Arc::ptr_eq(
        &first,
        &world.handle.get("map").unwrap().unwrap()
    ));

    let changed = received(&stored("b", 5));
    world.maps.take(WatchEvent::Apply(changed));
    assert_eq!(*owned(), stored("b", 5));
}

#[tokio::test]
async fn what_a_controller_has_not_declared_is_an_error_that_says_what_to_add() {
    let world = World::new(&[], []);
    let handle = &world.handle;
    let pod = Pod {
        metadata: stored("a", 1).metadata,
        ..Pod::default()
    };
    let errors = [
        handle.get::<Pod>("a").unwrap_err(),
        handle.owned::<Pod>().unwrap_err(),
        handle.prune::<Pod>(&[]).await.unwrap_err(),
        handle.pods().unwrap_err(),
        handle.apply(&pod).await.unwrap_err(),
        handle.create(&pod).await.unwrap_err(),
        handle.delete_owned(&pod).await.unwrap_err(),
        // Its own kind is declared, for reading.
        handle.apply(&owner()).await.unwrap_err(),
        handle
            .using(&empty::<ConfigMap>())
            .get::<ConfigMap>("a")
            .unwrap_err(),
    ];
    for error in errors {
        let OwnedError::Undeclared(message) = &error else {
            panic!("{error}");
        };
        assert!(message.contains("`Controller::"), "{message}");
    }
    assert_eq!(world.methods(), [Method::GET; 0]);
}

#[tokio::test]
async fn of_several_caches_of_one_type_a_reconcile_chooses_one() {
    let world = World::new(&[], []);
    let kinds = [
        ApiResource::erase::<ConfigMap>(&()),
        ApiResource::erase::<Pod>(&()),
    ];
    let caches = kinds.each_ref().map(|kind| {
        let cache = Cache::<DynamicObject>::new(None, kind.clone());
        cache.keep(|_| true);
        let mut object = DynamicObject::new(&kind.plural, kind).within("here");
        object.metadata.owner_references = stored("a", 1).metadata.owner_references;
        list(&cache, &[object]);
        cache
    });
    let (secrets, mut declared) = (empty::<Secret>(), Declared::default());
    for cache in &caches {
        declared.add(cache.clone(), true);
    }
    declared.add(secrets.clone(), false);
    let context = Context {
        caches: declared,
        ..context(secrets, world.handle.client())
    };
    let handle = Handle::new(Arc::new(owner()), Arc::new(context));
    let error = handle.owned::<DynamicObject>().unwrap_err().to_string();
    assert!(
        error.contains("2 caches") && error.contains("`Handle::using`"),
        "{error}"
    );
    for (cache, kind) in caches.iter().zip(&kinds) {
        let owned = handle.using(cache).owned::<DynamicObject>().unwrap();
        assert_eq!(owned.len(), 1);
        assert_eq!(owned[0].metadata.name.as_deref(), Some(&*kind.plural));
    }
}

/// Otherwise an object that only the other cache has would look as if it did not exist.
#[tokio::test]
async fn of_an_owned_and_a_read_cache_of_one_type_a_read_by_name_says_which() {
    let world = World::new(&[], []);
    let (owned, read) = (empty::<ConfigMap>(), empty::<ConfigMap>());
    list(&owned, &[stored("a", 1)]);
    let mut declared = Declared::default();
    declared.add(owned, true);
    declared.add(read.clone(), false);
    let context = Context {
        caches: declared,
        ..context(empty::<Secret>(), world.handle.client())
    };
    let handle = Handle::new(Arc::new(owner()), Arc::new(context));
    assert_eq!(handle.owned::<ConfigMap>().unwrap().len(), 1);
    let error = handle.get::<ConfigMap>("map").unwrap_err().to_string();
    assert!(error.contains("`Handle::using`"), "{error}");
    assert!(
        handle
            .using(&read)
            .get::<ConfigMap>("map")
            .unwrap()
            .is_none()
    );
}

#[tokio::test]
async fn an_object_that_somebody_else_controls_is_not_deleted() {
    let mut foreign = stored("a", 4);
    foreign.metadata.owner_references = None;
    let world = World::new(&[foreign.clone()], []);
    let refused = world.handle.delete_owned(&foreign).await;
    assert!(matches!(refused, Err(OwnedError::NameTaken { .. })));
    assert_eq!(world.methods(), [Method::GET; 0]);
}

#[tokio::test]
async fn an_unreadable_object_is_an_error_and_not_a_missing_object() {
    let world = World::new(&[stored("a", 4)], []);
    let mut text = serde_json::to_value(stored("a", 5)).unwrap();
    text["data"] = json!(1);
    let unreadable = crate::cache::Received::read(&text.to_string()).unwrap();
    world.maps.take(WatchEvent::Apply(unreadable));

    let error = world.handle.owned::<ConfigMap>().unwrap_err();
    assert_eq!(error.to_string(), "configmaps `map` cannot be read");
    let error = world.handle.apply(&wanted("a")).await.unwrap_err();
    assert!(matches!(error, OwnedError::Unreadable { .. }));
    assert_eq!(world.methods(), [Method::GET; 0]);
}

#[tokio::test]
async fn what_is_not_wanted_is_deleted_and_shows_at_once() {
    let world = World::new(&[stored("a", 4)], [json!(stored("a", 4))]);

    let deleted = world.handle.prune::<ConfigMap>(&[]).await.unwrap();

    assert_eq!(deleted.len(), 1);
    assert!(world.handle.owned::<ConfigMap>().unwrap().is_empty());
    let requests = lock(&world.requests);
    assert_eq!(requests[0].0, Method::DELETE);
    assert_eq!(requests[0].1["preconditions"]["uid"], "map-1");
}

#[tokio::test]
async fn only_what_is_gone_no_longer_shows() {
    for (code, reason, kind, name, is_gone) in [
        (404, "NotFound", "configmaps", "map", true),
        // The API server does not serve the kind, or a webhook says so of something else.
        (404, "NotFound", "", "", false),
        (404, "NotFound", "secrets", "map", false),
        (404, "NotFound", "configmaps", "other", false),
        (409, "Conflict", "configmaps", "map", false),
    ] {
        let mut answer = status(code, reason);
        answer["details"] = json!({ "kind": kind, "name": name });
        let world = World::new(&[stored("a", 4)], [answer]);
        let deleted = world.handle.delete_owned(&stored("a", 4)).await;
        assert_eq!(deleted.is_ok(), is_gone, "{code} {kind} {name}");
        let shown = world.handle.owned::<ConfigMap>().unwrap();
        assert_eq!(shown.is_empty(), is_gone, "{code} {kind} {name}");
    }
}

/// Whoever else has removed the last finalizer, the object is gone; but not if the API server says that of something else.
#[tokio::test]
async fn a_finalizer_whose_object_has_gone_meanwhile_is_removed() {
    for (kind, name, is_gone) in [
        ("secrets", "owner", true),
        ("namespaces", "here", false),
        ("", "", false),
    ] {
        let mut answer = status(404, "NotFound");
        answer["details"] = json!({ "kind": kind, "name": name });
        let world = World::new(&[], [answer]);
        let mut deleted = json!(owner());
        deleted["metadata"]["deletionTimestamp"] = json!("2026-01-01T00:00:00Z");
        deleted["metadata"]["finalizers"] = json!(["example.com/a"]);
        let deleted: Secret = serde_json::from_value(deleted).unwrap();
        let cache = &world.handle.context.cache;
        list(cache, std::slice::from_ref(&deleted));
        let handle = Handle::new(Arc::new(deleted), world.handle.context.clone());

        let ended = handle
            .finalizer("example.com/a", pending(), async {
                Ok::<_, kube::Error>(())
            })
            .await;

        assert_eq!(ended.is_ok(), is_gone, "{kind} {name}");
        let shown = cache.entry(&Key::of(&owner()));
        assert_eq!(shown.is_none(), is_gone, "{kind} {name}");
        // The version that was cleaned up, and not a newer one.
        assert_eq!(world.meant(0).0.as_deref(), Some("3"));
    }
}

/// An operator must not let its object go, because nothing is owned any more, while something still is.
#[tokio::test]
async fn what_does_not_go_yet_is_still_owned_however_often_it_is_deleted() {
    let time = json!("2026-01-01T00:00:00Z");
    for held in [
        json!({ "deletionTimestamp": time, "finalizers": ["example.com/a"] }),
        json!({ "deletionTimestamp": time, "deletionGracePeriodSeconds": 30 }),
        // As of a Namespace.
        json!({ "deletionTimestamp": time }),
    ] {
        let mut left = json!(stored("a", 5));
        for (field, value) in held.as_object().unwrap() {
            left["metadata"][field] = value.clone();
        }
        let world = World::new(&[stored("a", 4)], [left.clone(), left.clone()]);
        for _ in 0..2 {
            world.handle.delete_owned(&stored("a", 4)).await.unwrap();
            let owned = world.handle.owned::<ConfigMap>().unwrap();
            assert_eq!(owned.len(), 1, "{held}");
            assert!(owned[0].metadata.deletion_timestamp.is_some());
        }
        let pruned = world.handle.prune::<ConfigMap>(&[]).await.unwrap();
        assert!(pruned.is_empty());
    }
    // A pod that runs nowhere goes at once.
    let mut gone = json!(stored("a", 4));
    gone["metadata"]["deletionTimestamp"] = time;
    gone["metadata"]["deletionGracePeriodSeconds"] = json!(0);
    let world = World::new(&[stored("a", 4)], [gone]);
    world.handle.delete_owned(&stored("a", 4)).await.unwrap();
    assert!(world.handle.owned::<ConfigMap>().unwrap().is_empty());
}

#[tokio::test]
async fn a_patch_that_is_no_object_is_an_error_and_is_not_sent() {
    let wrong = [
        json!("x"),
        json!(1),
        json!([]),
        json!(null),
        json!({ "metadata": "x" }),
        json!({ "metadata": null }),
    ];
    for fields in wrong {
        let world = World::new(&[], []);

        let error = world.handle.patch(fields.clone()).await.unwrap_err();

        let error = crate::chain::chain(&error);
        assert!(
            error.contains("a patch must be a JSON object"),
            "{fields}: {error}"
        );
        assert!(world.methods().is_empty());
    }
}

#[tokio::test]
async fn what_follows_a_patch_of_the_object_builds_on_it() {
    let patched = |version: u32| {
        let mut owner = json!(owner());
        owner["metadata"]["resourceVersion"] = json!(version.to_string());
        owner
    };
    let world = World::new(&[], [patched(4), patched(5), patched(6)]);
    for field in ["a", "b"] {
        let fields = json!({ "metadata": { "annotations": { field: "x" } } });
        world.handle.patch(fields).await.unwrap();
    }
    world
        .handle
        .apply_status(&json!({ "phase": "Ready" }))
        .await
        .unwrap();

    let versions: Vec<_> = (0..3)
        .map(|request| world.meant(request).0.unwrap())
        .collect();
    assert_eq!(versions, ["3", "4", "5"]);
    let shown = world
        .handle
        .context
        .cache
        .entry(&Key::of(&owner()))
        .unwrap();
    assert_eq!(&*shown.version, "6");
}

#[tokio::test]
async fn what_kubernetes_would_delete_or_never_delete_is_not_sent() {
    let world = World::new(&[], []);
    let mut elsewhere = wanted("a");
    elsewhere.metadata.namespace = Some("there".to_owned());
    for refused in [
        world.handle.apply(&elsewhere).await.err(),
        world.handle.create(&elsewhere).await.err(),
    ] {
        let error = refused.unwrap().to_string();
        let expected = "configmaps `there/map` is not in the namespace of this Secret, which therefore cannot own it";
        assert_eq!(error, expected);
    }
    assert_eq!(world.methods(), [Method::GET; 0]);
}

#[tokio::test]
async fn what_is_wanted_or_already_deleted_is_kept() {
    let mut deleted = stored("b", 5);
    deleted.metadata.name = Some("other".to_owned());
    deleted.metadata.uid = Some("map-2".to_owned());
    let time = serde_json::from_str("\"2026-01-01T00:00:00Z\"").unwrap();
    deleted.metadata.deletion_timestamp = Some(time);
    let world = World::new(&[stored("a", 4), deleted], []);

    let kept = world.handle.prune(&[Arc::new(stored("a", 4)).into()]).await;

    assert!(kept.unwrap().is_empty());
}
