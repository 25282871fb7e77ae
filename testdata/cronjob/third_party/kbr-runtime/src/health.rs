// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Whether the controllers of this process get on with their work.
//!
//! A process that does not is ended by the kubelet, through `/healthz`. That helps against a fault of
//! the process, such as a reconcile that blocks its thread, and makes an outage of the API server
//! worse. So a process only counts as stuck while the API server answers.

use crate::api_server::ApiServer;
use crate::queue::Queue;

/// What is known of all controllers.
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

    /// What has not got on for too long, unless that is because the API server does not answer.
    ///
    /// Whoever acts upon it must ask the API server first: a process that is stuck does not notice an
    /// outage.
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
