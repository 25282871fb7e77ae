// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

async fn lines(checks: &Checks) -> String {
    checks.run(None).await.unwrap().lines()
}

async fn broken() -> Result<(), Infallible> {
    panic!("on purpose")
}

#[tokio::test]
async fn each_check_is_listed_with_its_outcome() {
    let mut checks = Checks::default();
    checks.add("good", || async { Ok::<_, Infallible>(()) });
    checks.add("bad", || async { Err("no luck") });
    checks.add("worse", broken);

    let report = checks.run(None).await.unwrap();

    let lines = report.lines();
    assert!(lines.starts_with("[+]good ok\n[-]bad failed: no luck\n[-]worse failed: "));
    assert!(lines.contains("on purpose"), "{lines}");
    let failed: Vec<_> = report.failed().map(|(name, _)| name).collect();
    assert_eq!(failed, ["bad", "worse"]);
}

#[tokio::test]
async fn a_requested_check_runs_alone() {
    let mut checks = Checks::default();
    checks.add("good", || async { Ok::<_, Infallible>(()) });
    checks.add("bad", || async { Err("no luck") });

    let report = checks.run(Some("good")).await.unwrap();

    assert_eq!(report.lines(), "[+]good ok\n");
    assert!(checks.run(Some("other")).await.is_none());
}

#[tokio::test]
async fn a_check_that_blocks_fails_in_time_and_holds_one_thread() {
    let started = Arc::new(AtomicUsize::new(0));
    let count = started.clone();
    let mut checks = Checks::default();
    checks.add("stuck", move || {
        let count = count.clone();
        async move {
            count.fetch_add(1, Ordering::SeqCst);
            std::thread::sleep(Duration::from_secs(4));
            Ok::<_, Infallible>(())
        }
    });
    checks.add("good", || async { Ok::<_, Infallible>(()) });

    for _ in 0..3 {
        let expected = "[-]stuck failed: no answer within 800ms\n[+]good ok\n";
        assert_eq!(lines(&checks).await, expected);
    }

    assert_eq!(started.load(Ordering::SeqCst), 1);
    tokio::time::sleep(Duration::from_secs(4)).await;
    // It is asked again once it has ended.
    let _ = lines(&checks).await;
    assert_eq!(started.load(Ordering::SeqCst), 2);
}
