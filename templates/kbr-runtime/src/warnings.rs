// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What the API server warns of in its responses: a deprecated version, an unknown field, the Pod Security of a
//! namespace ([KEP-1693](https://github.com/kubernetes/enhancements/issues/1693)). kubectl prints it.

use std::collections::HashMap;
use std::sync::{Mutex, OnceLock};
use std::time::Duration;

use http::HeaderMap;
use http::header::WARNING;
use prometheus_client::metrics::counter::Counter;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::time::Instant;

use crate::lock::lock;

/// The time between two log lines with the same text.
const REMINDER: Duration = Duration::from_secs(600);

/// How many texts are remembered. A text may name an object.
const MOST: usize = 100;

/// The warnings of one API server.
#[derive(Default)]
pub(crate) struct Warnings {
    pub(crate) count: Counter,
    logged: Mutex<HashMap<String, Instant>>,
    /// A test, which is told of each warning about a write.
    test: OnceLock<UnboundedSender<String>>,
}

impl Warnings {
    /// All warnings about writes from now on, for a test.
    pub(crate) fn of_writes(&self) -> UnboundedReceiver<String> {
        let (sender, warnings) = unbounded_channel();
        // An error means that somebody else is told.
        let _ = self.test.set(sender);
        warnings
    }

    /// Counts the warnings of a response to a request with that method, and logs each that has not been logged lately.
    pub(crate) fn note(&self, method: &str, headers: &HeaderMap) {
        for warning in headers.get_all(WARNING) {
            let Some(warning) = warning.to_str().ok().and_then(text) else {
                continue;
            };
            self.count.inc();
            if let Some(test) = self.test.get().filter(|_| method != "GET") {
                // An error means that the test is over.
                let _ = test.send(warning.clone());
            }
            if self.is_due(&warning) {
                tracing::warn!(warning, "the API server warns");
            }
        }
    }

    fn is_due(&self, warning: &str) -> bool {
        let mut logged = lock(&self.logged);
        logged.retain(|_, at| at.elapsed() < REMINDER);
        if logged.contains_key(warning) || logged.len() >= MOST {
            return false;
        }
        logged.insert(warning.to_owned(), Instant::now());
        true
    }
}

/// The text of `299 - "text"`, in which quotes and backslashes are escaped (RFC 7234, 5.5).
fn text(value: &str) -> Option<String> {
    let (_, quoted) = value.split_once('"')?;
    let (mut text, mut characters) = (String::new(), quoted.chars());
    loop {
        match characters.next()? {
            '"' => return Some(text),
            '\\' => text.push(characters.next()?),
            character => text.push(character),
        }
    }
}

#[cfg(test)]
mod tests;
