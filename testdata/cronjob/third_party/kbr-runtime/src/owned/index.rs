// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects by their owner.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::ObjectMeta;
use kube::core::GroupVersion;
use kube::runtime::reflector::ObjectRef;
use kube::{Resource, ResourceExt};

/// Objects by the owner that controls them. Owners and objects are identified by their uid.
pub(super) struct Index<K> {
    /// The objects of each owner.
    by_owner: HashMap<String, HashMap<String, Arc<K>>>,
    /// The owner of each object.
    owners: HashMap<String, String>,
}

impl<K> Default for Index<K> {
    fn default() -> Self {
        Self {
            by_owner: HashMap::new(),
            owners: HashMap::new(),
        }
    }
}

impl<K: Resource<DynamicType = ()>> Index<K> {
    /// The objects of the owner with this uid, each with its own uid.
    pub(super) fn of(&self, uid: &str) -> impl Iterator<Item = (&String, &Arc<K>)> {
        self.by_owner.get(uid).into_iter().flatten()
    }

    /// All objects, each with its uid.
    pub(super) fn all(&self) -> impl Iterator<Item = (&String, &Arc<K>)> {
        self.by_owner.values().flatten()
    }

    /// The object with this uid.
    pub(super) fn get(&self, uid: &str) -> Option<&Arc<K>> {
        self.by_owner.get(self.owners.get(uid)?)?.get(uid)
    }

    pub(super) fn contains(&self, uid: &str) -> bool {
        self.owners.contains_key(uid)
    }

    /// Replaces what was known of an object. An object that no `O` controls (any more) is not kept.
    pub(super) fn insert<O: Resource<DynamicType = ()>>(&mut self, object: K) {
        let Some(uid) = object.uid() else {
            return;
        };
        self.remove(&uid);
        if let Some(owner) = controller::<O>(object.meta()) {
            self.owners.insert(uid.clone(), owner.clone());
            let objects = self.by_owner.entry(owner).or_default();
            objects.insert(uid, Arc::new(object));
        }
    }

    /// Forgets the object with this uid; returns what was known of it.
    pub(super) fn remove(&mut self, uid: &str) -> Option<Arc<K>> {
        let owner = self.owners.remove(uid)?;
        let objects = self.by_owner.get_mut(&owner)?;
        let object = objects.remove(uid);
        if objects.is_empty() {
            self.by_owner.remove(&owner);
        }
        object
    }

    /// All owners.
    pub(super) fn triggers<O: Resource<DynamicType = ()> + 'static>(
        &self,
    ) -> impl Iterator<Item = ObjectRef<O>> {
        let objects = self.by_owner.values();
        let objects = objects.filter_map(|objects| objects.values().next());
        objects.flat_map(|object| owners::<O>(object.meta(), &()))
    }
}

/// The uid of the `O` that controls the object.
pub(super) fn controller<O: Resource<DynamicType = ()>>(object: &ObjectMeta) -> Option<String> {
    let mut owners = object.owner_references.iter().flatten();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    is_kind_of::<O>(owner, &()).then(|| owner.uid.clone())
}

/// The `O`s that own the object, whether they control it or not.
///
/// A cluster-scoped `O` has the namespace of the object here; the controller's queue corrects that.
pub(crate) fn owners<O>(object: &ObjectMeta, kind: &O::DynamicType) -> Vec<ObjectRef<O>>
where
    O: Resource,
    O::DynamicType: Clone,
{
    let owners = object.owner_references.iter().flatten();
    let owners = owners.filter(|owner| is_kind_of::<O>(owner, kind));
    owners
        .map(|owner| {
            let mut reference = ObjectRef::new_with(&owner.name, kind.clone());
            reference.namespace = object.namespace.clone();
            reference
        })
        .collect()
}

/// Whether an owner is an `O`. Its version of the kind depends on who wrote the owner reference.
fn is_kind_of<O: Resource>(owner: &OwnerReference, kind: &O::DynamicType) -> bool {
    let version: Result<GroupVersion, _> = owner.api_version.parse();
    version.is_ok_and(|version| version.group == O::group(kind)) && owner.kind == O::kind(kind)
}
