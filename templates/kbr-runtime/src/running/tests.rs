// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests, and what kills a task or thread in a test.

use std::cell::Cell;

use super::*;

/// How a test kills a task or thread.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Death {
    Panics,
    Ends,
}

thread_local! {
    /// What this thread kills of all that it starts.
    static DOOMED: Cell<Option<(&'static str, Death)>> = const { Cell::new(None) };
}

/// Kills what this thread starts from now on under that name, a moment after its start.
pub(crate) fn doom(name: &'static str, death: Death) {
    DOOMED.set(Some((name, death)));
}

/// `task`, unless the test that starts it has doomed it.
pub(crate) fn mortal<T>(
    name: String,
    task: impl Future<Output = T>,
    end: impl FnOnce(String) -> T,
) -> impl Future<Output = T> {
    let doomed = DOOMED.get().filter(|(doomed, _)| *doomed == name);
    async move {
        let death = async {
            match doomed {
                Some((_, death)) => {
                    tokio::time::sleep(Duration::from_millis(100)).await;
                    death
                }
                None => pending().await,
            }
        };
        tokio::select! {
            outcome = task => outcome,
            death = death => match death {
                Death::Panics => panic!("killed by a test"),
                Death::Ends => end("killed by a test".to_owned()),
            },
        }
    }
}

#[tokio::test]
async fn a_panic_is_reported_with_the_name_of_its_controller() {
    let mut running = Running::default();
    running.spawn(Part::Controller("waiting"), pending());
    running.spawn(Part::Controller("broken"), async { panic!("on purpose") });

    let error = running.ended().await.to_string();

    let expected = "controller `broken` ended: it panicked: on purpose";
    assert_eq!(error, expected);
}

#[tokio::test]
async fn finish_returns_at_once_if_nothing_runs() {
    assert!(Running::default().finish(Duration::ZERO).await.is_ok());
}
