// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use std::sync::{Arc, Mutex};

#[derive(Clone, Default)]
struct Buffer(Arc<Mutex<Vec<u8>>>);

impl io::Write for Buffer {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// The lines that `action` logs as JSON on this thread.
pub(crate) fn logged(filter: EnvFilter, action: impl FnOnce()) -> Vec<serde_json::Value> {
    // tracing remembers for all threads that nobody listens to a message. With a logger for all of
    // them, a test on another thread cannot cause that.
    let everything = EnvFilter::new("trace");
    let global = lines(
        LogFormat::Json,
        TimeEncoding::default(),
        false,
        everything,
        io::sink,
    );
    let _ = tracing::subscriber::set_global_default(subscriber(vec![global]));

    let buffer = Buffer::default();
    let writer = buffer.clone();
    let local = lines(
        LogFormat::Json,
        TimeEncoding::default(),
        false,
        filter,
        move || writer.clone(),
    );
    tracing::subscriber::with_default(subscriber(vec![local]), action);
    let bytes = buffer.0.lock().unwrap();
    let lines = bytes.split_inclusive(|byte| *byte == b'\n');
    lines
        .map(|line| serde_json::from_slice(line).unwrap())
        .collect()
}

#[test]
fn the_format_follows_the_flag_then_the_terminal() {
    use LogFormat::{Json, Text};
    assert_eq!(format(None, true), Text);
    assert_eq!(format(None, false), Json);
    assert_eq!(format(Some(Json), true), Json);
    assert_eq!(format(Some(Text), false), Text);
}

#[test]
fn rust_log_refines_or_overrides_the_level() {
    // Whether debug messages of this module and of another pass.
    let passes = |rust_log| {
        let filter = filter(LevelFilter::INFO, rust_log).unwrap();
        let lines = logged(filter, || {
            tracing::debug!("mine");
            tracing::debug!(target: "other", "theirs");
        });
        let has = |message| lines.iter().any(|line| line["message"] == message);
        (has("mine"), has("theirs"))
    };
    assert_eq!(passes(""), (false, false));
    assert_eq!(passes("other=debug"), (false, true));
    assert_eq!(passes("debug"), (true, true));
    assert_eq!(passes("debug,other=error"), (true, false));
}

#[test]
fn failed_requests_are_logged_by_their_callers_only() {
    let request_fails = || tracing::error!(target: "kube_client::client::builder", "failed");
    let count = |level, rust_log| logged(filter(level, rust_log).unwrap(), request_fails).len();
    assert_eq!(count(LevelFilter::INFO, ""), 0);
    assert_eq!(count(LevelFilter::DEBUG, ""), 1);
    assert_eq!(count(LevelFilter::INFO, "info"), 1);
}

#[test]
fn rust_log_can_be_wrong() {
    assert!(filter(LevelFilter::INFO, "other=loud").is_err());
}

#[test]
fn a_level_that_is_set_later_is_a_level_or_directives() {
    let same = |text: &str, other: EnvFilter| {
        assert_eq!(wanted(text).unwrap().to_string(), other.to_string());
    };
    same("debug\n", filter(LevelFilter::DEBUG, "").unwrap());
    same("warn", filter(LevelFilter::WARN, "").unwrap());
    same("info,kube=debug", EnvFilter::new("info,kube=debug"));
    same("[a{b}]=trace", EnvFilter::new("[a{b}]=trace"));
    for text in ["", "loud", "info,", "info,loud", "kube=loud"] {
        let error = wanted(text).unwrap_err();
        assert!(error.starts_with(&format!("`{text}`: ")), "{error}");
    }
}

#[test]
fn a_json_line_holds_message_fields_and_span() {
    let lines = logged(EnvFilter::new("info"), || {
        let _span = tracing::error_span!("reconcile", object = "default/a").entered();
        tracing::info!(count = 3, "done");
    });

    assert_eq!(lines.len(), 1);
    assert_eq!(lines[0]["level"], "INFO");
    assert_eq!(lines[0]["message"], "done");
    assert_eq!(lines[0]["count"], 3);
    assert_eq!(lines[0]["spans"][0]["object"], "default/a");
}

#[test]
fn the_object_is_named_whatever_spans_are_inside() {
    let lines = logged(EnvFilter::new("debug"), || {
        let _outer = tracing::error_span!("reconcile", object = "default/a").entered();
        let _inner = tracing::debug_span!("HTTP", url = "/api").entered();
        tracing::debug!("requesting");
    });

    assert_eq!(lines[0]["spans"][0]["object"], "default/a");
    assert_eq!(lines[0]["spans"][1]["url"], "/api");
}

#[test]
fn the_body_of_an_answer_is_not_logged_at_any_level() {
    for rust_log in ["trace", "kube_client=trace", "kube_client::client=trace"] {
        let lines = logged(filter(LevelFilter::TRACE, rust_log).unwrap(), || {
            tracing::warn!(target: "kube_client::client", "{}, {:?}", "a secret", "an error");
        });
        assert!(lines.is_empty(), "{lines:?}");
    }
}

#[test]
fn both_kinds_of_panic_text_are_found() {
    assert_eq!(panic_message(&"static"), "static");
    assert_eq!(panic_message(&"owned".to_owned()), "owned");
    assert_eq!(panic_message(&7), "no message");
}
