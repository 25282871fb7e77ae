// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own namespace. Tests that need a separate
//! operator process, or a server to kill, use `support`.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod api_server;
mod bad_input;
mod certificates;
mod deleting;
mod election;
mod endless;
mod environment;
mod events;
mod fault_proxy;
mod faults;
mod kubelet;
mod manifests;
mod metrics;
mod namespaces;
mod operator;
mod orphans;
mod owned;
mod panics;
mod pause;
mod plan;
mod privileges;
mod queue;
mod references;
mod retries;
mod samples;
mod service_accounts;
mod signals;
mod support;
mod taking_over;
mod task_controller;
mod tasks;
mod versions;
mod watches;
mod webhooks;
mod workers;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the controllers running against it,
/// together with some of Kubernetes' own.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
            .kubernetes_controllers(&[
                "deployment-controller",
                "garbage-collector-controller",
                "job-controller",
                "replicaset-controller",
            ])
            .start()?;
        env.start_operator(manager::register)?;
        Ok(env)
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}
