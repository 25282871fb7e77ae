// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! One environment serves all tests, and each test has a namespace of its own.
#![allow(clippy::unwrap_used, reason = "a test fails where it can not go on")]

mod cronjob_controller;
mod kubectl;
mod manifests;
mod samples;
mod schema;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use runtime::testing::{Error, TestEnv};

/// The API server with what `config/default` installs, and the controllers running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, Error>> = LazyLock::new(|| {
        let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
        env.start_operator(cronjob::register)?;
        Ok(env)
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}
