// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own objects. Another environment has the
//! controllers of Kubernetes that matter here, and every pod is reported as running. The tests of several
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

use kbr_testing::{Builder, TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the operator running against it.
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
    env.start_operator(memcached::register)?;
    Ok(env)
}
