// Copyright The memcached authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod memcached_controller;
// +kbr:scaffold:modules
