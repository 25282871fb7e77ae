// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Converts `Captain` objects between `v2` and the hub, `v1`.

use api::crew::{v1, v2};
use kbr_runtime::Manager;
use kbr_runtime::webhook::{Converter, copy_fields};

/// Adds this conversion to `manager`.
pub fn register(manager: &mut Manager) {
    let converter = CaptainConverter;
    manager.webhooks().convert(converter);
}

/// Converts a `Captain`, except for its metadata, which stays as it is.
///
/// A field that the other version does not have is kept in an annotation and restored, so this code
/// does not need to handle it. The test of this converter lists such fields, and fails for a field
/// that is forgotten here.
pub struct CaptainConverter;

impl Converter for CaptainConverter {
    type Hub = v1::Captain;
    type Spoke = v2::Captain;

    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub {
        let mut hub = Self::Hub::new("", Default::default());
        copy_fields(&spoke, &mut hub);
        // Convert the fields here that have another name or form in `v1`.
        hub
    }

    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke {
        let mut spoke = Self::Spoke::new("", Default::default());
        copy_fields(&hub, &mut spoke);
        // Convert the fields here that have another name or form in `v2`.
        spoke
    }
}
