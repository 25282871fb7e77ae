// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The API types of this project and nothing else: no client, no async runtime, no TLS.
//!
//! Other crates that read or write these resources depend on this one.

pub mod v1;
// +kbr:scaffold:modules
