// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! The operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! One environment serves most tests, and each test has a namespace of its own. No pod runs there: a
//! test writes the status of a Deployment where Kubernetes would. Another one has the controllers of
//! Kubernetes that matter here, and every pod is said to run.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod deletion;
mod events;
mod foo_controller;
mod manifests;
mod ownership;
mod readme;
mod samples;
mod schema;
mod support;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_runtime::testing::{Builder, TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the controllers running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| start(builder()));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// Another one, as `make run-local` has it: Deployments get pods, and what has lost its owner goes.
fn kubernetes() -> &'static TestEnv {
    const CONTROLLERS: [&str; 3] = [
        "deployment-controller",
        "garbage-collector-controller",
        "replicaset-controller",
    ];
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = start(builder().kubernetes_controllers(&CONTROLLERS))?;
        env.kubelet().run_all()?;
        Ok(env)
    });
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn builder() -> Builder {
    TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
}

fn start(builder: Builder) -> Result<TestEnv, TestEnvError> {
    let env = builder.start()?;
    env.start_operator(foo::register)?;
    Ok(env)
}
