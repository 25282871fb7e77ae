// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! All tests but one of `readme` share one environment, and each test has its own objects.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod cronjob_controller;
mod cronjob_v1_defaulter;
mod cronjob_v1_validator;
mod cronjob_v2_converter;
mod manifests;
mod readme;
mod samples;
mod schedules;
mod support;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the operator running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(start);
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}

fn start() -> Result<TestEnv, TestEnvError> {
    let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
    env.start_operator(multiversion::register)?;
    Ok(env)
}
