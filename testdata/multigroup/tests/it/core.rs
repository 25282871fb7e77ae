// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the API group `core`.

mod pod_v1_validator;
// +kbr:scaffold:modules
