// Copyright The foo authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own namespace. No pod runs there: a test
//! writes the status of a Deployment in place of Kubernetes. Another environment has the controllers
//! of Kubernetes that matter here, and every pod is reported as running.
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

use kbr_testing::{Builder, TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the controllers running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| start(builder()));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// Another environment, as for `make run-local`: Deployments get pods, and orphans are garbage collected.
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
