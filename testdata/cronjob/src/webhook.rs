// Copyright The cronjob authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project.

pub mod v1;
// +kbr:scaffold:modules
