// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Instant;

use super::*;
use crate::lock::lock;
use crate::metrics::Counts;
use crate::queue::Trigger;

const PAUSE: Duration = Duration::from_millis(200);

fn queue(names: &[&str]) -> Queue {
    let queue = Queue::new(Counts::unread());
    for name in names {
        let key = Key::new(None, (*name).to_owned());
        queue.add(&Arc::new(key), Trigger::Change);
    }
    queue
}

#[tokio::test]
async fn as_many_reconciles_run_at_once_as_there_are_workers_even_if_each_blocks_its_thread() {
    let threads = Threads::start(4).unwrap();
    let (running, most) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (stop, seen, ended) = (
        CancellationToken::new(),
        most.clone(),
        Arc::new(AtomicUsize::new(0)),
    );
    let (done, count) = (stop.clone(), ended.clone());
    let work: Work = Arc::new(move |_| {
        let (running, most) = (running.clone(), most.clone());
        let (ended, stop) = (ended.clone(), stop.clone());
        Box::pin(async move {
            most.fetch_max(running.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
            thread::sleep(PAUSE);
            running.fetch_sub(1, Ordering::SeqCst);
            if ended.fetch_add(1, Ordering::SeqCst) == 7 {
                stop.cancel();
            }
            None
        })
    });
    let names = ["a", "b", "c", "d", "e", "f", "g", "h"];

    run(queue(&names), 4, threads.handle(), work, done)
        .await
        .unwrap();

    assert_eq!(seen.load(Ordering::SeqCst), 4);
    assert_eq!(count.load(Ordering::SeqCst), 8);
}

/// The thread that is blocked may be the one that has waited for all timers.
#[tokio::test]
async fn a_reconcile_that_blocks_after_a_wait_delays_no_wait_of_another() {
    let threads = Threads::start(2).unwrap();
    let stop = CancellationToken::new();
    let (stopping, slowest) = (stop.clone(), Arc::new(Mutex::new(Duration::ZERO)));
    let noted = slowest.clone();
    let work: Work = Arc::new(move |key| {
        let (stopping, noted) = (stopping.clone(), noted.clone());
        Box::pin(async move {
            if key.name() == "blocks" {
                tokio::time::sleep(PAUSE / 7).await;
                thread::sleep(PAUSE * 10);
                return None;
            }
            for _ in 0..10 {
                let start = Instant::now();
                tokio::time::sleep(PAUSE / 10).await;
                let mut slowest = lock(&noted);
                *slowest = slowest.max(start.elapsed());
            }
            stopping.cancel();
            None
        })
    });

    let names = ["waits", "blocks"];
    run(queue(&names), 2, threads.handle(), work, stop)
        .await
        .unwrap();

    assert!(*lock(&slowest) < PAUSE * 5, "{slowest:?}");
}

#[tokio::test]
async fn reconciles_that_run_at_the_stop_end_first() {
    let threads = Threads::start(1).unwrap();
    let stop = CancellationToken::new();
    let (stopping, ended) = (stop.clone(), Arc::new(Mutex::new(Vec::new())));
    let noted = ended.clone();
    let work: Work = Arc::new(move |key| {
        let (stopping, noted) = (stopping.clone(), noted.clone());
        Box::pin(async move {
            stopping.cancel();
            tokio::time::sleep(PAUSE).await;
            lock(&noted).push(key.to_string());
            None
        })
    });

    run(queue(&["a", "b"]), 1, threads.handle(), work, stop)
        .await
        .unwrap();

    assert_eq!(*lock(&ended), ["a"]);
}

/// A task for each reconcile would wake two threads: that which begins it, and its own.
#[tokio::test]
async fn a_worker_goes_on_with_the_next_object_by_itself() {
    let threads = Threads::start(1).unwrap();
    let (stop, tasks) = (CancellationToken::new(), Arc::new(Mutex::new(Vec::new())));
    let (stopping, noted) = (stop.clone(), tasks.clone());
    let work: Work = Arc::new(move |key| {
        let (stopping, noted) = (stopping.clone(), noted.clone());
        Box::pin(async move {
            tokio::time::sleep(PAUSE / 10).await;
            lock(&noted).push(tokio::task::id());
            if key.name() == "c" {
                stopping.cancel();
            }
            None
        })
    });

    run(queue(&["a", "b", "c"]), 1, threads.handle(), work, stop)
        .await
        .unwrap();

    let tasks = lock(&tasks);
    assert_eq!(*tasks, [tasks[0]; 3]);
}

#[tokio::test]
async fn reconciles_are_dropped_at_their_await_when_the_workers_are() {
    struct Dropped(Arc<AtomicUsize>);
    impl Drop for Dropped {
        fn drop(&mut self) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let threads = Threads::start(2).unwrap();
    let (dropped, begun) = (Arc::new(AtomicUsize::new(0)), Arc::new(AtomicUsize::new(0)));
    let (count, seen) = (dropped.clone(), begun.clone());
    let work: Work = Arc::new(move |_| {
        let guard = Dropped(dropped.clone());
        begun.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            let _guard = guard;
            std::future::pending().await
        })
    });
    let queue = queue(&["a", "b", "c"]);
    let running = run(queue, 2, threads.handle(), work, CancellationToken::new());

    assert!(tokio::time::timeout(PAUSE, running).await.is_err());

    let start = Instant::now();
    while count.load(Ordering::SeqCst) < 2 && start.elapsed() < Duration::from_secs(10) {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(count.load(Ordering::SeqCst), 2);
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

/// The user's code has its panics caught: this is one of the runtime.
#[tokio::test]
async fn a_panic_around_a_reconcile_ends_the_workers_after_the_other_reconciles() {
    let threads = Threads::start(2).unwrap();
    let ended = Arc::new(Mutex::new(Vec::new()));
    let noted = ended.clone();
    let work: Work = Arc::new(move |key| {
        let noted = noted.clone();
        Box::pin(async move {
            assert_ne!(key.name(), "a", "on purpose");
            tokio::time::sleep(PAUSE).await;
            lock(&noted).push(key.to_string());
            None
        })
    });
    let (stop, queue) = (CancellationToken::new(), queue(&["b", "a", "c"]));

    let outcome = run(queue, 2, threads.handle(), work, stop.clone()).await;

    let reason = outcome.unwrap_err();
    assert!(reason.contains("on purpose"), "{reason}");
    // One still waits.
    assert_eq!(*lock(&ended), ["b"]);
    assert!(!stop.is_cancelled());
}

#[tokio::test]
async fn a_reconcile_that_blocks_its_thread_delays_no_shutdown() {
    let threads = Threads::start(1).unwrap();
    threads
        .handle()
        .spawn(async { thread::sleep(Duration::from_secs(3600)) });
    tokio::time::sleep(PAUSE).await;

    let start = Instant::now();
    drop(threads);

    assert!(start.elapsed() < Duration::from_secs(10));
}

#[test]
fn there_is_a_thread_for_each_worker() {
    for (workers, count) in [(0, 1), (1, 1), (3, 3), (usize::MAX, MOST_THREADS)] {
        let threads = Threads::start(workers).unwrap();
        assert_eq!(threads.handle().metrics().num_workers(), count);
    }
}
