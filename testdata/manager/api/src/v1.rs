// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `probe.example.com`.

mod task_types;
// +kbr:scaffold:modules

pub use task_types::*;
// +kbr:scaffold:exports
