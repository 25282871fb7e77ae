// Copyright The myjob authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own namespace, in which it plays the kubelet.
//! Tests that stop the operator have another environment.
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

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, the operator running against it, and the
/// garbage collector of Kubernetes.
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
