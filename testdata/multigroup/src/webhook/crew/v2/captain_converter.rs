// Copyright The multigroup authors
// SPDX-License-Identifier: Apache-2.0

//! Converts `Captain` objects between `v2` and the hub, `v1`.

use api::crew::{v1, v2};
use kbr_runtime::Manager;
use kbr_runtime::webhook::Converter;

/// Adds this conversion to `manager`.
pub fn register(manager: &mut Manager) {
    let converter = CaptainConverter;
    manager.webhooks().convert(converter);
}

/// Converts a `Captain`, except for its metadata, which stays as it is.
///
/// Every field is named, so that a field that is added or renamed does not compile until it is
/// converted here. For a field that the other version does not have, write `_` where it is read, and
/// its default where it is missing: it is kept in an annotation and restored. The test of this
/// converter lists such fields, and fails for any other field that is lost.
pub struct CaptainConverter;

impl Converter for CaptainConverter {
    type Hub = v1::Captain;
    type Spoke = v2::Captain;

    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub {
        v1::Captain {
            metadata: spoke.metadata,
            spec: spec_to_hub(spoke.spec),
            status: spoke.status.map(status_to_hub),
        }
    }

    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke {
        v2::Captain {
            metadata: hub.metadata,
            spec: spec_to_spoke(hub.spec),
            status: hub.status.map(status_to_spoke),
        }
    }
}

fn spec_to_hub(spec: v2::CaptainSpec) -> v1::CaptainSpec {
    let v2::CaptainSpec { foo: value } = spec;
    v1::CaptainSpec { foo: value }
}

fn spec_to_spoke(spec: v1::CaptainSpec) -> v2::CaptainSpec {
    let v1::CaptainSpec { foo: value } = spec;
    v2::CaptainSpec { foo: value }
}

fn status_to_hub(status: v2::CaptainStatus) -> v1::CaptainStatus {
    let v2::CaptainStatus {
        observed_generation,
        conditions,
    } = status;
    v1::CaptainStatus {
        observed_generation,
        conditions,
    }
}

fn status_to_spoke(status: v1::CaptainStatus) -> v2::CaptainStatus {
    let v1::CaptainStatus {
        observed_generation,
        conditions,
    } = status;
    v2::CaptainStatus {
        observed_generation,
        conditions,
    }
}
