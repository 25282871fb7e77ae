// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Tests of the operator on a real API server, as the ServiceAccount that it is deployed with.
//!
//! All tests share one environment, and each test has its own objects.
#![allow(clippy::unwrap_used, reason = "a test may panic")]

mod apps;
mod cert_manager;
mod core;
mod crew;
mod fiz;
mod foo;
mod foo_policy;
mod manifests;
mod samples;
mod sea_creatures;
mod ship;
// +kbr:scaffold:modules

use std::sync::LazyLock;

use kbr_testing::{TestEnv, TestEnvError};

/// The API server with what `config/default` installs, and the operator running against it.
fn env() -> &'static TestEnv {
    static ENV: LazyLock<Result<TestEnv, TestEnvError>> = LazyLock::new(|| {
        let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
        env.start_operator(multigroup::register)?;
        Ok(env)
    });
    match &*ENV {
        Ok(env) => env,
        Err(error) => panic!("{error}"),
    }
}
