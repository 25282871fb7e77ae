// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Writing an owned object, without ever changing an object of somebody else.
//!
//! Each request is conditional on what the cache knows of the object. A server-side apply creates an object that
//! does not exist, so a request that must create it has a resource version that no object has: it is refused if
//! the name has been taken in the meantime. After a refusal, the cache is asked again once it knows more.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
use kube::api::{Patch, PostParams};
use kube::core::Request;
use kube::{Resource, ResourceExt};
use serde::Serialize;
use serde_json::{Value, json};

use super::answer::Answer;
use super::declared::Use;
use super::{Applied, Handle, Outcome, OwnedError, changed};
use crate::cache::{Cache, Cached, Entry, Received};
use crate::client::send;
use crate::key::Key;
use crate::lock::lock;
use crate::reading::{hash_of, write_value};

/// How many times to try to write an object that others change at the same time.
const ATTEMPTS: usize = 3;

/// How long to wait for the cache to show an object that the API server has.
const PATIENCE: Duration = Duration::from_secs(2);

/// A version that no object has: the first one that etcd assigns is 2.
const NO_VERSION: &str = "1";

/// The last apply of each object, by its uid.
pub(crate) type Applies = HashMap<Box<str>, Settled>;

/// What was applied, and what the object was after it.
#[derive(Clone)]
pub(crate) struct Settled {
    wanted: u64,
    /// The object without the fields that others write all the time.
    object: u64,
    /// The newest version known to be such an object.
    version: Box<str>,
}

impl<K: Cached> Handle<K> {
    /// Makes an object match `wanted`, which has its name, under the control of this object. Returns the resulting
    /// object, and whether it was created or changed.
    ///
    /// This is a [server-side apply] with force: it creates the object, changes the fields that are in `wanted`, and
    /// removes those that the controller applied before and that are no longer in `wanted`, or that were written by who
    /// is named in [`Controller::takes_over`](crate::Controller::takes_over). All other fields stay. So leave out what others may decide, such as
    /// `replicas` if there is an autoscaler. The status and `null` values are not written; a field that the Rust
    /// type requires is written even if it is empty. The owner reference has `blockOwnerDeletion`, as that of
    /// controller-runtime does: a foreground deletion of the owner waits for the object.
    ///
    /// An object of that name that this object does not control is left alone: no object of somebody else is taken
    /// over, even if it appears at the same moment. No request is sent for an object that is still as it was after
    /// the last apply of the same `wanted`, except once after the operator starts.
    ///
    /// The role must allow `create` and `patch` in addition to `list` and `watch`, and `update` on the finalizers of
    /// this object's kind, which [OwnerReferencesPermissionEnforcement] asks for.
    ///
    /// # Errors
    ///
    /// [`OwnedError::NameTaken`] if an object of that name exists that this object does not control: report it in the
    /// status. The object is reconciled again when the name becomes free. [`OwnedError::OtherNamespace`] if this object
    /// is in a namespace and the other one is not in the same. [`OwnedError::Unreadable`] if it does not fit its Rust
    /// type, and [`OwnedError::Apply`] with the API server's error if it refuses. [`OwnedError::Undeclared`] if the
    /// controller was not given a cache of `T` with [`Controller::owns`](crate::Controller::owns).
    ///
    /// [server-side apply]: https://kubernetes.io/docs/reference/using-api/server-side-apply/
    /// [OwnerReferencesPermissionEnforcement]: https://kubernetes.io/docs/reference/access-authn-authz/admission-controllers/
    #[doc(alias = "CreateOrUpdate")]
    #[doc(alias = "CreateOrPatch")]
    pub async fn apply<T: Cached + Serialize>(&self, wanted: &T) -> Result<Applied<T>, OwnedError> {
        let mut child = self.child(wanted)?;
        let mut known = self.known(&child)?;
        let hash = hash_of(&child.fields);
        if let Some(known) = &known
            && self.is_applied(known, hash)
        {
            let object = self.read(child.cache, &child.key, known.clone())?;
            return Ok(object.into());
        }
        let params = self.context.params().force();
        let mut attempt = 0;
        loop {
            attempt += 1;
            let sent = async {
                let known = self.take_over(child.cache, &child.key, known.clone());
                restrict(&mut child.fields, known.await?.as_deref());
                let patch = Patch::Apply(&child.fields);
                let context = &self.context;
                context
                    .patch(child.cache, &child.key, None, &params, patch)
                    .await
            };
            match sent.await {
                Ok(answer) => {
                    let object = child.open(&answer.object)?;
                    let written = self.wrote(&child, answer.object, &object);
                    self.note(&child, &written, hash);
                    let outcome = Outcome::of(known.as_deref(), &written);
                    child.tell(known.as_deref(), &written, outcome);
                    return Ok(Applied { object, outcome });
                }
                Err(kube::Error::Api(status)) if status.code == 409 && attempt < ATTEMPTS => {}
                Err(reason) => return Err(self.refused(&child, reason)),
            }
            known = self.newer(&child, known.as_deref()).await?;
        }
    }

    /// Creates an object, which `wanted` describes completely, under the control of this object. Returns `None` if
    /// this object already controls an object of that name, which is left as it is.
    ///
    /// It is for objects that are not changed afterwards, such as a Job. The role must allow `create` in addition to
    /// `list` and `watch`, and `update` on the finalizers of this object's kind.
    ///
    /// # Errors
    ///
    /// As those of [`Handle::apply`]. [`OwnedError::Apply`] with 409 `AlreadyExists` means that the cache does not show
    /// the object of that name even after two seconds.
    pub async fn create<T: Cached + Serialize>(
        &self,
        wanted: &T,
    ) -> Result<Option<Arc<T>>, OwnedError> {
        let child = self.child(wanted)?;
        if self.known(&child)?.is_some() {
            return Ok(None);
        }
        let params = PostParams {
            field_manager: self.context.params().field_manager,
            ..PostParams::default()
        };
        let created = async {
            let path = T::url_path(child.cache.kind(), child.key.namespace());
            let body = serde_json::to_vec(&child.fields).map_err(kube::Error::SerdeError)?;
            let request = Request::new(path).create(&params, body);
            Answer::read(&send(&self.context.client, "create", request).await?)
        };
        match created.await {
            Ok(answer) => {
                let object = child.open(&answer.object)?;
                let written = self.wrote(&child, answer.object, &object);
                child.tell(None, &written, Outcome::Created);
                Ok(Some(object))
            }
            Err(kube::Error::Api(status)) if status.is_already_exists() => {
                match self.newer(&child, None).await? {
                    Some(_) => Ok(None),
                    // The watch is late: it may be an object of somebody else.
                    None => Err(self.refused(&child, kube::Error::Api(status))),
                }
            }
            Err(reason) => Err(self.refused(&child, reason)),
        }
    }

    /// The request for an object that this object is to control.
    fn child<T: Cached + Serialize>(&self, wanted: &T) -> Result<Child<'_, T>, OwnedError> {
        let cache = self.cache::<T>(Use::Write)?;
        let namespace = self.object.meta().namespace.as_deref();
        let of_wanted = wanted.namespace();
        let key = Key::within::<T>(of_wanted.as_deref().or(namespace), &wanted.name_any());
        if namespace.is_some() && key.namespace() != namespace {
            return Err(OwnedError::OtherNamespace {
                resource: cache.resource(),
                name: key.to_string(),
                owner: K::kind(self.context.cache.kind()).into_owned(),
            });
        }
        let mut child = Child {
            cache,
            key: Arc::new(key),
            fields: Value::Null,
        };
        let fields = self.fields(cache, wanted);
        child.fields = fields.map_err(|reason| child.failed(reason))?;
        Ok(child)
    }

    /// The object as it is sent, without its preconditions.
    fn fields<T: Cached + Serialize>(&self, cache: &Cache<T>, wanted: &T) -> kube::Result<Value> {
        let mut object = write_value(wanted).map_err(kube::Error::SerdeError)?;
        drop_nulls(&mut object);
        let owner = self.object.controller_owner_ref(self.context.cache.kind());
        let owner = OwnerReference {
            block_owner_deletion: Some(true),
            ..owner.unwrap_or_default()
        };
        let mut owners = wanted.owner_references().to_vec();
        owners.retain(|other| other.uid != owner.uid);
        owners.push(owner);
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
            fields.insert("apiVersion".to_owned(), json!(T::api_version(cache.kind())));
            fields.insert("kind".to_owned(), json!(T::kind(cache.kind())));
        }
        object["metadata"]["ownerReferences"] = json!(owners);
        Ok(object)
    }

    /// The object of that name, if this object controls it. From now on, this object is reconciled when the name
    /// becomes free, until it has it.
    fn known<T: Cached>(&self, child: &Child<'_, T>) -> Result<Option<Arc<Entry>>, OwnedError> {
        let (resource, this) = (child.cache.resource(), Arc::new(Key::of(&*self.object)));
        let uid = self.object.meta().uid.as_deref();
        let known = child.cache.entry(&child.key);
        if known.is_some_and(|known| known.controller() == uid) {
            self.context.names.forget(&resource, &child.key, &this);
        } else {
            self.context.names.want(&resource, &child.key, &this);
        }
        // Asked again: the name may have become free just before that.
        match child.cache.entry(&child.key) {
            Some(entry) if entry.controller() != uid => {
                Err(self.name_taken(child.cache, &child.key))
            }
            Some(entry) if !entry.is_readable => Err(child.unreadable()),
            entry => Ok(entry),
        }
    }

    pub(super) fn name_taken<T: Cached>(&self, cache: &Cache<T>, key: &Key) -> OwnedError {
        OwnedError::NameTaken {
            resource: cache.resource(),
            name: key.name().to_owned(),
            owner: K::kind(self.context.cache.kind()).into_owned(),
        }
    }

    /// Waits until the cache shows more than `known` of an object that the API server has.
    async fn newer<T: Cached>(
        &self,
        child: &Child<'_, T>,
        known: Option<&Entry>,
    ) -> Result<Option<Arc<Entry>>, OwnedError> {
        let before = known.map(|known| &*known.version);
        let is_newer = |entry: Option<&Entry>| entry.map(|entry| &*entry.version) != before;
        child.cache.shows(&child.key, PATIENCE, is_newer).await;
        self.known(child)
    }

    /// The API server has answered with the object.
    fn wrote<T: Cached>(
        &self,
        child: &Child<'_, T>,
        written: Received<T>,
        object: &T,
    ) -> Arc<Entry> {
        self.forget_name(child);
        child.cache.wrote_opened(written, Some(object))
    }

    /// The request has failed, whoever has the name: the error decides when it is tried again.
    fn refused<T: Cached>(&self, child: &Child<'_, T>, reason: kube::Error) -> OwnedError {
        self.forget_name(child);
        child.failed(reason)
    }

    fn forget_name<T: Cached>(&self, child: &Child<'_, T>) {
        let this = Arc::new(Key::of(&*self.object));
        let names = &self.context.names;
        names.forget(&child.cache.resource(), &child.key, &this);
    }

    /// Whether the last apply was the same, and the object has not changed since.
    fn is_applied(&self, object: &Entry, wanted: u64) -> bool {
        let mut applied = lock(&self.context.applied);
        let Some(settled) = applied.get_mut(&object.uid) else {
            return false;
        };
        if settled.wanted != wanted {
            return false;
        }
        if settled.version == object.version {
            return true;
        }
        let is_same = object.fingerprint() == Some(settled.object);
        if is_same {
            settled.version = object.version.clone();
        }
        is_same
    }

    /// Notes what was applied, and the result as the cache keeps it.
    fn note<T: Cached>(&self, child: &Child<'_, T>, written: &Entry, wanted: u64) {
        if let Some(object) = written.fingerprint() {
            let settled = Settled {
                wanted,
                object,
                version: written.version.clone(),
            };
            lock(&self.context.applied).insert(written.uid.clone(), settled);
        }
        // It may have gone before that.
        if child.cache.is_gone(&child.key, &written.uid) {
            lock(&self.context.applied).remove(&written.uid);
        }
    }
}

/// An object that another is to control.
struct Child<'a, T: Resource> {
    cache: &'a Cache<T>,
    key: Arc<Key>,
    /// The object as it is sent, without its preconditions.
    fields: Value,
}

impl<T: Cached> Child<'_, T> {
    fn failed(&self, reason: kube::Error) -> OwnedError {
        OwnedError::Apply {
            resource: self.cache.resource(),
            name: self.key.name().to_owned(),
            reason,
        }
    }

    fn unreadable(&self) -> OwnedError {
        OwnedError::Unreadable {
            resource: self.cache.resource(),
            name: self.key.name().to_owned(),
        }
    }

    /// One line about what was done, with the fields that differ and without their values.
    fn tell(&self, before: Option<&Entry>, after: &Entry, outcome: Outcome) {
        let (resource, name) = (self.cache.resource(), self.key.name());
        match outcome {
            Outcome::Created => tracing::info!(resource, name, "created"),
            Outcome::Changed => {
                if tracing::enabled!(tracing::Level::INFO) {
                    let fields = before.map(|before| changed(before.value(), after.value()));
                    // A cache that is slimmed does not keep them all.
                    let fields = fields.filter(|fields| !fields.is_empty());
                    tracing::info!(resource, name, fields, "changed");
                }
            }
            Outcome::Unchanged => tracing::debug!(resource, name, "unchanged"),
        }
    }

    fn open(&self, received: &Received<T>) -> Result<Arc<T>, OwnedError> {
        let opened = received.open().map(Arc::new);
        opened.map_err(|_| self.unreadable())
    }
}

/// Makes the API server refuse the patch unless the object is as `known`, or does not exist if none is.
fn restrict(patch: &mut Value, known: Option<&Entry>) {
    if let Some(metadata) = patch["metadata"].as_object_mut() {
        let version = known.map_or(NO_VERSION, |known| &known.version);
        metadata.insert("resourceVersion".to_owned(), json!(version));
        match known {
            Some(known) => metadata.insert("uid".to_owned(), json!(known.uid)),
            None => metadata.remove("uid"),
        };
    }
}

/// Removes the fields that are null: `None` in a Rust type means that the field is not set.
fn drop_nulls(value: &mut Value) {
    match value {
        Value::Object(fields) => {
            fields.retain(|_, value| !value.is_null());
            fields.values_mut().for_each(drop_nulls);
        }
        Value::Array(items) => items.iter_mut().for_each(drop_nulls),
        _ => {}
    }
}

#[cfg(test)]
mod tests;
