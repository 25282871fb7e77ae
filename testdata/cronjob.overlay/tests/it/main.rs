// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! Most tests share one environment, and each test has its own namespace. The clock of the operator
//! is stopped, so that only the runs that a test makes due are due. Tests that set the clock, kill
//! the operator or kill the API server have an environment for that in their module.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod certificates;
mod clock;
mod cronjob_controller;
mod cronjob_v1_defaulter;
mod cronjob_v1_validator;
mod events;
mod interruptions;
mod kubectl;
mod manifests;
mod plan;
mod policies;
mod readme;
mod requests;
mod rollouts;
mod samples;
mod schema;
mod stale;
mod support;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_runtime::Clock;
use kbr_testing::{Builder, TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the controllers running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| start(builder()));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// Another environment, in which two of Kubernetes' own controllers run as well.
fn kubernetes() -> &'static TestEnv {
    const CONTROLLERS: [&str; 2] = ["garbage-collector-controller", "job-controller"];
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> =
        LazyLock::new(|| start(builder().kubernetes_controllers(&CONTROLLERS)));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

/// Another environment, without webhooks: it accepts objects like those stored before they existed.
fn unguarded() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> =
        LazyLock::new(|| start(builder().without_webhooks()));
    ENV.as_ref().unwrap_or_else(|error| panic!("{error}"))
}

fn builder() -> Builder {
    TestEnv::builder(env!("CARGO_MANIFEST_DIR"))
}

fn start(builder: Builder) -> Result<TestEnv, TestEnvError> {
    let env = builder.start()?;
    env.start_operator(|manager| {
        manager.set_clock(Clock::manual(support::now()).0);
        cronjob::register(manager);
    })?;
    Ok(env)
}
