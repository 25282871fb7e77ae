// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What `kbr-testing` shares with this crate, so that it converts objects, asks the API server and
//! reports errors exactly as an operator does.
//!
//! This is no part of the API: it may change in every version. So `kbr-testing` depends on one version of
//! this crate only.

pub use crate::chain::chain;
pub use crate::client::{ask_readiness, install_tls_provider};
pub use crate::diff::fields as differing_fields;
pub use crate::target::Target;
#[cfg(feature = "conversion")]
pub use crate::webhook::conversion::{Difference, Kind, Mapping, Side, rewrite};
#[cfg(feature = "manager")]
pub use crate::{
    handle::is_built_in, hold::is_on as is_run_by_kbr_dev, logging::panic_message,
    manager::warnings_of_writes,
};
