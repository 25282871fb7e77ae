// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project.

pub mod apps;
pub mod cert_manager;
pub mod core;
pub mod crew;
pub mod fiz;
pub mod ship;
// +kbr:scaffold:modules
