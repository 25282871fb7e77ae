// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The controllers of this project.

pub mod guestbook_controller;
// +kbr:scaffold:modules
