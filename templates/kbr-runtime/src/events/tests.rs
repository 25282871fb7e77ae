// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with canned responses of an API server.

use std::future::pending;
use std::sync::{Arc, Mutex};

use http::{Method, Request, Response};
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Resource;
use kube::client::Body;
use serde_json::Value;

use super::*;
use crate::lock::lock;

/// The events of a process, whose API server answers with these codes in order, and with 200 afterwards. It does not
/// answer where the code is 0.
struct World {
    events: Events,
    publisher: Publisher,
    codes: Arc<Mutex<Vec<u16>>>,
    requests: Arc<Mutex<Vec<(Method, String, Value)>>>,
}

impl World {
    fn new(codes: &[u16]) -> Self {
        let (events, publisher) = Events::new(Counter::default());
        let codes = codes.iter().rev().copied().collect();
        Self {
            events: events.of("test"),
            publisher,
            codes: Arc::new(Mutex::new(codes)),
            requests: Arc::default(),
        }
    }

    fn client(&self) -> Client {
        let (codes, requests) = (self.codes.clone(), self.requests.clone());
        let service = tower::service_fn(move |request: Request<Body>| {
            let (codes, requests) = (codes.clone(), requests.clone());
            async move {
                let (parts, body) = request.into_parts();
                let body = body.collect_bytes().await.unwrap();
                let mut body: Value = serde_json::from_slice(&body).unwrap();
                let path = parts.uri.path().to_owned();
                lock(&requests).push((parts.method, path, body.clone()));
                let code = lock(&codes).pop().unwrap_or(200);
                match code {
                    0 => pending().await,
                    200 => {
                        body["metadata"]["name"] = "stored".into();
                        body["eventTime"] = "2026-01-01T00:00:00.000000Z".into();
                    }
                    code => {
                        body = json!({ "kind": "Status", "status": "Failure", "reason": "NotFound", "code": code, "message": "" });
                    }
                }
                let response = Response::builder().status(code);
                let response = response.body(Body::from(body.to_string().into_bytes()));
                Ok::<_, tower::BoxError>(response.unwrap())
            }
        });
        Client::new(service, "default")
    }

    /// Publishes an event with this note.
    fn publish(&self, note: &str) {
        self.events.publish(event(note), object("sample"));
    }

    /// Waits until no event waits any more. Returns the methods and counts of its requests.
    async fn published(&mut self) -> Vec<(Method, i64)> {
        let (client, end) = (self.client(), CancellationToken::new());
        end.cancel();
        let server = ApiServer::new(kube::Config::new("http://127.0.0.1:1".parse().unwrap()));
        self.publisher.run(client, &server, &end).await;
        let requests = std::mem::take(&mut *lock(&self.requests)).into_iter();
        let count = |body: Value| body["series"]["count"].as_i64().unwrap_or(1);
        let requests = requests.map(|(method, _, body)| (method, count(body)));
        requests.collect()
    }

    fn dropped(&self) -> u64 {
        self.events.dropped.get()
    }
}

fn event(note: &str) -> Event {
    Event {
        type_: EventType::Warning,
        reason: "Failed".to_owned(),
        action: "Reconcile".to_owned(),
        note: Some(note.to_owned()),
        secondary: None,
    }
}

fn object(name: &str) -> ObjectReference {
    let mut object = ConfigMap::default();
    object.metadata.name = Some(name.to_owned());
    object.metadata.namespace = Some("here".to_owned());
    object.object_ref(&())
}

#[tokio::test(start_paused = true)]
async fn an_equal_event_within_six_minutes_is_a_repetition() {
    let mut world = World::new(&[]);
    world.publish("one");
    world.publish("two");
    world.publish("one");
    assert_eq!(
        world.published().await,
        [(Method::POST, 1), (Method::POST, 1), (Method::PATCH, 2)]
    );

    tokio::time::advance(REPETITION - Duration::from_secs(1)).await;
    world.publish("one");
    assert_eq!(world.published().await, [(Method::PATCH, 3)]);

    tokio::time::advance(REPETITION).await;
    world.publish("one");
    assert_eq!(world.published().await, [(Method::POST, 1)]);
}

#[tokio::test]
async fn an_event_that_is_gone_is_created_again() {
    let mut world = World::new(&[200, 404]);
    world.publish("one");
    world.publish("one");
    world.publish("one");
    let methods = [
        (Method::POST, 1),
        (Method::PATCH, 2),
        (Method::POST, 1),
        (Method::PATCH, 2),
    ];
    assert_eq!(world.published().await, methods);
    assert_eq!(world.dropped(), 0);
}

#[tokio::test(start_paused = true)]
async fn events_that_nobody_answers_delay_only_each_other() {
    let mut world = World::new(&[0, 403]);
    let start = Instant::now();
    for note in ["lost", "forbidden", "published"] {
        world.publish(note);
    }
    assert_eq!(start.elapsed(), Duration::ZERO);

    assert_eq!(world.published().await.len(), 3);
    assert_eq!(start.elapsed(), PATIENCE);
    assert_eq!(world.dropped(), 2);
}

#[tokio::test]
async fn too_many_events_are_dropped_and_counted() {
    let world = World::new(&[]);
    for number in 0..WAITING + 3 {
        world.publish(&number.to_string());
    }
    assert_eq!(world.dropped(), 3);
}

#[tokio::test]
async fn what_is_longer_than_the_api_server_accepts_is_cut_off() {
    let mut world = World::new(&[]);
    let mut long = event(&format!("a{}", "é".repeat(600)));
    (long.reason, long.action) = ("R".repeat(200), "A".repeat(200));
    let name = "n".repeat(253);
    world.events.publish(long, object(&name));
    let requests = world.requests.clone();
    let (client, end) = (world.client(), CancellationToken::new());
    end.cancel();
    let server = ApiServer::new(kube::Config::new("http://127.0.0.1:1".parse().unwrap()));
    world.publisher.run(client, &server, &end).await;

    let (_, path, sent) = lock(&requests).remove(0);
    assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/here/events");
    let length = |value: &Value| value.as_str().unwrap().len();
    assert_eq!(length(&sent["note"]), 1023);
    assert_eq!(
        (length(&sent["reason"]), length(&sent["action"])),
        (128, 128)
    );
    assert!(length(&sent["metadata"]["name"]) <= 253);
    assert_eq!(sent["regarding"]["name"], name);
}

#[tokio::test(start_paused = true)]
async fn old_events_are_forgotten() {
    let mut world = World::new(&[]);
    for number in 0..100 {
        world.publish(&number.to_string());
    }
    world.published().await;
    tokio::time::advance(REPETITION).await;
    for number in 0..100 {
        world.publish(&format!("new {number}"));
    }
    world.published().await;
    assert_eq!(world.publisher.published.len(), 100);
}
