// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! How the parts work together.
