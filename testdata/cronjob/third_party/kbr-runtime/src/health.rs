// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Whether the controllers of this process make progress.
//!
//! If they do not, the kubelet ends the process because of `/healthz`. That helps against a fault of the
//! process, such as a reconcile that blocks its thread, but makes an outage of the API server worse. So a
//! process only counts as stuck while the API server answers.

use crate::api_server::ApiServer;
use crate::queue::Queue;

/// The progress of all controllers.
pub(crate) struct Health {
    server: ApiServer,
    controllers: Vec<(&'static str, Queue)>,
}

impl Health {
    pub(crate) fn new(server: ApiServer) -> Self {
        Self {
            server,
            controllers: Vec::new(),
        }
    }

    pub(crate) fn add(&mut self, controller: &'static str, queue: Queue) {
        self.controllers.push((controller, queue));
    }

    #[cfg(test)]
    pub(crate) fn server(&self) -> &ApiServer {
        &self.server
    }

    /// What has made no progress for too long, unless the cause is that the API server does not answer.
    ///
    /// Before the caller acts on it, it must check whether the API server answers: a stuck process does not
    /// notice an outage.
    pub(crate) fn stuck(&self) -> Option<String> {
        if let Some(silence) = self.server.silent_watch() {
            return Some(format!(
                "a watch has been silent for {}s",
                silence.as_secs()
            ));
        }
        let answering = self.server.answering_for();
        self.controllers.iter().find_map(|(controller, queue)| {
            let time = queue.stuck_for()?.min(answering);
            (time > queue.bound()).then(|| {
                let seconds = time.as_secs();
                format!("controller `{controller}` has work and has finished none for {seconds}s")
            })
        })
    }
}
