// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;

const LIMITS: Limits = Limits {
    connections: 2,
    memory: 1000,
    reserve: 400,
    handshake: Duration::from_secs(100),
    idle: Duration::from_secs(100),
    answer: Duration::from_secs(100),
    lame_duck: Duration::ZERO,
    drain: Duration::from_secs(100),
};

/// Longer than any peer may stall, or wait.
const LONG: Duration = Duration::from_secs(3);

fn is_evicted(peer: &Peer) -> bool {
    peer.evicted.is_cancelled()
}

#[tokio::test]
async fn a_peer_that_waits_for_the_server_is_not_evicted() {
    let peers = Peers::new(LIMITS);
    let (first, second) = (peers.admit().await, peers.admit().await);
    first.work();
    first.hold(600).await.unwrap();
    second.work();

    assert!(timeout(LONG, peers.admit()).await.is_err());
    assert!(matches!(second.hold(600).await, Err(Unavailable::Now)));
    assert!(!is_evicted(&first) && !is_evicted(&second));

    drop(first);
    second.hold(600).await.unwrap();
    timeout(LONG, peers.admit()).await.unwrap();
}

#[tokio::test]
async fn the_longest_idle_connection_is_evicted() {
    let peers = Peers::new(LIMITS);
    let (first, second) = (peers.admit().await, peers.admit().await);
    assert!(timeout(Duration::ZERO, peers.admit()).await.is_err());
    assert!(is_evicted(&first) && !is_evicted(&second));

    drop(first);
    let third = timeout(LONG, peers.admit()).await.unwrap();
    // Now it has been idle for a shorter time.
    second.work();
    second.enter(Phase::Idle, None);
    assert!(timeout(Duration::ZERO, peers.admit()).await.is_err());
    assert!(is_evicted(&third) && !is_evicted(&second));
}

#[tokio::test]
async fn occasional_bytes_are_no_progress() {
    let peers = Peers::new(LIMITS);
    let (slow, fast) = (peers.admit().await, peers.admit().await);
    for peer in [&slow, &fast] {
        peer.hold(300).await.unwrap();
        peer.receive();
    }
    let begun = Instant::now();
    while begun.elapsed() < 2 * STALLED {
        tokio::time::sleep(STALLED / 20).await;
        slow.moved(1);
        fast.moved(STEP);
    }
    let mut table = peers.table();
    assert!(!table.hold(u64::MAX, 600, &LIMITS).unwrap());
    drop(table);
    assert!(is_evicted(&slow) && !is_evicted(&fast));
}

#[tokio::test]
async fn no_more_connections_are_evicted_than_necessary() {
    let peers = Peers::new(LIMITS);
    let (first, second) = (peers.admit().await, peers.admit().await);
    for peer in [&first, &second] {
        peer.hold(300).await.unwrap();
        peer.receive();
    }
    tokio::time::sleep(2 * STALLED).await;

    // Several times, as no connection has closed yet.
    for _ in 0..3 {
        assert!(!peers.table().hold(u64::MAX, 300, &LIMITS).unwrap());
    }
    assert!(is_evicted(&first) && !is_evicted(&second));
}

#[tokio::test]
async fn each_phase_has_a_time_limit() {
    let short = Duration::from_millis(1);
    let peers = Peers::new(Limits {
        handshake: short,
        ..LIMITS
    });
    let (silent, other) = (peers.admit().await, peers.admit().await);
    other.enter(Phase::Idle, Some(LONG * 100));
    tokio::time::sleep(Duration::from_millis(20)).await;
    peers.evict_overdue();
    assert!(is_evicted(&silent) && !is_evicted(&other));

    other.enter(Phase::Answering, Some(short));
    tokio::time::sleep(Duration::from_millis(20)).await;
    peers.evict_overdue();
    assert!(is_evicted(&other));
}

#[tokio::test]
async fn the_next_request_waits_until_the_last_response_is_sent() {
    let peers = Peers::new(LIMITS);
    let peer = peers.admit().await;
    peer.begin().await;
    peer.hold(600).await.unwrap();
    peer.answer(&"a".repeat(500));

    // The request was sent together with the previous one.
    assert!(
        timeout(Duration::from_millis(100), peer.begin())
            .await
            .is_err()
    );
    assert!(matches!(
        peers.table().hold(u64::MAX, 101, &LIMITS),
        Ok(false)
    ));

    peer.flushed();
    timeout(LONG, peer.begin()).await.unwrap();
    assert!(matches!(
        peers.table().hold(u64::MAX, 600, &LIMITS),
        Ok(true)
    ));
}
