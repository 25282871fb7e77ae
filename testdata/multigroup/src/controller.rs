// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod apps;
pub mod cert_manager;
pub mod core;
pub mod crew;
pub mod fiz;
pub mod foo;
pub mod foo_policy;
pub mod sea_creatures;
pub mod ship;
// +kbr:scaffold:modules
