// Copyright The guestbook authors
// SPDX-License-Identifier: Apache-2.0

//! A hash of the data of a ConfigMap that pods read.
//!
//! It is stored in the cluster, so the same data must have the same hash in every release of the operator:
//! a different hash would replace all pods. Rust's own hasher does not guarantee that. This is 64-bit
//! FNV-1a. It does not withstand attacks: whoever may write the ConfigMap can search for other data with
//! the same hash, but only achieves that the pods are not replaced.

use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;

const OFFSET: u64 = 0xcbf2_9ce4_8422_2325;
const PRIME: u64 = 0x0000_0100_0000_01b3;

/// The hash of the data that becomes variables. Labels and `binaryData` do not, so they are not hashed.
pub fn of(config_map: &ConfigMap) -> String {
    let data = config_map.data.clone().unwrap_or_default();
    // As JSON, so that it is clear where a key ends and its value begins. The keys are sorted.
    let text = json!(data).to_string();
    let hash = text.bytes().fold(OFFSET, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(PRIME)
    });
    format!("{hash:016x}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_map(data: &[(&str, &str)]) -> ConfigMap {
        let data = data
            .iter()
            .map(|(key, value)| ((*key).to_owned(), (*value).to_owned()));
        ConfigMap {
            data: Some(data.collect()),
            ..ConfigMap::default()
        }
    }

    #[test]
    fn it_is_the_same_in_every_release() {
        assert_eq!(
            of(&config_map(&[("GREETING", "Hello")])),
            "3d3d7694434103b0"
        );
    }

    #[test]
    fn the_order_does_not_matter() {
        let one = config_map(&[("a", "1"), ("b", "2")]);
        let other = config_map(&[("b", "2"), ("a", "1")]);

        assert_eq!(of(&one), of(&other));
    }

    #[test]
    fn every_key_and_value_matters() {
        let all = [
            config_map(&[]),
            config_map(&[("a", "")]),
            config_map(&[("a", "1")]),
            config_map(&[("a", "2")]),
            config_map(&[("b", "1")]),
            config_map(&[("a", "1"), ("b", "")]),
            config_map(&[("a", "1b"), ("c", "")]),
            config_map(&[("a", "1"), ("bc", "")]),
        ];

        let mut hashes: Vec<_> = all.iter().map(of).collect();

        hashes.sort();
        hashes.dedup();
        assert_eq!(hashes.len(), all.len());
    }

    #[test]
    fn what_does_not_become_a_variable_does_not_matter() {
        let plain = config_map(&[]);
        let mut other = ConfigMap::default();
        other.metadata.name = Some("other".to_owned());
        other.binary_data = Some([("a".to_owned(), Default::default())].into());

        assert_eq!(of(&other), of(&plain));
    }
}
