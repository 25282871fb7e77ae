// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! The webhooks of this project.

// +kbr:scaffold:modules
