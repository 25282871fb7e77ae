// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v1`.

pub mod admiral_defaulter;
pub mod admiral_validator;
pub mod cronjob_defaulter;
pub mod cronjob_validator;
pub mod pod_defaulter;
pub mod pod_validator;
// +kbr:scaffold:modules
