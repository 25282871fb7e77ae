// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The tests of the group `cert-manager`.

mod certificate_controller;
mod issuer_v1_defaulter;
mod issuer_v1_validator;
// +kbr:scaffold:modules
