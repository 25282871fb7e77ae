// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use http::header::RETRY_AFTER;

use super::*;
use crate::cache::Unreadable;
use crate::logging::tests::logged;
use futures::stream;
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::core::Status;
use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener};
use std::sync::atomic::AtomicUsize;

fn watches() -> Watches {
    of(([127, 0, 0, 1], 1).into())
}

/// The watches of the API server at this address.
fn of(address: SocketAddr) -> Watches {
    let url = format!("http://{address}");
    let server = ApiServer::new(kube::Config::new(url.parse().unwrap()));
    Watches::new(
        "test",
        server,
        crate::events::Events::new(Counter::default()).0,
        metrics::Watches::default(),
    )
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
    let state = watches.state("configmaps".to_owned(), &FailingWatches::default());
    let followed = watches.keep_going(state, stream::iter(events), |_| {});
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
    assert!(follow(twice).await >= FIRST_PAUSE * 2);
}

/// Each list and watch is an effort for the API server, whatever it answers in between.
#[tokio::test(start_paused = true)]
async fn lists_that_succeed_do_not_make_the_failures_of_their_watches_the_first() {
    let expired = || [Ok(Event::Init), Ok(Event::InitDone), Err(failure(410))];
    let events = std::iter::repeat_with(expired).take(1000).flatten();
    assert!(follow(events.collect()).await >= LONGEST_PAUSE * 600);
}

#[tokio::test(start_paused = true)]
async fn a_watch_that_is_closed_at_once_without_an_error_is_retried_ever_later() {
    let state = self::watches().state("configmaps".to_owned(), &FailingWatches::default());
    let next = || lock(&state).before_watch().1;
    assert_eq!(next(), Duration::ZERO);
    // As after a change of the CRD.
    for _ in 0..SHORT_WATCHES {
        lock(&state).accepted();
        assert_eq!(next(), Duration::ZERO);
    }
    let mut total = Duration::ZERO;
    for _ in 0..10 {
        lock(&state).accepted();
        total += next();
        assert!(FailingWatches::is_any(&[lock(&state).failing.clone()]));
    }
    assert!(total >= LONGEST_PAUSE * 5, "{total:?}");
    lock(&state).accepted();
    tokio::time::advance(LONGEST_PAUSE).await;
    assert_eq!(next(), Duration::ZERO);
}

#[test]
fn no_two_operators_come_back_at_the_same_time() {
    let pauses: std::collections::BTreeSet<_> = (0..100).map(|_| backoff(2)).collect();
    assert!(pauses.len() > 20);
    let range = FIRST_PAUSE * 4 * 2 / 3..=FIRST_PAUSE * 4;
    assert!(
        pauses.iter().all(|pause| range.contains(pause)),
        "{pauses:?}"
    );
    assert!(backoff(40) <= LONGEST_PAUSE);
}

#[tokio::test(start_paused = true)]
async fn the_api_server_says_when_to_list_again() {
    let state = self::watches().state("configmaps".to_owned(), &FailingWatches::default());
    let mut state = state.lock().unwrap();
    for (value, expected) in [("5", 5), ("100000", 60)] {
        let response = Response::builder().header(RETRY_AFTER, value);
        let response = response.status(429).body(Body::empty()).unwrap();
        state.not_before = Instant::now().checked_add(asked(&response).unwrap());
        let (delay, expected) = (
            state.pause_after(&failure(429)),
            Duration::from_secs(expected),
        );
        assert!(delay >= expected && delay <= expected * 4 / 3, "{delay:?}");
    }
    assert!(state.pause_after(&failure(429)) < LONGEST_PAUSE);
    let date = Response::builder().header(RETRY_AFTER, "Fri, 31 Dec 1999 23:59:59 GMT");
    assert_eq!(asked(&date.body(Body::empty()).unwrap()), None);
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
    let selection = Selection {
        client: watches.server.client().unwrap(),
        namespace: None,
        config: watcher::Config::default(),
    };
    let failing = FailingWatches::default();
    let events = watches.watch::<ConfigMap>(selection, &(), &failing, |_| {}, |_| {});
    let follow = events.for_each(|_| std::future::ready(()));
    tokio::time::timeout(time, follow).await.unwrap_err();
    FailingWatches::is_any(&[failing])
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
    let state = self::watches().state("configmaps".to_owned(), &FailingWatches::default());
    let mut state = state.lock().unwrap();
    let mut pauses = Vec::new();
    for _ in 0..3 {
        pauses.push(state.pause_after(&failure(500)));
        state.accepted();
    }
    for (pause, longest) in pauses.iter().zip([1, 2, 4]) {
        let range = FIRST_PAUSE * longest * 2 / 3..=FIRST_PAUSE * longest;
        assert!(range.contains(pause), "{pauses:?}");
    }
    // It has lasted.
    state.accepted = Instant::now().checked_sub(LONGEST_PAUSE);
    assert!(state.pause_after(&failure(500)) <= FIRST_PAUSE);
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

/// An object that cannot be read.
fn unreadable(name: &str) -> Option<Unreadable> {
    let error = crate::reading::DecodeError {
        field: "spec.replicas".to_owned(),
        reason: "expected i32".to_owned(),
    };
    Some(Unreadable {
        key: crate::key::Key::new(None, name.to_owned()),
        reference: Default::default(),
        error,
    })
}

#[test]
fn an_unreadable_object_is_logged_with_its_field_and_counted() {
    let metrics = metrics::Metrics::new();
    let lines = logged("info".into(), || {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build();
        runtime.unwrap().block_on(async {
            let mut watches = watches();
            watches.series = metrics.watches().clone();
            let mut skipped = watches.skipped::<Deployment>(&());
            let count = || {
                let text = metrics.text().unwrap();
                let mut lines = text.lines();
                let count = lines.find_map(|line| {
                    line.strip_prefix(r#"kbr_unreadable_objects{resource="deployments.apps"} "#)
                });
                count.unwrap().to_owned()
            };
            assert_eq!(count(), "0");
            skipped.note(unreadable("bad"), 2);
            assert_eq!(count(), "2");
            skipped.note(None, 1);
            assert_eq!(count(), "1");
            drop(skipped);
            assert_eq!(count(), "0");
        });
    });

    assert_eq!(lines.len(), 1, "{lines:?}");
    assert_eq!(lines[0]["field"], "spec.replicas");
    assert_eq!(lines[0]["object"], "bad");
    assert_eq!(lines[0]["resource"], "deployments.apps");
    assert_eq!(lines[0]["skipped"], 2);
}

#[tokio::test(start_paused = true)]
async fn only_a_list_that_never_arrives_while_the_api_server_answers_ends_the_controller() {
    let cache = crate::cache::tests::empty::<ConfigMap>();
    let limit = Duration::from_secs(10);
    let (watches, sources) = (self::watches(), [(cache.source(), limit)]);
    let ends = async || {
        let ended = watches.never_listed(&sources);
        tokio::time::timeout(limit * 2, ended).await
    };
    // Nothing has been answered.
    assert!(ends().await.is_err());

    watches.server.has_answered_for(Duration::from_secs(3600));
    let reason = ends().await.unwrap();
    assert_eq!(reason, "could not list configmaps within 10s: no answer");

    crate::cache::tests::list(&cache, &[]);
    assert!(ends().await.is_err());
}

/// A list that the API server answers from its own cache may be older than what this process has written.
#[tokio::test]
async fn lists_are_the_most_recent_whatever_is_configured() {
    let any = watcher::Config::default().any_semantic();
    for config in [watcher::Config::default(), any] {
        let (asked, mut queries) = tokio::sync::mpsc::unbounded_channel();
        let service = service_fn(move |request: Request<Body>| {
            let query = request.uri().query().unwrap_or_default().to_owned();
            asked.send(query).unwrap();
            async { Err::<Response<Body>, _>(std::io::Error::other("nobody answers")) }
        });
        let selection = Selection {
            client: Client::new(service, "default"),
            namespace: None,
            config,
        };
        let failing = FailingWatches::default();
        let mut events =
            self::watches().watch::<ConfigMap>(selection, &(), &failing, |_| {}, |_| {});
        let query = tokio::select! {
            _ = async { while events.next().await.is_some() {} } => None,
            query = queries.recv() => query,
        };

        let query = query.unwrap();
        assert!(query.contains("limit="), "no list: {query}");
        assert!(!query.contains("resourceVersion"), "{query}");
    }
}
