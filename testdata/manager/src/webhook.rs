// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project, one module a version.

// +kbr:scaffold:modules
