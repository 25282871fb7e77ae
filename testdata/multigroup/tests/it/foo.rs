// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `foo`.

mod bar_controller;
// +kbr:scaffold:modules
