// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Types of other operators, from their CRDs: this project refers to them, and never deploys the CRDs.

pub mod cert_manager_io;
// +kbr:scaffold:modules
