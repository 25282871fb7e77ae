// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v1`.

pub mod cronjob_defaulter;
pub mod cronjob_validator;
// +kbr:scaffold:modules
