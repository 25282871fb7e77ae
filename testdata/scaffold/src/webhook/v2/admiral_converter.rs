// Copyright The scaffold authors
// SPDX-License-Identifier: Apache-2.0

//! Converts `Admiral` objects between `v2` and the hub, `v1`.

use api::{v1, v2};
use kbr_runtime::Manager;
use kbr_runtime::webhook::Converter;

/// Adds this conversion to `manager`.
pub fn register(manager: &mut Manager) {
    let converter = AdmiralConverter;
    manager.webhooks().convert(converter);
}

/// Converts an `Admiral`, except for its metadata, which stays as it is.
///
/// Every field is named, so that a field that is added or renamed does not compile until it is
/// converted here. For a field that the other version does not have, write `_` where it is read, and
/// its default where it is missing: it is kept in an annotation and restored. The test of this
/// converter lists such fields, and fails for any other field that is lost.
pub struct AdmiralConverter;

impl Converter for AdmiralConverter {
    type Hub = v1::Admiral;
    type Spoke = v2::Admiral;

    fn to_hub(&self, spoke: Self::Spoke) -> Self::Hub {
        v1::Admiral {
            metadata: spoke.metadata,
            spec: spec_to_hub(spoke.spec),
            status: spoke.status.map(status_to_hub),
        }
    }

    fn to_spoke(&self, hub: Self::Hub) -> Self::Spoke {
        v2::Admiral {
            metadata: hub.metadata,
            spec: spec_to_spoke(hub.spec),
            status: hub.status.map(status_to_spoke),
        }
    }
}

fn spec_to_hub(spec: v2::AdmiralSpec) -> v1::AdmiralSpec {
    let v2::AdmiralSpec { foo: value } = spec;
    v1::AdmiralSpec { foo: value }
}

fn spec_to_spoke(spec: v1::AdmiralSpec) -> v2::AdmiralSpec {
    let v1::AdmiralSpec { foo: value } = spec;
    v2::AdmiralSpec { foo: value }
}

fn status_to_hub(status: v2::AdmiralStatus) -> v1::AdmiralStatus {
    let v2::AdmiralStatus {
        observed_generation,
        conditions,
    } = status;
    v1::AdmiralStatus {
        observed_generation,
        conditions,
    }
}

fn status_to_spoke(status: v1::AdmiralStatus) -> v2::AdmiralStatus {
    let v1::AdmiralStatus {
        observed_generation,
        conditions,
    } = status;
    v2::AdmiralStatus {
        observed_generation,
        conditions,
    }
}
