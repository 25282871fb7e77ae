// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! The operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! One environment serves all tests, and each test has a namespace of its own, in which it plays the
//! kubelet. Tests that stop the operator have another one.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod interruptions;
mod manifests;
mod myjob_controller;
mod readme;
mod refusals;
mod samples;
mod steps;
mod support;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_runtime::testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, the operator running against it, and the
/// controller of Kubernetes that deletes what has lost its owner.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
            .kubernetes_controllers(&["garbage-collector-controller"])
            .start()?;
        env.start_operator(myjob::register)?;
        Ok(env)
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}
