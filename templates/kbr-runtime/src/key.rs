// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The unique name of an object of a kind, and indexes of such names.

use std::any::TypeId;
use std::borrow::Borrow;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::Hash;
use std::sync::Arc;

use kube::Resource;
use kube::api::ObjectMeta;
use kube::core::ClusterResourceScope;

/// The name of an object; prints as `namespace/name`, or `name` without a namespace.
#[derive(Clone, Debug, Eq, Hash, Ord, PartialEq, PartialOrd)]
pub(crate) struct Key {
    namespace: Option<String>,
    name: String,
}

impl Key {
    pub(crate) fn new(namespace: Option<String>, name: String) -> Self {
        Self { namespace, name }
    }

    /// The name of a `K`, which has a namespace unless the kind is cluster-scoped.
    pub(crate) fn within<K: Resource<Scope: 'static>>(namespace: Option<&str>, name: &str) -> Self {
        let is_cluster_wide = TypeId::of::<K::Scope>() == TypeId::of::<ClusterResourceScope>();
        Self {
            namespace: namespace.filter(|_| !is_cluster_wide).map(str::to_owned),
            name: name.to_owned(),
        }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    pub(crate) fn of<K: Resource>(object: &K) -> Self {
        Self::of_meta(object.meta())
    }

    pub(crate) fn of_meta(metadata: &ObjectMeta) -> Self {
        Self {
            namespace: metadata.namespace.clone(),
            name: metadata.name.clone().unwrap_or_default(),
        }
    }
}

impl fmt::Display for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(&self.name)
    }
}

/// The objects that each term finds.
pub(crate) type Index<T> = HashMap<T, BTreeSet<Arc<Key>>>;

/// `term` no longer finds the object.
pub(crate) fn unindex<T, Q>(index: &mut Index<T>, term: &Q, object: &Key)
where
    T: Borrow<Q> + Eq + Hash,
    Q: Eq + Hash + ?Sized,
{
    if let Some(objects) = index.get_mut(term) {
        objects.remove(object);
        if objects.is_empty() {
            index.remove(term);
        }
    }
}
/// Whether it is a DNS subdomain (RFC 1123), as names of Leases are.
pub(crate) fn is_name(name: &str) -> bool {
    let is_label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
        label.bytes().all(allowed)
            && !label.is_empty()
            && !label.starts_with('-')
            && !label.ends_with('-')
    };
    name.len() <= 253 && name.split('.').all(is_label)
}
