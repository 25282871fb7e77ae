// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of version `v2`.

pub mod captain_converter;
// +kbr:scaffold:modules
