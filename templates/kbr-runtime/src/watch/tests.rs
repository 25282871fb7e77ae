// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use crate::logging::tests::logged;
use futures::stream;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectList, WatchEvent};
use kube::core::Status;
use serde_json::{Value, json};
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};

fn deployment(name: &str, replicas: Value) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "uid": name, "resourceVersion": "1"},
        "spec": {
            "replicas": replicas,
            "selector": {},
            "template": {},
        },
    })
}

fn unreadable(decoded: &Decoded<Deployment>) -> &Unreadable {
    match decoded {
        Decoded::Object(object) => panic!("it can be read: {object:?}"),
        Decoded::Unreadable(unreadable) => unreadable,
    }
}

#[test]
fn an_unreadable_object_does_not_break_its_list() {
    let list = json!({
        "apiVersion": "apps/v1",
        "kind": "DeploymentList",
        "metadata": {"resourceVersion": "7"},
        "items": [
            deployment("good", json!(1)),
            deployment("bad", json!(5_000_000_000_i64)),
        ],
    });

    let list: ObjectList<Decoded<Deployment>> = serde_json::from_str(&list.to_string()).unwrap();

    assert!(matches!(&list.items[0], Decoded::Object(object) if object.spec.is_some()));
    let bad = unreadable(&list.items[1]);
    assert_eq!(bad.metadata.name.as_deref(), Some("bad"));
    assert_eq!(bad.error.field, "spec.replicas");
    assert_eq!(bad.error.reason, "expected i32");
}

#[test]
fn an_event_with_an_unreadable_object_is_still_an_event() {
    // The API server writes the type first.
    let object = deployment("bad", json!("hunter2"));
    let event = format!("{{\"type\": \"MODIFIED\", \"object\": {object}}}");

    let event: WatchEvent<Decoded<Deployment>> = serde_json::from_str(&event).unwrap();

    let WatchEvent::Modified(object) = event else {
        panic!("{event:?}");
    };
    let reason = &unreadable(&object).error.reason;
    assert_eq!(reason, "expected i32");
    assert_eq!(object.meta().name.as_deref(), Some("bad"));
}

#[test]
fn a_reason_never_holds_the_value() {
    let secrets = ["hunter2", "a, expected b", "x at line 1"];
    for secret in secrets {
        let text = deployment("bad", json!(secret)).to_string();
        let object: Decoded<Deployment> = serde_json::from_str(&text).unwrap();
        assert_eq!(unreadable(&object).error.reason, "expected i32");
    }
}

fn watches() -> Watches {
    of(([127, 0, 0, 1], 1).into())
}

/// The watches of the API server at this address.
fn of(address: SocketAddr) -> Watches {
    let url = format!("http://{address}");
    let server = ApiServer::new(kube::Config::new(url.parse().unwrap()));
    let recorder = Recorder::new(server.client().unwrap(), "test".into());
    Watches::new("test", server, recorder, metrics::Watches::default())
}

fn failure(code: u16) -> watcher::Error {
    let status = Status {
        code,
        message: "as it was said".to_owned(),
        ..Status::default()
    };
    watcher::Error::InitialListFailed(kube::Error::Api(status.boxed()))
}

type Events = Vec<Result<Event<ConfigMap>, watcher::Error>>;

/// Follows the events and returns how long it took.
async fn follow(events: Events) -> Duration {
    let watches = self::watches();
    let start = Instant::now();
    let followed = watches.follow("configmaps".to_owned(), stream::iter(events));
    followed.collect::<Vec<_>>().await;
    start.elapsed()
}

#[tokio::test]
async fn an_expired_resource_version_causes_no_pause() {
    assert!(follow(vec![Err(failure(410))]).await < FIRST_PAUSE);
    assert!(follow(vec![Err(failure(410)), Err(failure(410))]).await >= FIRST_PAUSE);
}

#[tokio::test]
async fn the_start_of_a_list_is_no_success() {
    let again = || vec![Ok(Event::Init), Err(failure(403))];
    let twice: Events = again().into_iter().chain(again()).collect();
    assert!(follow(twice).await >= FIRST_PAUSE * 3 - Duration::from_millis(100));
}

#[tokio::test]
async fn a_failing_watch_does_not_slow_down_others() {
    let watches = self::watches();
    let failing = stream::repeat_with(|| Err::<Event<ConfigMap>, _>(failure(403)));
    let failing = watches.follow("secrets".to_owned(), failing);
    let events = (0..100).map(|_| Ok(Event::InitDone));
    let working = watches.follow::<ConfigMap, _>("configmaps".to_owned(), stream::iter(events));
    let start = Instant::now();

    let both = stream::select(failing.map(|_| ()), working.map(|_| ()));
    both.take(100).collect::<Vec<_>>().await;

    assert!(start.elapsed() < FIRST_PAUSE, "{:?}", start.elapsed());
}

#[test]
fn a_resource_that_is_not_installed_is_reported_once() {
    let lines = logged("info".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let events = vec![Err(failure(404)), Err(failure(404)), Ok(Event::InitDone)];
            follow(events).await;
        });
    });

    assert_eq!(lines.len(), 2, "{lines:?}");
    assert_eq!(lines[0]["watch"], "configmaps");
    assert!(
        lines[0]["error"]
            .as_str()
            .unwrap()
            .contains("`make install`")
    );
    assert_eq!(lines[1]["message"], "the watch works again");
}

/// A list without objects.
const EMPTY: &str =
    r#"{"kind":"ConfigMapList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":[]}"#;

/// Answers a list with no objects, and each watch with the next of these statuses and then with nothing.
fn serve(statuses: &'static [u16]) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let watches = Arc::new(AtomicUsize::new(0));
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, watches) = (stream.unwrap(), watches.clone());
            std::thread::spawn(move || {
                let mut request = [0; 4096];
                while let Ok(length @ 1..) = stream.read(&mut request) {
                    let is_watch =
                        String::from_utf8_lossy(&request[..length]).contains("watch=true");
                    let head = "content-type: application/json\r\n";
                    let answer = if is_watch {
                        match statuses[watches.fetch_add(1, Ordering::SeqCst)] {
                            200 => format!(
                                "HTTP/1.1 200 OK\r\n{head}transfer-encoding: chunked\r\n\r\n"
                            ),
                            code => {
                                format!("HTTP/1.1 {code} No\r\n{head}content-length: 2\r\n\r\n{{}}")
                            }
                        }
                    } else {
                        let length = EMPTY.len();
                        format!("HTTP/1.1 200 OK\r\n{head}content-length: {length}\r\n\r\n{EMPTY}")
                    };
                    stream.write_all(answer.as_bytes()).unwrap();
                }
            });
        }
    });
    address
}

/// Follows a watch of this server for `time`, and returns whether it fails then.
async fn fails_after(address: SocketAddr, time: Duration) -> bool {
    let watches = of(address);
    let api = Api::<ConfigMap>::all(watches.server.client().unwrap());
    let events = watches.watch::<_, ConfigMap>(api, watcher::Config::default());
    let follow = events.for_each(|_| std::future::ready(()));
    tokio::time::timeout(time, follow).await.unwrap_err();
    watches.failing().is_any()
}

#[test]
fn a_quiet_watch_works_again_when_its_request_is_accepted() {
    let mut fails = true;
    let lines = logged("off,kbr_runtime=info".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            fails = fails_after(serve(&[500, 200]), Duration::from_secs(2)).await;
        });
    });

    assert!(!fails);
    let messages: Vec<_> = lines.iter().map(|line| &line["message"]).collect();
    let expected = [
        "a watch failed and will be retried",
        "the watch works again",
    ];
    assert_eq!(messages, expected, "{lines:?}");
}

#[tokio::test]
async fn a_watch_that_is_refused_keeps_failing() {
    let refused = &[500, 403, 429, 500, 500, 500, 500, 500];
    assert!(fails_after(serve(refused), Duration::from_secs(2)).await);
}

#[tokio::test]
async fn a_watch_that_is_accepted_and_breaks_at_once_is_retried_ever_later() {
    let state = self::watches().state("configmaps".to_owned());
    let mut state = state.lock().unwrap();
    let mut pauses = Vec::new();
    for _ in 0..3 {
        pauses.push(state.pause_after(&failure(500)));
        state.accepted();
    }
    assert_eq!(pauses, [FIRST_PAUSE, FIRST_PAUSE * 2, FIRST_PAUSE * 4]);
    // It has lasted.
    state.accepted = Instant::now().checked_sub(LONGEST_PAUSE);
    assert_eq!(state.pause_after(&failure(500)), FIRST_PAUSE);
}

#[tokio::test]
async fn a_watch_ends_before_a_load_balancer_would_end_it() {
    assert_eq!(
        bounded(watcher::Config::default()).timeout,
        Some(WATCH_SECONDS)
    );
    assert_eq!(
        bounded(watcher::Config::default().timeout(10)).timeout,
        Some(10)
    );
    assert_eq!(
        bounded(watcher::Config::default().timeout(0)).timeout,
        Some(WATCH_SECONDS)
    );
    // Whoever asks for more has no such load balancer.
    assert_eq!(
        bounded(watcher::Config::default().timeout(290)).timeout,
        Some(290)
    );
}

#[test]
fn an_unreadable_object_is_reported_once_per_version() {
    let version = |version: &str| {
        let text = deployment("bad", json!("hunter2")).to_string();
        let mut object: Decoded<Deployment> = serde_json::from_str(&text).unwrap();
        object.meta_mut().resource_version = Some(version.to_owned());
        object
    };
    let lines = logged("info".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let mut skipped = watches().skipped();
            for _ in 0..2 {
                skipped.note(&Event::Init);
                skipped.note(&Event::InitApply(version("1")));
                skipped.note(&Event::InitDone);
            }
            skipped.note(&Event::Apply(version("2")));
            skipped.note(&Event::Apply(version("2")));
            skipped.note(&Event::Delete(version("3")));
            skipped.note(&Event::Apply(version("2")));
        });
    });

    let fields: Vec<_> = lines.iter().map(|line| line["field"].clone()).collect();
    assert_eq!(fields, ["spec.replicas"; 3], "{lines:?}");
    assert_eq!(lines[0]["object"], "bad");
    assert_eq!(lines[0]["resource"], "deployments.apps");
}

#[tokio::test]
async fn unreadable_objects_are_counted_until_they_can_be_read_or_are_gone() {
    let metrics = metrics::Metrics::new();
    let mut watches = watches();
    watches.series = metrics.watches().clone();
    let mut skipped = watches.skipped::<Deployment>();
    let mut counted = |event| {
        skipped.note(&event);
        let text = metrics.text().unwrap();
        let mut lines = text.lines();
        let count = lines.find_map(|line| {
            line.strip_prefix(r#"kbr_unreadable_objects{resource="deployments.apps"} "#)
        });
        count.unwrap().to_owned()
    };
    let object = |name, replicas| {
        let text = deployment(name, replicas).to_string();
        serde_json::from_str::<Decoded<Deployment>>(&text).unwrap()
    };
    let bad = |name| object(name, json!("a"));

    assert_eq!(counted(Event::Init), "0");
    counted(Event::InitApply(bad("a")));
    counted(Event::InitApply(bad("b")));
    counted(Event::InitApply(object("c", json!(1))));
    assert_eq!(counted(Event::InitDone), "2");
    assert_eq!(counted(Event::Apply(bad("c"))), "3");
    assert_eq!(counted(Event::Apply(bad("c"))), "3");
    assert_eq!(counted(Event::Apply(object("a", json!(1)))), "2");
    assert_eq!(counted(Event::Delete(bad("b"))), "1");
    counted(Event::Init);
    assert_eq!(counted(Event::InitDone), "0");
}

/// Accepts connections and answers nothing; how many requests have arrived.
fn silent() -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, count) = (stream.unwrap(), count.clone());
            std::thread::spawn(move || {
                let mut request = [0; 16 << 10];
                while let Ok(1..) = stream.read(&mut request) {
                    count.fetch_add(1, Ordering::SeqCst);
                }
            });
        }
    });
    (address, requests)
}

#[tokio::test]
async fn events_about_unreadable_objects_are_published_one_by_one() {
    let (address, requests) = silent();
    let watches = of(address);
    let mut skipped = watches.skipped::<Deployment>();
    for number in 0..50 {
        let text = deployment(&number.to_string(), json!("a")).to_string();
        skipped.note(&Event::Apply(serde_json::from_str(&text).unwrap()));
    }

    let publish = watches.report_unreadable();
    let _ = tokio::time::timeout(Duration::from_secs(2), publish).await;

    assert_eq!(requests.load(Ordering::SeqCst), 1);
}

#[tokio::test]
async fn a_list_that_never_arrives_while_the_api_server_answers_ends_the_controller() {
    let mut watches = self::watches();
    watches.sync_limit = Duration::from_secs(1);
    watches.server.has_answered_for(Duration::from_secs(3600));
    let failing = stream::iter([Err::<Event<ConfigMap>, _>(failure(403))]).chain(stream::pending());
    let mut failing = watches.follow("configmaps".to_owned(), failing);

    let reason = tokio::select! {
        reason = watches.never_listed() => reason,
        _ = failing.next() => unreachable!(),
    };

    assert!(
        reason.starts_with("could not list configmaps within 1s: "),
        "{reason}"
    );
    assert!(reason.contains("as it was said"), "{reason}");
}

#[tokio::test]
async fn neither_a_list_that_has_arrived_nor_an_outage_ends_the_controller() {
    let mut watches = self::watches();
    watches.sync_limit = Duration::from_secs(1);
    let ends = || tokio::time::timeout(Duration::from_secs(4), watches.never_listed());
    let pending = watches.follow::<ConfigMap, _>("a".to_owned(), stream::pending());
    // Nothing has been answered.
    assert!(ends().await.is_err());
    drop(pending);

    let mut watches = self::watches();
    watches.sync_limit = Duration::from_secs(1);
    watches.server.has_answered_for(Duration::from_secs(3600));
    let listed = stream::iter([Ok(Event::<ConfigMap>::InitDone)]);
    watches
        .follow("b".to_owned(), listed)
        .collect::<Vec<_>>()
        .await;
    let ended = tokio::time::timeout(Duration::from_secs(4), watches.never_listed()).await;
    assert!(ended.is_err());
}
