// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with canned responses of an API server.

use std::collections::VecDeque;
use std::sync::Mutex;

use futures::stream;
use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::{ConfigMap, Pod, PodStatus, Secret};
use kube::Client;
use kube::client::Body;
use kube::runtime::watcher::Event;

use super::*;
use crate::owned::packed;

type Cache = Owned<Secret, ConfigMap>;

fn owner() -> Secret {
    let mut owner = Secret::default();
    owner.metadata.name = Some("owner".to_owned());
    owner.metadata.namespace = Some("here".to_owned());
    owner.metadata.uid = Some("owner-1".to_owned());
    owner
}

/// The desired object, with this text.
fn wanted(text: &str) -> ConfigMap {
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some("map".to_owned());
    wanted.data = Some([("text".to_owned(), text.to_owned())].into());
    wanted
}

/// The same object as the API server has it, in this version.
fn stored(text: &str, version: u32) -> ConfigMap {
    let mut stored = wanted(text);
    stored.metadata.namespace = Some("here".to_owned());
    stored.metadata.uid = Some("map-1".to_owned());
    stored.metadata.resource_version = Some(version.to_string());
    stored.metadata.owner_references = owner().controller_owner_ref(&()).map(|owner| vec![owner]);
    stored
}

fn cache_of(objects: &[ConfigMap]) -> Cache {
    let cache = Cache::from_stream(stream::empty());
    cache.take(Event::Init);
    for object in objects {
        cache.take(Event::InitApply(packed(object.clone())));
    }
    cache.take(Event::InitDone);
    cache
}

fn conflict() -> Value {
    json!({ "kind": "Status", "status": "Failure", "reason": "Conflict", "code": 409, "message": "" })
}

fn missing() -> Value {
    json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "code": 404, "message": "" })
}

/// The requests in order: the method, and the body.
type Requests = Arc<Mutex<Vec<(Method, Value)>>>;

/// An API server that gives these responses, one per request.
fn server(answers: impl IntoIterator<Item = Value>) -> (Api<ConfigMap>, Requests) {
    let answers = Arc::new(Mutex::new(answers.into_iter().collect::<VecDeque<_>>()));
    let requests = Requests::default();
    let asked = requests.clone();
    let service = tower::service_fn(move |request: Request<Body>| {
        let (answers, asked) = (answers.clone(), asked.clone());
        async move {
            let (parts, body) = request.into_parts();
            assert!(
                parts
                    .uri
                    .path()
                    .ends_with("/namespaces/here/configmaps/map")
            );
            let body = body.collect_bytes().await.unwrap();
            let body = serde_json::from_slice(&body).unwrap_or_default();
            asked.lock().unwrap().push((parts.method, body));
            let answer = answers.lock().unwrap().pop_front();
            let answer = answer.expect("an unexpected request");
            let code = answer["code"].as_u64().unwrap_or(200);
            let response = Response::builder().status(u16::try_from(code).unwrap());
            let response = response.body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, tower::BoxError>(response.unwrap())
        }
    });
    let client = Client::new(service, "here");
    (Api::namespaced(client, "here"), requests)
}

/// The version and uid of the object that a patch is meant for.
fn meant(request: &(Method, Value)) -> (Option<&str>, Option<&str>) {
    assert_eq!(request.0, Method::PATCH);
    let metadata = &request.1["metadata"];
    (
        metadata["resourceVersion"].as_str(),
        metadata["uid"].as_str(),
    )
}

#[tokio::test]
async fn a_missing_object_is_created_and_no_other_is_overwritten() {
    let (api, requests) = server([json!(stored("a", 7))]);
    let cache = cache_of(&[]);

    let applied = cache.apply(&api, &owner(), "test", &wanted("a")).await;

    assert_eq!(*applied.unwrap(), stored("a", 7));
    // The next reconcile sees it before the watch shows it.
    assert_eq!(cache.of(&owner()).await.unwrap().len(), 1);
    let requests = requests.lock().unwrap();
    assert_eq!(requests.len(), 1);
    assert_eq!(meant(&requests[0]), (Some("1"), None));
    let owners = &requests[0].1["metadata"]["ownerReferences"];
    assert_eq!(owners[0]["uid"], "owner-1");
    assert_eq!(owners[0]["controller"], true);
}

#[tokio::test]
async fn an_object_that_is_still_as_applied_costs_no_request() {
    let (api, requests) = server([json!(stored("a", 7))]);
    let cache = cache_of(&[stored("a", 7)]);
    let wanted = wanted("a");
    cache.apply(&api, &owner(), "test", &wanted).await.unwrap();

    // For example a change of the status, which a ConfigMap does not have.
    cache.take(Event::Apply(packed(stored("a", 8))));
    let again = cache.apply(&api, &owner(), "test", &wanted).await;

    assert_eq!(*again.unwrap(), stored("a", 8));
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn drift_and_fields_that_are_no_longer_wanted_are_written() {
    let mut more = wanted("a");
    more.metadata.labels = Some([("size".to_owned(), "large".to_owned())].into());
    let mut labelled = stored("a", 7);
    labelled.metadata.labels = more.metadata.labels.clone();
    let answers = [labelled, stored("a", 8), stored("a", 10)];
    let (api, requests) = server(answers.map(|answer| json!(answer)));
    let cache = cache_of(&[]);

    cache.apply(&api, &owner(), "test", &more).await.unwrap();
    // The object still has the label, which is no longer wanted.
    let fewer = cache.apply(&api, &owner(), "test", &wanted("a")).await;
    fewer.unwrap();
    cache.take(Event::Apply(packed(stored("drifted", 9))));
    let mended = cache.apply(&api, &owner(), "test", &wanted("a")).await;
    mended.unwrap();

    let requests = requests.lock().unwrap();
    assert_eq!(meant(&requests[1]), (Some("7"), Some("map-1")));
    assert!(requests[1].1["metadata"].get("labels").is_none());
    assert_eq!(meant(&requests[2]), (Some("9"), Some("map-1")));
}

#[tokio::test]
async fn an_object_of_somebody_else_is_left_alone() {
    let mut other = stored("other", 5);
    other.metadata.owner_references = None;
    let (api, requests) = server([conflict(), json!(other)]);

    let refused = cache_of(&[])
        .apply(&api, &owner(), "test", &wanted("a"))
        .await;

    let refused = refused.unwrap_err();
    assert!(matches!(refused, OwnedError::NameTaken { .. }));
    assert_eq!(
        refused.to_string(),
        "configmaps `map` exists, and is not controlled by this Secret"
    );
    let requests = requests.lock().unwrap();
    let methods: Vec<_> = requests.iter().map(|(method, _)| method).collect();
    assert_eq!(methods, [Method::PATCH, Method::GET]);
}

#[tokio::test]
async fn a_stale_cache_causes_no_error() {
    // Not shown yet: this operator created it before it was restarted.
    let (api, requests) = server([conflict(), json!(stored("a", 5)), json!(stored("b", 6))]);
    let applied = cache_of(&[])
        .apply(&api, &owner(), "test", &wanted("b"))
        .await;
    applied.unwrap();
    assert_eq!(
        meant(&requests.lock().unwrap()[2]),
        (Some("5"), Some("map-1"))
    );

    // Deleted, which the watch has not shown yet.
    let (api, requests) = server([conflict(), missing(), json!(stored("b", 9))]);
    let cache = cache_of(&[stored("a", 5)]);
    let applied = cache.apply(&api, &owner(), "test", &wanted("b")).await;
    applied.unwrap();
    let requests = requests.lock().unwrap();
    assert_eq!(meant(&requests[0]), (Some("5"), Some("map-1")));
    assert_eq!(meant(&requests[2]), (Some("1"), None));
}

#[tokio::test]
async fn an_object_that_changes_all_the_time_is_given_up_for_now() {
    let live = || json!(stored("a", 5));
    let (api, _) = server([conflict(), live(), conflict(), live(), conflict()]);

    let applied = cache_of(&[])
        .apply(&api, &owner(), "test", &wanted("b"))
        .await;

    let OwnedError::Apply { reason, .. } = applied.unwrap_err() else {
        panic!("not the API server's answer");
    };
    assert!(matches!(reason, kube::Error::Api(status) if status.is_conflict()));
}

#[test]
fn a_patch_has_neither_the_status_nor_null_fields() {
    let mut patch = json!({
        "spec": { "size": null, "zero": 0, "empty": {}, "list": [{ "name": "a", "port": null }] },
        "status": { "phase": "Pending" },
    });

    drop_nulls(&mut patch);

    let spec = json!({ "zero": 0, "empty": {}, "list": [{ "name": "a" }] });
    assert_eq!(patch["spec"], spec);
    let pod = Pod {
        status: Some(PodStatus::default()),
        ..Pod::default()
    };
    let patch = super::patch(&owner(), &pod).unwrap();
    assert!(patch.get("status").is_none());
    assert_eq!(patch["kind"], "Pod");
    assert_eq!(patch["apiVersion"], "v1");
}

#[test]
fn other_owners_are_kept_beside_the_controller() {
    let mut other = owner();
    other.metadata.uid = Some("other-1".to_owned());
    let mut wanted = wanted("a");
    // From an object that was read: it already has the current owner.
    wanted.metadata.owner_references = Some(
        [other.owner_ref(&()), owner().owner_ref(&())]
            .into_iter()
            .flatten()
            .collect(),
    );

    let patch = patch(&owner(), &wanted).unwrap();

    let owners = patch["metadata"]["ownerReferences"].as_array().unwrap();
    let uids: Vec<_> = owners.iter().map(|owner| &owner["uid"]).collect();
    assert_eq!(uids, ["other-1", "owner-1"]);
    assert_eq!(owners[1]["controller"], true);
}

#[test]
fn deleted_objects_are_forgotten() {
    let hashes = Hashes {
        wanted: 1,
        object: 2,
    };
    let cache = cache_of(&[stored("a", 5)]);
    cache.lock().applied.0.insert("map-1".to_owned(), hashes);
    cache.lock().applied.0.insert("gone".to_owned(), hashes);

    cache.take(Event::Init);
    cache.take(Event::InitApply(packed(stored("a", 6))));
    cache.take(Event::InitDone);

    assert!(cache.lock().applied.is("map-1", hashes));
    assert!(!cache.lock().applied.is("gone", hashes));
    cache.take(Event::Delete(packed(stored("a", 7))));
    assert!(!cache.lock().applied.is("map-1", hashes));
}
