// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::time::{Duration, Instant};

fn start(folder: &Path, script: &str) -> Server {
    let log = folder.join("server.log");
    let data = folder.join("data");
    std::fs::create_dir(&data).unwrap();
    Server::start("a server", Path::new("sh"), ["-c", script], log, &data).unwrap()
}

fn folder() -> super::super::folder::Folder {
    super::super::folder::Folder::create().unwrap()
}

fn within_ten_seconds(mut holds: impl FnMut() -> bool) -> bool {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(10) {
        if holds() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}

fn is_alive(pid: &str) -> bool {
    Command::new("kill")
        .args(["-0", pid])
        .stderr(Stdio::null())
        .status()
        .unwrap()
        .success()
}

#[test]
fn dropping_it_kills_the_server_and_removes_its_data() {
    let folder = folder();
    let server = start(folder.path(), "echo $$; exec sleep 1000");
    let log = folder.path().join("server.log");
    assert!(within_ten_seconds(|| std::fs::read_to_string(&log)
        .unwrap()
        .ends_with('\n')));
    let pid = std::fs::read_to_string(&log).unwrap().trim().to_owned();
    assert!(is_alive(&pid));

    drop(server);

    assert!(!is_alive(&pid));
    assert!(!folder.path().join("data").exists());
}

#[test]
fn an_end_is_reported_with_its_status_and_the_end_of_the_log() {
    let folder = folder();
    let server = start(folder.path(), "echo the cause; exit 7");

    assert!(within_ten_seconds(|| server.check().is_err()));

    let error = server.guard(&Failure::none()).unwrap_err().to_string();
    let log = folder.path().join("server.log");
    let expected = format!(
        "a server ended with exit status: 7; its log, {}, ends with\nthe cause",
        log.display()
    );
    assert_eq!(error, expected);
}
