// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! An API server that does not answer. Its answers are tested with a real API server, in the project
//! `manager`.

use super::*;
use futures::future::join_all;
use std::net::TcpListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

fn headers(authorization: &str) -> HeaderMap {
    let value = authorization.parse().unwrap();
    [(AUTHORIZATION, value)].into_iter().collect()
}

fn access(address: &str, patience: Duration) -> Access {
    crate::client::install_tls_provider();
    let config = Config::new(format!("http://{address}").parse().unwrap());
    Access::with_patience(config, patience).unwrap()
}

#[test]
fn a_token_is_taken_from_its_header() {
    assert_eq!(bearer(&headers("Bearer abc")), Some("abc"));
    assert_eq!(bearer(&headers("bearer  abc ")), Some("abc"));
    assert_eq!(bearer(&headers("Bearer ")), None);
    assert_eq!(bearer(&headers("Basic abc")), None);
    assert_eq!(bearer(&headers("abc")), None);
    assert_eq!(bearer(&HeaderMap::new()), None);
}

#[tokio::test]
async fn without_a_token_no_review_is_sent() {
    let access = access("127.0.0.1:1", PATIENCE);
    let refused = access.check(&HeaderMap::new(), "get", "/metrics").await;
    assert_eq!(refused, Err(Refusal::Unauthenticated));
}

#[tokio::test]
async fn a_user_who_cannot_be_checked_is_refused() {
    let access = access("127.0.0.1:1", PATIENCE);
    let refused = access.check(&headers("Bearer a"), "get", "/metrics").await;
    let expected = Refusal::Unknown("the request to the API server failed\n");
    assert_eq!(refused, Err(expected));
}

#[tokio::test]
async fn a_silent_api_server_gets_few_reviews_and_a_time_limit() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap().to_string();
    let connections = Arc::new(AtomicUsize::new(0));
    let count = connections.clone();
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            open.push(stream);
            count.fetch_add(1, Ordering::SeqCst);
        }
    });
    let access = access(&address, Duration::from_secs(2));

    let start = Instant::now();
    let checks = (0..50).map(|number| {
        let (access, headers) = (&access, headers(&format!("Bearer {number}")));
        async move { access.check(&headers, "get", "/metrics").await }
    });
    let (answers, open) = tokio::join!(join_all(checks), async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        connections.load(Ordering::SeqCst)
    });

    assert_eq!(open, REVIEWS);
    assert!(start.elapsed() < Duration::from_secs(20));
    let expected = Err(Refusal::Unknown("the API server does not answer\n"));
    assert!(
        answers.iter().all(|answer| *answer == expected),
        "{answers:?}"
    );
}
