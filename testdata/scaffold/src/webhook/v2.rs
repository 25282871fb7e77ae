// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v2`.

pub mod admiral_converter;
pub mod cronjob_converter;
// +kbr:scaffold:modules
