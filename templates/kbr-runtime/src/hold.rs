// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects that the developer of an operator pauses, with the key `p` of `kbr dev`.

use kube::ResourceExt;

use crate::cache::Cached;

/// `kbr dev` sets it. In a cluster, only what the operator itself declares pauses an object.
const VARIABLE: &str = "KBR_DEV";

const ANNOTATION: &str = "kbr-dev/paused";

/// Whether `kbr dev` runs this process, so that it holds objects.
#[must_use]
pub fn is_on() -> bool {
    std::env::var_os(VARIABLE).is_some()
}

/// Whether the object is not to be reconciled. Its deletion always is.
pub(crate) fn is_held<K: Cached>(object: &K) -> bool {
    let annotation = object.annotations().get(ANNOTATION);
    annotation.is_some_and(|value| value == "true") && object.meta().deletion_timestamp.is_none()
}

#[cfg(test)]
mod tests;
