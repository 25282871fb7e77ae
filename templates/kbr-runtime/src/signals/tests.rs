// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::process::Command;
use std::time::Duration;
use tokio::sync::{Mutex, mpsc};

/// Held by each test in which a thread handles the signals of the process.
pub(crate) static ALONE: Mutex<()> = Mutex::const_new(());

fn send(signal: &str) {
    let own = std::process::id().to_string();
    let status = Command::new("kill").args([signal, &own]).status().unwrap();
    assert!(status.success());
}

#[tokio::test]
async fn the_first_signal_stops_and_the_second_ends() {
    let _alone = ALONE.lock().await;
    // Keeps a signal sent before the thread listens from ending the test process.
    let _guard = Signals::install().unwrap();
    let stop = CancellationToken::new();
    let (sender, mut ends) = mpsc::unbounded_channel();
    let _thread = listen(stop.clone(), move || sender.send(()).unwrap()).unwrap();

    while !stop.is_cancelled() {
        assert!(ends.is_empty());
        send("-TERM");
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    send("-INT");

    let ended = tokio::time::timeout(Duration::from_secs(10), ends.recv()).await;
    assert_eq!(ended, Ok(Some(())));
}
