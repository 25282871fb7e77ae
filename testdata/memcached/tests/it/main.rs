// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! One environment serves most tests, and each test has objects of its own. Another one has the
//! controllers of Kubernetes that matter here, and every pod is said to run. The tests of several
//! replicas have a third.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod earlier_release;
mod gauges;
mod manifests;
mod memcached_controller;
mod pods;
mod readme;
mod replicas;
mod samples;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_runtime::testing::{Builder, TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the operator running against it.
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
    env.start_operator(memcached::register)?;
    Ok(env)
}
