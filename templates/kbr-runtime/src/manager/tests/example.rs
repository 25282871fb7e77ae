// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Runs the example of [`Manager::add_task`] as it is documented, with a slow API server.

// The name by which the example knows this crate.
extern crate self as kbr_runtime;

use super::{GRACE, ONE_LATE, answered, run};

include!("../add_task.txt");

#[tokio::test]
async fn the_example_of_a_task_removes_nothing_that_the_cluster_has() {
    let mut manager = answered(|_, request| (request == 0).then_some(ONE_LATE));
    let all = ["a", "gone"].map(str::to_owned);
    let entries = Arc::new(Mutex::new(BTreeSet::from(all)));
    register(&mut manager, entries.clone());
    let stop = manager.stop_token();

    let (outcome, ()) = tokio::join!(run(&mut manager), async {
        while entries.lock().unwrap().contains("gone") {
            tokio::time::sleep(GRACE / 10).await;
        }
        stop.cancel();
    });

    assert!(outcome.is_ok(), "{outcome:?}");
    assert_eq!(*entries.lock().unwrap(), BTreeSet::from(["a".to_owned()]));
}
