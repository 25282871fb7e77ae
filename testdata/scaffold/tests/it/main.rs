// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! All tests share one environment, and each test has its own objects.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod admiral_controller;
mod admiral_v1_defaulter;
mod admiral_v1_mutating_policy;
mod admiral_v1_validating_policy;
mod admiral_v1_validator;
mod admiral_v2_converter;
mod cronjob_controller;
mod cronjob_v1_defaulter;
mod cronjob_v1_validator;
mod cronjob_v2_converter;
mod manifests;
mod pod_v1_defaulter;
mod pod_v1_validating_policy;
mod pod_v1_validator;
mod samples;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the operator running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
        env.start_operator(scaffold::register)?;
        Ok(env)
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}
