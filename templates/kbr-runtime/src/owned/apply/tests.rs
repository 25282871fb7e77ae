// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with answers of an API server that are written down here.

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

/// What is wanted, with that text.
fn wanted(text: &str) -> ConfigMap {
    let mut wanted = ConfigMap::default();
    wanted.metadata.name = Some("map".to_owned());
    wanted.data = Some([("text".to_owned(), text.to_owned())].into());
    wanted
}

/// The same as the API server has it, in that version.
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

/// What was asked, in order: the method, and what was sent.
type Requests = Arc<Mutex<Vec<(Method, Value)>>>;

/// An API server that gives these answers, one to a request.
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
            let answer = answer.expect("a request that nobody expects");
            let code = answer["code"].as_u64().unwrap_or(200);
            let response = Response::builder().status(u16::try_from(code).unwrap());
            let response = response.body(Body::from(answer.to_string().into_bytes()));
            Ok::<_, tower::BoxError>(response.unwrap())
        }
    });
    let client = Client::new(service, "here");
    (Api::namespaced(client, "here"), requests)
}

/// Of a patch, the object that it is meant for: its version and uid.
fn meant(request: &(Method, Value)) -> (Option<&str>, Option<&str>) {
    assert_eq!(request.0, Method::PATCH);
    let metadata = &request.1["metadata"];
    (
        metadata["resourceVersion"].as_str(),
        metadata["uid"].as_str(),
    )
}

#[tokio::test]
async fn what_is_not_there_is_created_and_nothing_else_is_written_over() {
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
async fn what_is_as_it_was_applied_costs_no_request() {
    let (api, requests) = server([json!(stored("a", 7))]);
    let cache = cache_of(&[stored("a", 7)]);
    let wanted = wanted("a");
    cache.apply(&api, &owner(), "test", &wanted).await.unwrap();

    // Such as a status, which a ConfigMap has none of.
    cache.take(Event::Apply(packed(stored("a", 8))));
    let again = cache.apply(&api, &owner(), "test", &wanted).await;

    assert_eq!(*again.unwrap(), stored("a", 8));
    assert_eq!(requests.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn drift_and_what_is_wanted_no_longer_are_written() {
    let mut more = wanted("a");
    more.metadata.labels = Some([("size".to_owned(), "large".to_owned())].into());
    let mut labelled = stored("a", 7);
    labelled.metadata.labels = more.metadata.labels.clone();
    let answers = [labelled, stored("a", 8), stored("a", 10)];
    let (api, requests) = server(answers.map(|answer| json!(answer)));
    let cache = cache_of(&[]);

    cache.apply(&api, &owner(), "test", &more).await.unwrap();
    // The label is still there, and nobody asks for it any more.
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
async fn a_name_that_another_has_is_left_alone() {
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
        "map of configmaps exists, and is not controlled by this Secret"
    );
    let requests = requests.lock().unwrap();
    let methods: Vec<_> = requests.iter().map(|(method, _)| method).collect();
    assert_eq!(methods, [Method::PATCH, Method::GET]);
}

#[tokio::test]
async fn a_cache_that_is_behind_is_no_trouble() {
    // Not shown yet: it was created by this operator, before it started anew.
    let (api, requests) = server([conflict(), json!(stored("a", 5)), json!(stored("b", 6))]);
    let applied = cache_of(&[])
        .apply(&api, &owner(), "test", &wanted("b"))
        .await;
    applied.unwrap();
    assert_eq!(
        meant(&requests.lock().unwrap()[2]),
        (Some("5"), Some("map-1"))
    );

    // Deleted, and not shown yet.
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
fn a_patch_claims_neither_the_status_nor_what_is_null() {
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
fn other_owners_stay_beside_the_one_that_controls() {
    let mut other = owner();
    other.metadata.uid = Some("other-1".to_owned());
    let mut wanted = wanted("a");
    // Of an object that was read: the present owner is there already.
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
fn what_has_gone_is_not_remembered() {
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
