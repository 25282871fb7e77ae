// Copyright The multiversion authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v2`.

pub mod cronjob_converter;
// +kbr:scaffold:modules
