// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of this project and nothing else: no client, no async runtime, no TLS.
//!
//! Other crates that read or write these resources depend on this one.

pub mod crew;
pub mod external;
pub mod fiz;
pub mod foo;
pub mod foo_policy;
pub mod sea_creatures;
pub mod ship;
// +kbr:scaffold:modules
