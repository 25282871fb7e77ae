// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The object that a reconcile has in hand, and what a reconcile does with it.

mod answer;
mod applied;
mod apply;
mod declared;
mod delete;
mod finalizer;
mod names;
mod patch;
mod status;
mod takeover;

use std::any::Any;
use std::collections::HashMap;
use std::fmt::{self, Debug};
use std::ops::Deref;
use std::sync::{Arc, Mutex};

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::jiff::Timestamp;
use kube::api::PatchParams;
use kube::core::NamespaceResourceScope;
use kube::runtime::events::{Event, EventType};
use kube::{Api, Client, Resource, ResourceExt};

use crate::Clock;
use crate::api_server::ApiServer;
use serde_json::Value;

use crate::cache::{Cache, Cached, Entry};
use crate::diff::{self, Field};
use crate::events::Events;
use crate::key::Key;
use crate::lock::lock;
use crate::owned_error::OwnedError;
pub use applied::{Applied, Outcome};
pub(crate) use apply::Applies;
pub(crate) use declared::Declared;
use declared::{Chosen, Use};
pub(crate) use names::Names;
pub(crate) use status::{Statuses, shown};
pub(crate) use takeover::TakeOver;
pub use takeover::is_built_in;

/// How many fields a log line names.
const MOST_FIELDS: usize = 8;

/// The object that is reconciled. It dereferences to the object, as the cache has it.
///
/// What a reconcile writes through it is seen by the next read from a cache, and by the next reconcile, whatever
/// the watch has shown by then. Everything else is said with kube's own [`Api`].
///
/// ```no_run
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError};
/// use kube::ResourceExt;
///
/// fn register(manager: &mut Manager) {
///     let controller = Controller::new(manager.all()).owns(manager.all::<ConfigMap>());
///     manager.add("greeting", controller, reconcile);
/// }
///
/// /// Each Deployment has a ConfigMap.
/// async fn reconcile(deployment: Handle<Deployment>) -> Result<Action, OwnedError> {
///     let mut wanted = ConfigMap::default();
///     wanted.metadata.name = Some(format!("greeting-{}", deployment.name_any()));
///     wanted.data = Some([("text".to_owned(), "Hello".to_owned())].into());
///     deployment.apply(&wanted).await?;
///     Ok(Action::await_change())
/// }
/// ```
#[derive(Clone)]
pub struct Handle<K: Resource> {
    object: Arc<K>,
    pub(crate) context: Arc<Context<K>>,
    /// The version of the object after the last write through this handle.
    written: Arc<Mutex<Option<String>>>,
    opened: Arc<Mutex<Opened>>,
    chosen: Chosen,
}

/// What was read through a handle, by the address of its entry, which is kept so that the address stays its own.
type Opened = HashMap<usize, (Arc<Entry>, Arc<dyn Any + Send + Sync>)>;

/// What all handles of one controller share.
pub(crate) struct Context<K: Resource> {
    /// Who writes, in [`managedFields`](https://kubernetes.io/docs/reference/using-api/server-side-apply/#managers).
    pub(crate) field_manager: String,
    pub(crate) client: Client,
    pub(crate) clock: Clock,
    pub(crate) server: ApiServer,
    pub(crate) events: Events,
    pub(crate) cache: Cache<K>,
    pub(crate) caches: Declared,
    /// The caches of pods, and their indexes by the object that a pod names.
    pub(crate) pods: Vec<(Cache<Pod>, String)>,
    pub(crate) applied: Arc<Mutex<Applies>>,
    pub(crate) statuses: Arc<Mutex<Statuses>>,
    pub(crate) names: Names,
    pub(crate) takes_over: TakeOver,
}

impl<K: Resource> Context<K> {
    /// For a patch by the controller.
    pub(crate) fn params(&self) -> PatchParams {
        PatchParams::apply(&self.field_manager)
    }
}

/// Whether `owner` controls `object`: the owner reference with `controller: true` has the owner's uid.
///
/// Change and delete only objects that are controlled by the object that you reconcile. A name or a label
/// proves nothing: somebody else may have created an object with it, and an owner that was deleted and
/// recreated under its old name is a different object.
///
/// ```
/// use k8s_openapi::api::apps::v1::Deployment;
/// use k8s_openapi::api::core::v1::ConfigMap;
/// use kbr_runtime::is_controlled_by;
/// use kube::Resource;
///
/// let mut owner = Deployment::default();
/// owner.metadata.name = Some("web".to_owned());
/// owner.metadata.uid = Some("7a1f".to_owned());
/// let mut object = ConfigMap::default();
/// assert!(!is_controlled_by(&object, &owner));
///
/// object.metadata.owner_references = owner.controller_owner_ref(&()).map(|owner| vec![owner]);
/// assert!(is_controlled_by(&object, &owner));
/// ```
#[doc(alias = "IsControlledBy")]
pub fn is_controlled_by(object: &impl Resource, owner: &impl Resource) -> bool {
    let uid = owner.meta().uid.as_deref();
    let mut owners = object.meta().owner_references.iter().flatten();
    let controller = owners.find(|owner| owner.controller == Some(true));
    uid.is_some() && controller.map(|controller| controller.uid.as_str()) == uid
}

impl<K: Cached> Handle<K> {
    pub(crate) fn new(object: Arc<K>, context: Arc<Context<K>>) -> Self {
        Self {
            object,
            context,
            written: Arc::default(),
            opened: Arc::default(),
            chosen: Chosen::default(),
        }
    }

    /// The object itself, for what takes an [`Arc`].
    #[must_use]
    pub fn object(&self) -> Arc<K> {
        self.object.clone()
    }

    /// The manager's client.
    #[must_use]
    pub fn client(&self) -> Client {
        self.context.client.clone()
    }

    /// The time of the manager's [`Clock`].
    #[must_use]
    pub fn now(&self) -> Timestamp {
        self.context.clock.now()
    }

    /// The time of the API server's clock, within a second or so; `None` if it is not known yet, or if the manager's
    /// [`Clock`] is one that a test sets.
    ///
    /// A recorded time that is in the future by [`now`](Self::now), and in the past by this time, shows that the clock of
    /// this machine is behind. Do not use it as the time in general: each of several API servers has a clock of its own.
    #[must_use]
    pub fn server_time(&self) -> Option<Timestamp> {
        let is_system = self.context.clock.is_system();
        is_system.then(|| self.context.server.time()).flatten()
    }

    /// The objects of kind `T` in the namespace of this object.
    #[must_use]
    pub fn api<T>(&self) -> Api<T>
    where
        T: Resource<DynamicType = (), Scope = NamespaceResourceScope>,
    {
        let namespace = self.object.meta().namespace.as_deref();
        Api::namespaced(self.client(), namespace.unwrap_or_default())
    }

    /// The object of kind `T` with that name, in the namespace of this object, from the cache; `None` if there is none.
    /// Sends no request.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Unreadable`] if it does not fit its Rust type. [`OwnedError::Undeclared`] if the controller was not
    /// given a cache of `T`, for example with [`Controller::reads`](crate::Controller::reads).
    pub fn get<T: Cached>(&self, name: &str) -> Result<Option<Arc<T>>, OwnedError> {
        let (cache, key) = (self.cache::<T>(Use::Read)?, self.key_of::<T>(name));
        let found = cache.entry(&key).map(|entry| self.read(cache, &key, entry));
        found.transpose()
    }

    /// The objects of kind `T` that this object controls, sorted by name. Sends no request.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Unreadable`] when one of them does not fit its Rust type. [`OwnedError::Undeclared`] if the
    /// controller was not given a cache of `T` with [`Controller::owns`](crate::Controller::owns).
    pub fn owned<T: Cached>(&self) -> Result<Vec<Arc<T>>, OwnedError> {
        let cache = self.cache::<T>(Use::Owned)?;
        let uid = self.object.meta().uid.as_deref().unwrap_or_default();
        let owned = cache.controlled_by(uid).into_iter();
        owned
            .map(|(key, entry)| self.read(cache, &key, entry))
            .collect()
    }

    /// The pods that name this object in the label of [`Controller::pods`](crate::Controller::pods), sorted by name,
    /// with those that are being deleted. Sends no request.
    ///
    /// # Errors
    ///
    /// [`OwnedError::Undeclared`] if the controller was not given a cache with
    /// [`Controller::pods`](crate::Controller::pods).
    pub fn pods(&self) -> Result<Vec<Arc<Pod>>, OwnedError> {
        if self.context.pods.is_empty() {
            let reason = "the controller does not know which pods name its objects: add their cache with `Controller::pods`";
            return Err(OwnedError::Undeclared(reason.to_owned()));
        }
        let key = Key::of(&*self.object).to_string();
        let mut pods = Vec::new();
        for (cache, index) in &self.context.pods {
            pods.extend(cache.by(index, &key)?);
        }
        pods.sort_by_cached_key(|pod| Key::of(&**pod));
        pods.dedup_by_key(|pod| Key::of(&**pod));
        Ok(pods)
    }

    /// Publishes an event (`events.k8s.io`) about the object, which `kubectl describe` shows. Does not wait: nothing may
    /// depend on events.
    ///
    /// `reason` is in upper camel case. A repetition within six minutes is counted in the first event; see
    /// [`Events::publish`] for this, for the limits and for the permissions.
    pub fn event(&self, type_: EventType, reason: &str, note: impl Into<String>) {
        self.publish(Event {
            type_,
            reason: reason.to_owned(),
            action: "Reconcile".to_owned(),
            note: Some(note.into()),
            secondary: None,
        });
    }

    /// The same for an event with an action and a secondary object of its own.
    pub fn publish(&self, event: Event) {
        let regarding = self.object.object_ref(self.context.cache.kind());
        self.context.events.publish(event, regarding);
    }

    /// The object of an entry in `cache`.
    fn read<T: Cached>(
        &self,
        cache: &Cache<T>,
        key: &Key,
        entry: Arc<Entry>,
    ) -> Result<Arc<T>, OwnedError> {
        self.open(entry).ok_or_else(|| OwnedError::Unreadable {
            resource: cache.resource(),
            name: key.name().to_owned(),
        })
    }

    /// The object of an entry, if it is kept and fits its type. It is parsed once for all clones of this handle.
    fn open<T: Cached>(&self, entry: Arc<Entry>) -> Option<Arc<T>> {
        let mut opened = lock(&self.opened);
        let address = Arc::as_ptr(&entry).addr();
        if let Some((_, object)) = opened.get(&address) {
            return object.clone().downcast().ok();
        }
        let object: Arc<T> = entry.open()?;
        opened.insert(address, (entry, object.clone()));
        Some(object)
    }

    /// The unique name of an object of kind `T` in the namespace of this object.
    fn key_of<T: Cached>(&self, name: &str) -> Key {
        Key::within::<T>(self.object.meta().namespace.as_deref(), name)
    }

    /// The version that this object must have for the next write.
    fn version(&self) -> Option<String> {
        let written = lock(&self.written).clone();
        written.or_else(|| self.object.resource_version())
    }
}

/// The paths of the fields outside of the status in which an object differs, for the log.
fn changed(before: Value, after: Value) -> String {
    let without_status = |mut object: Value| {
        if let Some(fields) = object.as_object_mut() {
            fields.remove("status");
        }
        object
    };
    let fields = diff::fields(&without_status(before), &without_status(after), true);
    paths(&fields)
}

/// The paths of `fields`, or of the first few.
fn paths(fields: &[Field]) -> String {
    let first = fields.iter().take(MOST_FIELDS);
    let mut paths: Vec<_> = first.map(|field| field.path.clone()).collect();
    if let more @ 1.. = fields.len().saturating_sub(MOST_FIELDS) {
        paths.push(format!("and {more} more"));
    }
    paths.join(", ")
}

impl<K: Resource> Deref for Handle<K> {
    type Target = K;

    fn deref(&self) -> &K {
        &self.object
    }
}

impl<K: Resource + Debug> Debug for Handle<K> {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_tuple("Handle").field(&self.object).finish()
    }
}

#[cfg(test)]
pub(crate) mod tests;
