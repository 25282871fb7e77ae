// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own namespace. Kubernetes' own controllers
//! create the pods of a Deployment there, and delete orphans. No container runs: a test plays the
//! kubelet, which reports pods as running.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod config_maps;
mod deletion;
mod guestbook_controller;
mod interruptions;
mod manifests;
mod ownership;
mod pods;
mod readme;
mod refusals;
mod requests;
mod samples;
mod schema;
mod support;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, Kubernetes' own controllers, and the operator.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = start()?;
        env.start_operator(guestbook::register)?;
        Ok(env)
    });
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// An environment without the operator.
fn start() -> Result<TestEnv, TestEnvError> {
    TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
        .kubernetes_controllers(&[
            "deployment-controller",
            "garbage-collector-controller",
            "replicaset-controller",
        ])
        .start()
}
