// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Objects by their owner.

use std::collections::HashMap;
use std::sync::Arc;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{ObjectMeta, PartialObjectMeta};
use kube::core::{GroupVersion, PartialObjectMetaExt};
use kube::{Resource, ResourceExt};

/// Objects by the owner that controls them. Owners and objects are told apart by their uid.
pub(super) struct Index<K> {
    /// The objects of each owner.
    by_owner: HashMap<String, HashMap<String, Arc<K>>>,
    /// The owner of each object.
    owners: HashMap<String, String>,
}

impl<K: Resource<DynamicType = ()>> Index<K> {
    pub(super) fn new() -> Self {
        Self {
            by_owner: HashMap::new(),
            owners: HashMap::new(),
        }
    }

    /// The objects of the owner of that uid.
    pub(super) fn of(&self, uid: &str) -> impl Iterator<Item = &Arc<K>> {
        self.by_owner.get(uid).into_iter().flat_map(HashMap::values)
    }

    /// Puts an object in the place of what was known of it, which is returned. One that no `O`
    /// controls, or no longer, is not kept.
    pub(super) fn insert<O: Resource<DynamicType = ()>>(&mut self, object: K) -> Option<Arc<K>> {
        let before = self.remove(&object);
        if let (Some(uid), Some(owner)) = (object.uid(), controller::<O, K>(&object)) {
            self.owners.insert(uid.clone(), owner.clone());
            let objects = self.by_owner.entry(owner).or_default();
            objects.insert(uid, Arc::new(object));
        }
        before
    }

    /// Forgets an object; returns what was known of it.
    pub(super) fn remove(&mut self, object: &K) -> Option<Arc<K>> {
        let uid = object.meta().uid.as_ref()?;
        let owner = self.owners.remove(uid)?;
        let objects = self.by_owner.get_mut(&owner)?;
        let object = objects.remove(uid);
        if objects.is_empty() {
            self.by_owner.remove(&owner);
        }
        object
    }

    /// One object of each owner.
    pub(super) fn triggers<O: Resource<DynamicType = ()>>(
        &self,
    ) -> impl Iterator<Item = PartialObjectMeta<K>> {
        let objects = self.by_owner.values();
        let objects = objects.filter_map(|objects| objects.values().next());
        objects.map(|object| trigger::<O, K>(object))
    }
}

/// The uid of the `O` that controls `object`.
fn controller<O, K>(object: &K) -> Option<String>
where
    O: Resource<DynamicType = ()>,
    K: Resource,
{
    let mut owners = object.owner_references().iter();
    let owner = owners.find(|owner| owner.controller == Some(true))?;
    is_kind_of::<O>(owner).then(|| owner.uid.clone())
}

/// Whether an owner is an `O`. Which version of the kind is written there depends on who wrote it.
fn is_kind_of<O: Resource<DynamicType = ()>>(owner: &OwnerReference) -> bool {
    let version: Result<GroupVersion, _> = owner.api_version.parse();
    version.is_ok_and(|version| version.group == O::group(&())) && owner.kind == O::kind(&())
}

/// As much of an object as kube needs to find its owners and to name it as the reason.
///
/// kube finds no owner whose reference has another version than `O`, so each is given that.
pub(super) fn trigger<O, K>(object: &K) -> PartialObjectMeta<K>
where
    O: Resource<DynamicType = ()>,
    K: Resource,
{
    let mut owners = object.owner_references().to_vec();
    for owner in owners.iter_mut().filter(|owner| is_kind_of::<O>(owner)) {
        owner.api_version = O::api_version(&()).into_owned();
    }
    let meta = object.meta();
    let meta = ObjectMeta {
        name: meta.name.clone(),
        namespace: meta.namespace.clone(),
        owner_references: Some(owners),
        ..ObjectMeta::default()
    };
    meta.into_response_partial()
}
