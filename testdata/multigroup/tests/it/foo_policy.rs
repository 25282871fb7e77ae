// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `foo.policy`.

mod healthcheckpolicy_controller;
// +kbr:scaffold:modules
