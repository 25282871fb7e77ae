// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! API version `v1` of the group `webapp.my.domain`.

mod guestbook_types;
// +kbr:scaffold:modules

pub use guestbook_types::*;
// +kbr:scaffold:exports
