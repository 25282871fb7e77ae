// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, with servers that stall or refuse.

use super::*;
use crate::logging::tests::logged;
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Wake;

impl ApiServer {
    /// As the flags configure it by default.
    pub(crate) fn new(config: Config) -> Self {
        Self::with_deadline(config, crate::Flags::default().request_timeout)
    }

    /// Pretends that requests have been answered for `time`.
    pub(crate) fn has_answered_for(&self, time: Duration) {
        self.lock().answers_since = Instant::now().checked_sub(time);
    }
}

const DEADLINE: Duration = Duration::from_secs(1);

/// The server waits a moment where an answer has this.
const PAUSE: char = '|';

/// A server that responds to each request with what `answer` returns for the number of its connection
/// and of the request, both counted from 0. `None` is silence.
pub(crate) fn serve(
    answer: fn(usize, usize) -> Option<&'static str>,
) -> (SocketAddr, Arc<AtomicUsize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let requests = Arc::new(AtomicUsize::new(0));
    let count = requests.clone();
    std::thread::spawn(move || {
        for (connection, stream) in listener.incoming().enumerate() {
            let count = count.clone();
            let stream = stream.unwrap();
            std::thread::spawn(move || talk(stream, connection, &count, answer));
        }
    });
    (address, requests)
}

fn talk(
    mut stream: TcpStream,
    connection: usize,
    count: &AtomicUsize,
    answer: fn(usize, usize) -> Option<&'static str>,
) {
    let mut buffer = [0; 4096];
    while stream.read(&mut buffer).is_ok_and(|length| length > 0) {
        let request = count.fetch_add(1, Ordering::SeqCst);
        let answer = answer(connection, request).unwrap_or_default();
        for (number, part) in answer.split(PAUSE).enumerate() {
            if number > 0 {
                std::thread::sleep(DEADLINE / 10);
            }
            let _ = stream.write_all(part.as_bytes());
        }
    }
}

fn of(address: SocketAddr) -> ApiServer {
    let config = Config::new(format!("http://{address}").parse().unwrap());
    ApiServer::with_deadline(config, DEADLINE)
}

async fn ask(client: &Client) -> kube::Result<String> {
    let request = Request::get("/version").body(Vec::new()).unwrap();
    client.request_text(request).await
}

const OK: &str = "HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";
const HALF: &str = "HTTP/1.1 200 OK\r\ncontent-length: 3\r\n\r\nok";
/// Half of an object, of which the rest is read before the caller is woken.
const HALF_OBJECT: &str =
    "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{\"a\":";

#[tokio::test]
async fn a_request_that_is_not_answered_ends_with_an_error() {
    for answer in [|_, _| None, |_, _| Some(HALF), |_, _| Some(HALF_OBJECT)] {
        let (address, _) = serve(answer);

        let error = ask(&of(address).client().unwrap()).await.unwrap_err();

        assert!(chain(&error).contains("no answer within 1s"), "{error}");
    }
}

#[tokio::test]
async fn a_connection_that_has_gone_silent_is_not_used_again() {
    // Only the first connection, and only after its first answer.
    let (address, _) = serve(|connection, request| (connection > 0 || request == 0).then_some(OK));
    let client = of(address).client().unwrap();
    ask(&client).await.unwrap();
    ask(&client).await.unwrap_err();

    assert_eq!(ask(&client).await.unwrap(), "ok");
}

#[tokio::test]
async fn a_slow_answer_costs_only_its_own_connection() {
    let (address, _) = serve(|_, request| (request > 0).then_some(OK));
    let server = of(address);
    let client = server.client().unwrap();
    let others = async {
        for _ in 0..6 {
            sleep(DEADLINE / 5).await;
            ask(&client).await.unwrap();
        }
    };

    let (slow, ()) = tokio::join!(ask(&client), others);

    assert!(slow.is_err());
    assert_eq!(server.lock().generation, 0);
}

#[tokio::test]
async fn if_nothing_is_answered_all_connections_are_abandoned() {
    let (address, _) = serve(|_, _| None);
    let server = of(address);

    ask(&server.client().unwrap()).await.unwrap_err();

    assert_eq!(server.lock().generation, 1);
}

#[tokio::test]
async fn at_the_end_requests_have_little_time() {
    for answer in [|_, _| None, |_, _| Some(HALF), |_, _| Some(HALF_OBJECT)] {
        let (address, _) = serve(answer);
        let config = Config::new(format!("http://{address}").parse().unwrap());
        let server = ApiServer::with_deadline(config, Duration::from_secs(3600));
        let client = server.client().unwrap();
        let end = async {
            sleep(DEADLINE).await;
            server.give_up_after(DEADLINE);
        };

        let (open, ()) = tokio::join!(ask(&client), end);
        let later = ask(&client).await;

        for outcome in [open, later] {
            let error = chain(&outcome.unwrap_err());
            assert!(error.contains("the process ends"), "{error}");
        }
        // It says nothing about the API server.
        assert!(server.answers());
    }
}

/// Webhooks still ask, and the last events are published.
#[tokio::test]
async fn at_the_end_what_is_answered_in_time_is_an_answer() {
    let (address, _) = serve(|_, _| Some(OK));
    let server = of(address);
    server.give_up_after(DEADLINE);

    assert_eq!(ask(&server.client().unwrap()).await.unwrap(), "ok");
}

#[tokio::test]
async fn a_refused_request_is_not_retried() {
    let (address, requests) = serve(|_, _| {
        Some(
            "HTTP/1.1 503 Unavailable\r\ncontent-type: application/json\r\nretry-after: 1\r\ncontent-length: 2\r\n\r\n{}",
        )
    });
    let server = of(address);

    ask(&server.client().unwrap()).await.unwrap_err();

    assert_eq!(requests.load(Ordering::SeqCst), 1);
    // It was the API server that refused.
    assert!(server.answers());
}

/// As API Priority and Fairness refuses, and as an API server that is overloaded.
#[tokio::test]
async fn a_refusal_without_a_status_says_when_to_come_back() {
    let refusals: [fn(usize, usize) -> Option<&'static str>; 2] = [
        |_, _| {
            Some(
                "HTTP/1.1 429 Too Many Requests\r\ncontent-type: text/plain; charset=utf-8\r\nretry-after: 7\r\n\
                 content-length: 8\r\n\r\nToo many",
            )
        },
        |_, _| Some("HTTP/1.1 503 Unavailable\r\nretry-after: 7\r\ncontent-length: 3\r\n\r\nbus"),
    ];
    for (refusal, expected) in refusals.into_iter().zip([429, 503]) {
        let (address, requests) = serve(refusal);

        let error = ask(&of(address).client().unwrap()).await.unwrap_err();

        let kube::Error::Api(status) = error else {
            panic!("{error}");
        };
        assert_eq!(status.code, expected);
        assert_eq!(status.details.unwrap().retry_after_seconds, 7);
        assert_eq!(requests.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test]
async fn the_time_of_the_api_server_is_that_of_its_latest_answer() {
    let (address, _) = serve(|_, request| {
        Some(match request {
            0 => OK,
            1 => {
                "HTTP/1.1 200 OK\r\ndate: Wed, 21 Oct 2015 07:28:00 GMT\r\ncontent-length: 2\r\n\r\nok"
            }
            _ => "HTTP/1.1 200 OK\r\ndate: soon\r\ncontent-length: 2\r\n\r\nok",
        })
    });
    let server = of(address);
    let client = server.client().unwrap();
    ask(&client).await.unwrap();
    assert_eq!(server.time(), None);

    for _ in 0..2 {
        ask(&client).await.unwrap();
        sleep(DEADLINE).await;
    }

    let date: Timestamp = "2015-10-21T07:28:00Z".parse().unwrap();
    let passed = server.time().unwrap().duration_since(date);
    assert!(passed >= SignedDuration::from_millis(600), "{passed}");
    assert!(passed < SignedDuration::from_mins(1), "{passed}");
}

#[tokio::test]
async fn a_response_from_a_gateway_is_not_an_answer() {
    let (address, _) = serve(|_, _| {
        Some("HTTP/1.1 503 Unavailable\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\n<>")
    });
    let server = of(address);

    ask(&server.client().unwrap()).await.unwrap_err();

    assert!(!server.answers());
}

#[test]
fn an_outage_is_logged_when_it_begins_and_when_it_ends() {
    let free = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = free.local_addr().unwrap();
    drop(free);
    let outage = async {
        let server = of(address);
        let client = server.client().unwrap();
        for _ in 0..20 {
            ask(&client).await.unwrap_err();
        }
        assert!(!server.answers());
        tokio::select! {
            () = server.report_outages(&client) => unreachable!(),
            () = sleep(Duration::from_secs(3)) => {}
        }
        let _listener = TcpListener::bind(address).unwrap();
        let listener = _listener.try_clone().unwrap();
        std::thread::spawn(move || {
            talk(
                listener.accept().unwrap().0,
                0,
                &AtomicUsize::new(0),
                |_, _| Some(OK),
            )
        });
        tokio::select! {
            () = server.report_outages(&client) => unreachable!(),
            () = server.answering(Duration::from_secs(10)) => {}
        }
        // The line comes after the answer.
        let _ = tokio::time::timeout(Duration::from_secs(1), server.report_outages(&client)).await;
        assert!(server.answers());
        assert!(server.answering_for() < Duration::from_secs(10));
    };
    let runtime = || {
        tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .unwrap()
    };

    let lines = logged("info".into(), || runtime().block_on(outage));

    let outages: Vec<_> = lines
        .iter()
        .filter(|line| line["level"] == "WARN")
        .collect();
    assert!(matches!(outages.len(), 1 | 2), "{lines:?}");
    assert_eq!(outages[0]["message"], "the API server does not answer");
    assert!(
        outages[0]["error"].as_str().unwrap().contains("refused"),
        "{lines:?}"
    );
}

#[tokio::test]
async fn a_watch_that_is_silent_past_its_bound_is_known_while_it_is_open() {
    let server = of(SocketAddr::from(([127, 0, 0, 1], 1)));
    let watch = server.open_watch(Duration::from_secs(45));
    let long_ago = || {
        Instant::now()
            .checked_sub(Duration::from_secs(106))
            .unwrap()
    };
    assert_eq!(server.silent_watch(), None);
    server.lock().watches.get_mut(&watch).unwrap().last_seen = long_ago();
    assert!(server.silent_watch().is_some());

    server.seen(watch);
    assert_eq!(server.silent_watch(), None);

    server.lock().watches.get_mut(&watch).unwrap().last_seen = long_ago();
    server.close_watch(watch);
    assert_eq!(server.silent_watch(), None);
}

#[test]
fn watches_are_distinguished_from_other_requests() {
    let kind = |uri: &str| Kind::of(&Request::get(uri).extension(OwnWatch).body(()).unwrap());
    let seconds = |seconds| Kind::Watch(Duration::from_secs(seconds));
    assert_eq!(kind("/api/v1/pods"), Kind::Answer);
    assert_eq!(kind("/api/v1/pods?limit=5"), Kind::Answer);
    assert_eq!(
        kind("/api/v1/pods?watch=true&timeoutSeconds=45"),
        seconds(45)
    );
    assert_eq!(kind("/api/v1/pods?&watch=true"), Kind::Endless);
    assert_eq!(
        kind("/api/v1/namespaces/a/pods/b/log?follow=true"),
        Kind::Endless
    );
}

/// A task may hold a watch that it does not read, and drop it at any time.
#[tokio::test]
async fn a_watch_that_is_not_of_a_cache_says_nothing_about_the_connections() {
    let other = Request::get("/api/v1/pods?watch=true&timeoutSeconds=45")
        .body(Vec::new())
        .unwrap();
    assert_eq!(Kind::of(&other), Kind::OtherWatch);
    let (address, _) = serve(|_, _| Some(HALF));
    let server = of(address);
    let watch = server
        .client()
        .unwrap()
        .request_stream(other)
        .await
        .unwrap();
    assert!(server.lock().watches.is_empty());
    drop(watch);
    assert_eq!(server.lock().generation, 0);
}

/// The connection is pooled, and the thread on which it was opened is blocked later.
#[tokio::test(flavor = "multi_thread")]
async fn a_thread_that_is_blocked_holds_no_connection() {
    let (address, _) = serve(|_, _| Some(OK));
    let client = of(address).client().unwrap();
    let reconciles = tokio::runtime::Builder::new_multi_thread();
    let reconciles = { reconciles }
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (asked, blocked) = (client.clone(), Arc::new(AtomicUsize::new(0)));
    let now = blocked.clone();
    reconciles.spawn(async move {
        ask(&asked).await.unwrap();
        now.store(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_secs(5));
    });
    while blocked.load(Ordering::SeqCst) == 0 {
        sleep(Duration::from_millis(1)).await;
    }

    assert_eq!(ask(&client).await.unwrap(), "ok");
    reconciles.shutdown_background();
}

/// Waking its caller, on another thread, costs more CPU time than sending it.
#[tokio::test]
async fn a_request_is_sent_before_its_caller_is_woken() {
    let (address, requests) = serve(|_, _| Some(OK));
    let client = of(address).client().unwrap();
    ask(&client).await.unwrap();
    let mut second = std::pin::pin!(ask(&client));
    assert!(second.as_mut().now_or_never().is_none());

    let start = Instant::now();
    while requests.load(Ordering::SeqCst) < 2 && start.elapsed() < DEADLINE {
        sleep(Duration::from_millis(1)).await;
    }

    assert_eq!(requests.load(Ordering::SeqCst), 2);
    assert_eq!(second.await.unwrap(), "ok");
}

/// Counts how often it is woken.
#[derive(Default)]
struct Count(AtomicUsize);

impl Wake for Count {
    fn wake(self: Arc<Self>) {
        self.0.fetch_add(1, Ordering::SeqCst);
    }
}

/// The first time is that of kube's client, which hands the request over to another task.
#[tokio::test(flavor = "multi_thread")]
async fn an_answer_that_arrives_in_parts_wakes_its_caller_once() {
    let (address, _) = serve(|_, _| {
        Some(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n|transfer-encoding: chunked\r\n\r\n2\r\n[1\r\n|2\r\n,2\r\n|1\r\n]\r\n|0\r\n\r\n",
        )
    });
    let client = of(address).client().unwrap();
    let asked = crate::client::send(&client, "get", Ok(Request::new(Vec::new())));
    let (count, mut answer) = (Arc::new(Count::default()), Box::pin(asked));
    let waker = count.clone().into();
    let text = loop {
        match answer.poll_unpin(&mut Context::from_waker(&waker)) {
            Poll::Ready(text) => break text.unwrap(),
            Poll::Pending => sleep(Duration::from_millis(5)).await,
        }
    };

    assert_eq!(text, "[1,2]");
    let woken = count.0.load(Ordering::SeqCst);
    assert!(woken <= 2, "{woken}");
}

/// Such as the answer of an extension API server.
#[tokio::test]
async fn a_stream_of_json_is_not_read_ahead() {
    use futures::AsyncReadExt;

    let (address, _) = serve(|_, _| {
        Some(
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n2\r\n[1\r\n",
        )
    });
    let client = of(address).client().unwrap();
    let request = Request::get("/version").body(Vec::new()).unwrap();
    let mut first = [0; 2];
    let read = async {
        let stream = client.request_stream(request).await.unwrap();
        std::pin::pin!(stream).read_exact(&mut first).await.unwrap();
    };

    timeout(DEADLINE / 2, read).await.unwrap();
    assert_eq!(first, *b"[1");
}

/// After an interruption, a watch may begin on a connection that has gone silent.
#[test]
fn a_watch_waits_less_for_its_beginning_than_a_write_for_its_webhooks() {
    let (minute, watch) = (
        Duration::from_secs(60),
        Kind::Watch(Duration::from_secs(45)),
    );
    assert_eq!(Kind::Answer.time_to_answer(minute), minute);
    assert_eq!(watch.time_to_answer(minute), minute / 2);
    assert_eq!(watch.time_to_answer(DEADLINE), DEADLINE);
}
