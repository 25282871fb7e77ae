// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A guide to writing an operator with this crate.
//!
//! The examples use one kind, `Greeting`, whose text is published in a ConfigMap. The README shows
//! the complete operator in one file, with its `main` and its CRD.
//!
//! # A controller, from watch to status
//!
//! A [`Controller`] watches the objects of one kind. It calls `reconcile` for each object when the
//! operator starts, and again after each change. A reconcile does not learn what has changed: it
//! compares the desired state with what exists, and writes the difference. It may run at any time and
//! any number of times, so a second run in a row must change nothing.
//!
//! What it gets is a [`Handle`]: it can be used as the object, and reads and writes what belongs to it.
//! The result says when to run again: [`Action::await_change`] after the next change, or
//! [`Action::requeue`] also after a delay. One object is never reconciled twice at the same time, and
//! objects are reconciled one after another unless [`Controller::concurrency`] or
//! `--max-concurrent-reconciles` allows more.
//!
//! ```no_run
//! # use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
//! # struct GreetingSpec { text: String }
//! # #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # struct GreetingStatus { conditions: Vec<Condition> }
//! # fn new_status(_: &Greeting, _: Timestamp) -> GreetingStatus { GreetingStatus::default() }
//! use kbr_runtime::{Action, Controller, Handle, Manager};
//!
//! fn register(manager: &mut Manager) {
//!     let controller = Controller::new(manager.all());
//!     manager.add("greeting", controller, reconcile);
//! }
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> kube::Result<Action> {
//!     if greeting.metadata.deletion_timestamp.is_some() {
//!         return Ok(Action::await_change());
//!     }
//!     // Create, update and delete here what `greeting.spec` asks for.
//!     greeting.status(&new_status(&greeting, greeting.now())).await?;
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! An object with a deletion timestamp is being deleted. Write nothing for it: in a foreground
//! deletion, Kubernetes first deletes the objects that it owns, and a reconcile that recreates them
//! keeps the deletion from ever completing.
//!
//! A reconcile that needs more than its object, such as settings from the command line or the client of
//! another system, captures it:
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use kbr_runtime::{Action, Controller, Handle, Manager};
//! use std::sync::Arc;
//!
//! struct Settings { language: String }
//!
//! fn register(manager: &mut Manager, settings: Arc<Settings>) {
//!     let controller = Controller::new(manager.all());
//!     manager.add("greeting", controller, move |greeting| reconcile(greeting, settings.clone()));
//! }
//!
//! async fn reconcile(greeting: Handle<Greeting>, settings: Arc<Settings>) -> kube::Result<Action> {
//! #   let _ = (greeting, &settings.language);
//!     // ...
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! [`Handle::api`] is kube's [`Api`](kube::Api) for objects of any kind in the namespace of the object, and
//! [`Handle::client`] the client for everything else.
//!
//! # Owned objects
//!
//! [`Controller::owns`] declares the kind of objects that a reconcile creates: a change of such an object
//! triggers a reconcile of its owner, and the handle can read and write them.
//!
//! [`Handle::apply`] brings an object to its desired state: it creates or changes it, or sends no request
//! if it is already in that state. It is a server-side apply of the fields that you set. All other fields
//! are left to other writers. A Rust type writes a required field even if it is empty, such as the selector
//! of a Deployment; fields that are `None` are not written. The object gets an owner reference, so that
//! Kubernetes deletes it with its owner. The owner must be in the same namespace, or cluster-scoped.
//!
//! An object with that name that the owner does not control is left alone: [`OwnedError::NameTaken`].
//! The owner is reconciled again when the name becomes free. Until then, say it in a condition: users do
//! not read logs.
//!
//! Give the object a fixed name, derived from the owner's. An object with a generated name is not found
//! again after a response that got lost.
//!
//! [`Handle::prune`] deletes objects that the owner controls and no longer needs, such as one with an
//! earlier name. [`Handle::create`] is for objects that are never changed, such as a Job.
//! [`Handle::owned`] reads the existing objects, without a request, to count them or to copy something to
//! the status. [`is_controlled_by`] tells whether the owner controls an object from elsewhere.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { text: String }
//! # use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::ResourceExt;
//! use kube::api::ObjectMeta;
//!
//! fn register(manager: &mut Manager) {
//!     let controller = Controller::new(manager.all()).owns(manager.all::<ConfigMap>());
//!     manager.add("greeting", controller, reconcile);
//! }
//!
//! // +kbr:rbac:groups=example.com,resources=greetings,verbs=list;watch
//! // +kbr:rbac:groups=example.com,resources=greetings/finalizers,verbs=update
//! // +kbr:rbac:groups=core,resources=configmaps,verbs=list;watch;create;patch;delete
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> Result<Action, OwnedError> {
//!     // Return here if the object is being deleted.
//!     let wanted = ConfigMap {
//!         metadata: ObjectMeta {
//!             name: Some(format!("greeting-{}", greeting.name_any())),
//!             ..ObjectMeta::default()
//!         },
//!         data: Some([("text".to_owned(), greeting.spec.text.clone())].into()),
//!         ..ConfigMap::default()
//!     };
//!     let applied = greeting.apply(&wanted).await?;
//!     greeting.prune(&[applied]).await?;
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! `get` on the owned kind is not needed. `update` on `greetings/finalizers` is: a foreground deletion of the
//! owner waits for the object (`blockOwnerDeletion`), and clusters with the admission plugin
//! `OwnerReferencesPermissionEnforcement`, such as OpenShift, ask for that right.
//!
//! Of the objects of others only the names, versions and owners are kept in memory. A cache with a selector
//! must not leave them out: otherwise a taken name is an error of the API server each time.
//!
//! # Own writes
//!
//! Caches are fed by watches, which show a write a moment later. What was written through a [`Handle`] is
//! put into the cache at once, from the response. So the next read and the next reconcile see it, and no
//! reconcile has to check whether its own last write has arrived.
//!
//! This holds for one process. What others write, including an earlier process of the same operator, is
//! seen when the watch shows it. Use a precondition where acting on an older state does harm: a fixed name, or
//! a resource version, as [`Handle::apply`] and [`Handle::status`] do. For a write with kube's own
//! [`Api`](kube::Api), [`Cache::insert`] puts the response into the cache.
//!
//! # Caches and indexes
//!
//! [`Manager::all`] returns the [`Cache`] of a kind. There is one for each kind, with one watch, and
//! controllers, tasks and webhooks share it; [`Manager::namespaced`] is the same for one namespace.
//! [`Manager::cache`] has a watch of its own, for what a selector selects, and [`Manager::cache_of`] is for
//! kinds that are known only at run time (`DynamicObject`).
//!
//! [`Controller::reads`] lets a reconcile read the objects of a cache with [`Handle::get`] without being
//! triggered by them. [`Cache::index`] finds objects by what you like. No read sends a request.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { style: String, node: String }
//! # use kbr_runtime::{Action, Cache, Controller, Handle, Manager};
//! use k8s_openapi::api::core::v1::{ConfigMap, Pod};
//!
//! fn register(manager: &mut Manager) {
//!     let pods = manager.all::<Pod>();
//!     pods.index("node", |pod| pod.spec.iter().flat_map(|spec| spec.node_name.clone()).collect());
//!     let controller = Controller::new(manager.all())
//!         .reads(manager.all::<ConfigMap>())
//!         .reads(pods.clone());
//!     manager.add("greeting", controller, move |greeting| reconcile(greeting, pods.clone()));
//! }
//!
//! async fn reconcile(greeting: Handle<Greeting>, pods: Cache<Pod>) -> kube::Result<Action> {
//!     // In the namespace of the Greeting.
//!     let style = greeting.get::<ConfigMap>(&greeting.spec.style);
//!     let pods = pods.by("node", &greeting.spec.node);
//!     tracing::info!(is_plain = style.is_none(), pods = pods.len(), "read");
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! A reconcile begins only when all caches of its controller have been listed, so an object that is not in a
//! cache does not exist, or is newer than what the watch has shown.
//!
//! A webhook or a task reads from a cache for which it calls [`Cache::on_every_replica`]; otherwise a cache is
//! filled where its controller runs.
//!
//! # Pods of owned objects
//!
//! The pods of a Deployment that a Greeting owns are controlled by a ReplicaSet, and [`Controller::owns`] does not
//! follow them. Label them in the pod template with the name of their Greeting: [`Controller::pods`] reconciles it
//! after each change of a pod, and [`Handle::pods`] finds them. For objects of other kinds,
//! [`Controller::watches`] and [`Cache::index`] do the same.
//!
//! A Deployment counts its pods, but why they do not run is only in the pods. [`Problem::of_deployment`] finds the
//! reason and the message, such as `CrashLoopBackOff` with the exit code, `OOMKilled`, `ImagePullBackOff`,
//! `Unschedulable`, or `FailedCreate` because of a quota; [`Problem::of_pods`] does the same for pods of anything else.
//! Report it in a condition, and in an event when it is new.
//!
//! ```no_run
//! # use k8s_openapi::{apimachinery::pkg::apis::meta::v1::Condition, jiff::Timestamp};
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
//! # struct GreetingSpec { text: String }
//! # #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # struct GreetingStatus { conditions: Vec<Condition> }
//! # fn new_status(_: &Greeting, _: Option<&Problem>, _: Timestamp) -> GreetingStatus { GreetingStatus::default() }
//! # fn is_new(_: &Greeting, _: &Problem) -> bool { true }
//! # #[derive(Debug, thiserror::Error)]
//! # enum Error {
//! #     #[error(transparent)]
//! #     Owned(#[from] OwnedError),
//! #     #[error(transparent)]
//! #     Status(#[from] kube::Error),
//! # }
//! use k8s_openapi::api::apps::v1::Deployment;
//! use kbr_runtime::{Action, Controller, Handle, Manager, OwnedError, Problem};
//! use kube::Api;
//! use kube::runtime::events::EventType;
//! use kube::runtime::watcher::Config;
//!
//! /// The label of the pods, with the name of their Greeting.
//! const LABEL: &str = "example.com/greeting";
//!
//! fn register(manager: &mut Manager) {
//!     // Only the pods with the label are watched.
//!     let pods = manager.cache(Api::all(manager.client()), Config::default().labels(LABEL));
//!     let controller = Controller::new(manager.all())
//!         .owns(manager.all::<Deployment>())
//!         .pods(pods, LABEL);
//!     manager.add("greeting", controller, reconcile);
//! }
//!
//! // +kbr:rbac:groups=core,resources=pods,verbs=list;watch
//! // +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> Result<Action, Error> {
//!     // Apply the Deployment here.
//!     let (deployments, pods) = (greeting.owned::<Deployment>()?, greeting.pods());
//!     let mut deployments = deployments.iter();
//!     let problem = deployments.find_map(|deployment| Problem::of_deployment(deployment, &pods));
//!     let status = new_status(&greeting, problem.as_ref(), greeting.now());
//!     if greeting.status(&status).await?
//!         && let Some(problem) = problem
//!         && is_new(&greeting, &problem)
//!     {
//!         greeting.event(EventType::Warning, &problem.reason, problem.message).await;
//!     }
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! The event is new if the condition in the old status has another reason: each problem keeps its reason, also while
//! a pod is restarted again and again.
//!
//! Anybody who may create pods can label them. Labels are good for a report; before you change or delete a pod, look
//! at its owner.
//!
//! # Objects that are mentioned
//!
//! A spec may refer to an object that is not owned, such as a Secret that the user has created.
//! [`Controller::references`] reconciles every object that refers to it when it is created, changed or
//! deleted. You say what an object refers to; the controller keeps the index.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { secret: Option<String> }
//! # use kbr_runtime::{Controller, Manager};
//! use k8s_openapi::api::core::v1::Secret;
//! use kube::runtime::reflector::ObjectRef;
//!
//! fn controller(manager: &mut Manager) -> Controller<Greeting> {
//!     Controller::new(manager.all::<Greeting>())
//!         // In the namespace of the Greeting, as the reference names no other.
//!         .references(manager.metadata::<Secret>(), |greeting| {
//!             let name = greeting.spec.secret.as_deref();
//!             name.map(ObjectRef::new)
//!         })
//! }
//! ```
//!
//! Only metadata is watched, and the reconcile reads the Secret itself, with
//! `greeting.api::<Secret>().get(name)`. The role must still allow `list` and `watch` of Secrets, which
//! allows reading all of them: if they are in one namespace, watch only that one and use a Role there.
//!
//! # A finalizer
//!
//! Anything that Kubernetes does not delete by itself, such as a record in another system, needs a
//! finalizer: the object stays until the operator has cleaned up.
//! [`finalizer`](kube::runtime::finalizer()) adds it, calls your code with `Apply` or `Cleanup`, and
//! removes it after a successful cleanup.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # #[derive(Debug, thiserror::Error)] #[error("no answer")] struct Error;
//! # async fn publish(_: &Greeting) -> Result<(), Error> { Ok(()) }
//! # async fn withdraw(_: &Greeting) -> Result<(), Error> { Ok(()) }
//! # use kbr_runtime::{Action, Handle};
//! use kube::runtime::controller;
//! use kube::runtime::finalizer::{self, Event, finalizer};
//!
//! type Outcome = Result<Action, finalizer::Error<Error>>;
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> Outcome {
//!     let (api, object) = (greeting.api(), greeting.object());
//!     finalizer(&api, "example.com/greeting", object, |event| async {
//!         match event {
//!             // The handle can be used here as well.
//!             Event::Apply(greeting) => publish(&greeting).await?,
//!             // May run more than once, and for what was never published.
//!             Event::Cleanup(greeting) => withdraw(&greeting).await?,
//!         }
//!         // What this says is not used.
//!         Ok(controller::Action::await_change())
//!     })
//!     .await?;
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! This replaces the check of the deletion timestamp. The role needs `patch` on the kind.
//!
//! # Predicates
//!
//! By default each change of an object triggers a reconcile, also one of its status. With
//! [`Controller::predicates`] it does so only if what the predicate looks at has changed. Changes of what
//! the object owns or refers to, and the first list, trigger in any case.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use kbr_runtime::{Controller, Manager};
//! use kube::runtime::{Predicate, predicates};
//!
//! # fn controller(manager: &mut Manager) -> Controller<Greeting> {
//! Controller::new(manager.all())
//!     .predicates(predicates::generation.combine(predicates::finalizers))
//! # }
//! ```
//!
//! The generation counts changes to the spec and the deletion, and not those to the metadata. An operator
//! with a finalizer adds it in a first reconcile, and is called with `Apply` in the reconcile that this
//! triggers: without `predicates::finalizers`, that change is dropped, and the object waits until somebody
//! changes it. An operator with [`Controller::pausable`] must let annotations through in the same way.
//!
//! # Conditions and the status
//!
//! The status says what the operator has observed. Its conditions follow the [Kubernetes API
//! conventions]; [`conditions::set`](crate::conditions::set) follows them. Other controllers may write
//! conditions to the same object, so apply only your own, and all of them each time: a condition that
//! you applied before and now omit is removed.
//!
//! [`Handle::status`] writes nothing if the object already has the status. A write triggers another
//! reconcile, so a status that differs each time, such as one with the current time or a changing error
//! text, is written again and again, endlessly. Start from your own old conditions, so that
//! `lastTransitionTime` stays.
//!
//! ```
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
//! # struct GreetingSpec { text: String }
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
//! use k8s_openapi::jiff::{SignedDuration, Timestamp};
//! use kbr_runtime::conditions::{self, ConditionStatus};
//!
//! #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[derive(PartialEq)]
//! struct GreetingStatus {
//!     // `kbr manifests` adds this to the CRD by itself.
//!     #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
//!     conditions: Vec<Condition>,
//! }
//!
//! /// The status to apply: `greeting.status(&new_status(&greeting, greeting.now()))`.
//! fn new_status(greeting: &Greeting, now: Timestamp) -> GreetingStatus {
//!     let mut status = greeting.status.clone().unwrap_or_default();
//!     status.conditions = conditions::of_types(&status.conditions, &["Ready"]);
//!     let (yes, generation) = (ConditionStatus::True, greeting.metadata.generation);
//!     let ready = conditions::new("Ready", yes, "Published", generation, now);
//!     conditions::set(&mut status.conditions, ready);
//!     status
//! }
//!
//! let mut greeting = Greeting::new("hello", GreetingSpec { text: "Hello".to_owned() });
//! let now = Timestamp::now();
//! greeting.status = Some(new_status(&greeting, now));
//! let later = now + SignedDuration::from_hours(1);
//! assert_eq!(Some(new_status(&greeting, later)), greeting.status);
//! ```
//!
//! The list type `map` with the key `type` makes each condition a field with its own field manager.
//! Without it, the list is one field, and a write replaces the conditions of other controllers.
//!
//! # Errors and retries
//!
//! A reconcile that fails, panics or takes longer than [`Controller::timeout`] is logged and runs again after
//! a delay that doubles with each consecutive failure, from 5 ms to 1000 s ([`Controller::rate_limit`]), or
//! after the delay that the API server asks for. A rejected write, such as a 409 Conflict, needs no
//! other handling. The client does not retry requests by itself, and gives up on a request that gets no
//! response within 60 seconds, the time that an API server allows itself (`--request-timeout`).
//!
//! Keep the [`kube::Error`] as the source of your own error (`#[source]` or `#[from]`), where the
//! manager looks for it.
//!
//! A user error, such as a value that makes no sense, belongs in a condition: set it and return `Ok`.
//! Where that is not enough, a [`Retry`](crate::Retry), as the error or among its sources, says when
//! the object is retried:
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # async fn publish(_: &Greeting) -> Result<bool, kube::Error> { Ok(true) }
//! use std::time::Duration;
//!
//! use kbr_runtime::{Action, Handle, Retry};
//!
//! #[derive(Debug, thiserror::Error)]
//! enum Error {
//!     #[error(transparent)]
//!     Retry(#[from] Retry),
//!     #[error("could not publish")]
//!     Publish(#[from] kube::Error),
//! }
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> Result<Action, Error> {
//!     if greeting.data.is_none() {
//!         // Logged once, and not retried.
//!         return Err(Retry::never("there is no text").into());
//!     }
//!     // The delay that doubles, if it fails.
//!     if !publish(&greeting).await? {
//!         let hour = Duration::from_secs(3600);
//!         return Err(Retry::after(hour, "the quota of the other system is used up").into());
//!     }
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! An object that is not retried is reconciled again after the next change to it or to anything else
//! that its controller watches for it, such as an owned object; when a watch starts over; and when
//! an operator starts or becomes the leader. If the error itself cannot say when to retry, such as
//! one from another crate, add the controller with
//! [`Manager::add_with_error_policy`](crate::Manager::add_with_error_policy): its function sees each
//! error first.
//!
//! # Objects that cannot be read
//!
//! The schema may allow values that the Rust type does not accept, such as a number that is too large,
//! or an object may be older than a field that the type requires. Such an object does not block others:
//! it is logged with the field, reported in an event with the reason `Unreadable`, and not reconciled
//! until it can be read. The metric `kbr_unreadable_objects` counts such objects; of their events at most a
//! thousand wait to be published, and the rest are left out. [`Handle::owned`] returns an error for the owner
//! of such an object. Give each new field of a type a default (`#[serde(default)]` or `Option`): objects that
//! were stored earlier do not have it.
//!
//! # Objects that are paused
//!
//! With [`Controller::pausable`] anyone who may write an object can make the operator leave it alone, to fix
//! something manually: while the annotation that you name is `true`, the object is not reconciled. Its
//! deletion is still handled.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use kbr_runtime::{Controller, Manager};
//! fn controller(manager: &mut Manager) -> Controller<Greeting> {
//!     Controller::new(manager.all()).pausable("example.com/paused")
//! }
//! ```
//!
//! The condition `Paused` reports this, if the kind has `status.conditions`. The role must allow `patch`
//! of the status, as for [`Handle::status`]. A paused object is not corrected, and others may change or
//! delete its owned objects in the meantime; when it is resumed, it is reconciled at once.
//!
//! # The order of reconciles
//!
//! At startup every object is reconciled, which takes a while with thousands of them. An object that is
//! created or changed in the meantime goes first: it waits only for running reconciles, for objects that
//! were changed before it, and for every fourth turn, which goes to the older objects, so that they all get
//! their turn however much changes. The same holds for the objects that a watch lists when it starts over.
//!
//! An object whose delay is over counts as changed at that time. Within both groups it is first come, first
//! served, so nothing starves. With [`Controller::debounce`], a changed object waits until it has been quiet.
//!
//! # Reconciles that block
//!
//! Each reconcile is a task on threads that are for reconciles only: one for each that may run at the same
//! time, and one more. So a reconcile may compute, or call a library that blocks: other reconciles, watches,
//! probes, webhooks and the Lease go on. It still occupies a place of [`Controller::concurrency`], and
//! [`Controller::timeout`] can end it only at its next `await`.
//!
//! A panic concerns only the object for which it happened. This also holds for the functions given to
//! [`Controller::watches`], [`Controller::references`], [`Controller::predicates`], [`Cache::index`] and
//! [`Cache::slim`]: the panic is logged and counted, the other objects are handled as usual, and this object
//! triggers nothing, keeps its references, is reconciled, is in no index, or is kept whole.
//!
//! # What is kept in memory
//!
//! A cache keeps the objects that somebody reads: all of those of [`Controller::new`],
//! [`Controller::reads`], [`Cache::index`] and [`Cache::on_every_replica`], and of those of
//! [`Controller::owns`] the ones that an object of the controller controls. Of all others it keeps the name,
//! the version and the owners.
//!
//! An object is kept as the JSON that the API server sent, without `metadata.managedFields`, and parsed again
//! when a reconcile needs it. The Rust type would need several times the memory, since it reserves space for
//! every field that could be set: an object with a pod template takes 2 to 3 KB instead of 7 to 8. Parsing
//! takes a few microseconds, while a request takes milliseconds.
//!
//! [`Cache::slim`] leaves out what is never read.
//!
//! # Events
//!
//! [`Handle::event`] publishes an event about the object, which `kubectl describe` shows. Nothing fails
//! without it: an error is only logged. The role must allow `create` and `patch` of `events` in
//! `events.k8s.io`.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use kbr_runtime::Handle;
//! use kube::runtime::events::EventType;
//!
//! // +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//!
//! async fn refused(greeting: &Handle<Greeting>) {
//!     let note = "the other system does not take this text";
//!     greeting.event(EventType::Warning, "Refused", note).await;
//! }
//! ```
//!
//! A repeated event increases the count of the existing one, whose note is kept. Events with different
//! notes need different reasons. [`Manager::recorder`] is for everything else: it is kube's
//! [`Recorder`](kube::runtime::events::Recorder), one for each controller name.
//!
//! # Several replicas
//!
//! With `--leader-elect` a manager runs its controllers only while it holds a Lease
//! (`coordination.k8s.io`), and serves webhooks and probes all the time. `--leader-election-id` is the
//! name of the Lease; its namespace is the pod's, or that of `--leader-election-namespace`. Fields and
//! timings are those of client-go: a Lease is valid for 15 s, and is renewed every 2 s.
//!
//! Install the Lease with the operator, without a `spec`, and allow the
//! operator `get`, `update` and `watch` on this Lease only, with its name in the role's
//! `resourceNames`, as the manifests of `kbr init` do. If the Lease is deleted, the leader exits, and
//! all replicas wait until it is installed again, or create it, if they may `create` leases too. That is for installers
//! that install no Lease, such as OLM.
//!
//! `--leader-elect-lease-duration`, `--leader-elect-renew-deadline` and `--leader-elect-retry-period` change
//! these times, and mean what they mean for Kubernetes' own components.
//!
//! The identity of the holder is the downward API variable `POD_NAME`, or else `HOSTNAME`, with a number that
//! is new for each process, as in client-go. So the process of a container that restarts after a crash waits
//! until the Lease of the last one has expired.
//!
//! `kbr dev --context` sets `KBR_DEV_LEASE_HOLDER`, which is the identity then: a process with it takes the Lease over
//! from its holder, runs nothing until that holder must have noticed, and does not release the Lease, which kbr does.
//!
//! A leader that cannot renew the Lease for 10 s exits with code 1, at the latest two seconds later, even if
//! a reconcile blocks its thread. It starts no request in that time, not even if it was suspended and resumes
//! later. Data that it handed to the kernel before may still
//! arrive. So a reconcile should write with the resource version that it has read, as [`Handle::status`] and
//! [`Handle::apply`] do, and create objects with fixed names.
//!
//! # What would it change?
//!
//! With `--plan` a manager prints what its controllers would change in the cluster now, as a diff for each object, and
//! ends. The exit code is 0 if nothing would change, 1 if something would, and 2 after an error. Each existing object is
//! reconciled once; each write of the manager's client is a dry run, which needs the rights of the write. A manager that
//! leads is not disturbed: there is no election, and no webhook, event, certificate or task.
//!
//! What depends on an object that does not exist yet is listed as not known. What a reconcile does with another client,
//! or in another system, is done: it can look at [`Flags::plan`](crate::Flags::plan).
//!
//! # A warm standby, and controllers that need no lead
//!
//! A replica that does not lead fills no caches for its controllers. When it takes over, it lists
//! everything first, which takes seconds with thousands of objects. With [`Controller::warm`] the caches are
//! kept up to date before that, and the new leader begins at once. The standby then needs as much memory and
//! as many watches as the leader.
//!
//! A controller with [`Controller::needs_leader`]`(false)` runs on each replica, for example to keep
//! something up to date in the memory of the process. Two replicas reconcile the same object at the same
//! time, so it should write nothing to the cluster.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::{ConfigMap as Greeting, Secret};
//! # use kbr_runtime::{Action, Controller, Handle, Manager};
//! # async fn reconcile(_: Handle<Greeting>) -> kube::Result<Action> { Ok(Action::await_change()) }
//! # async fn load(_: Handle<Secret>) -> kube::Result<Action> { Ok(Action::await_change()) }
//! fn register(manager: &mut Manager) {
//!     let greetings = Controller::new(manager.all()).warm(true);
//!     manager.add("greeting", greetings, reconcile);
//!     let keys = Controller::new(manager.all::<Secret>()).needs_leader(false);
//!     manager.add("keys", keys, load);
//! }
//! ```
//!
//! # The stop
//!
//! After SIGTERM no reconcile starts, and those that run have `--graceful-shutdown-timeout` to finish, by
//! default 25 s. The manager then releases the Lease and exits with code 0. If reconciles or tasks still run at
//! that time, it names them and exits with code 1, and the Lease expires: they might still write.
//!
//! Requests that are not answered after nine tenths of that time are given up, and later ones fail at once. So
//! the reconcile fails and ends in time, even if the API server answers nothing. The release and the last
//! responses of webhooks take up to four seconds more: let `terminationGracePeriodSeconds` of the pod be at
//! least five seconds longer than the timeout, as in the manifests of `kbr init`.
//!
//! # Several namespaces
//!
//! An operator that may not watch the whole cluster watches individual namespaces, and adds a
//! controller for each of [`Manager::namespaces`](crate::Manager::namespaces):
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::{ConfigMap, Secret as Greeting};
//! # use kbr_runtime::{Action, Controller, Handle, Manager};
//! # async fn reconcile(_: Handle<Greeting>) -> kube::Result<Action> { Ok(Action::await_change()) }
//! fn register(manager: &mut Manager) {
//!     for namespace in manager.namespaces() {
//!         let controller = Controller::new(manager.namespaced(&namespace))
//!             .owns(manager.namespaced::<ConfigMap>(&namespace));
//!         manager.add("greeting", controller, reconcile);
//!     }
//! }
//! ```
//!
//! They come from `$WATCH_NAMESPACE`, separated by commas. Each controller has its own watches and its own
//! workers: [`Controller::concurrency`] applies to each. In logs and metrics, the controllers share a name.
//!
//! No request is for the whole cluster, so a Role in each namespace is enough. It must also allow `get` of
//! `namespaces`, which in a Role allows reading its own namespace: at startup the manager reads each
//! namespace, and exits with an error that names the one that it cannot read, before anything starts. If
//! the API server does not respond, the manager starts and tries again.
//!
//! # Metrics and the log level
//!
//! A manager has the same metrics as a manager of controller-runtime 0.24, with the same names, labels
//! and buckets: `controller_runtime_*`, `workqueue_*`, `rest_client_requests_total`, `certwatcher_*`,
//! `leader_election_master_status` and `process_*`. Dashboards and alerts for them work unchanged. The
//! differences:
//!
//! - `controller_runtime_reconcile_panics_total` also counts the panics of a controller's mappers, predicates
//!   and functions that find references.
//! - `controller_runtime_max_concurrent_reconciles` is 0 for a controller without a limit.
//! - `certwatcher_read_certificate_total` increases when the files of a certificate have changed.
//! - `rest_client_requests_total` counts the requests of [`Manager::client`](crate::Manager::client),
//!   without those for the Lease and for reviews.
//!
//! `kbr_certificate_expiration_timestamp_seconds` is when a certificate expires, by `certificate`: `webhooks`,
//! `webhooks-ca` for a CA of the manager's own, and `metrics`.
//!
//! These metrics have no counterpart there either. They have the label `resource`, such as `jobs.batch`, and are worth
//! an alert when they stay above 0, or grow:
//!
//! - `kbr_failing_watches`: the watches of the resource that have failed, and whose next request the API
//!   server has not accepted yet. A role may lack `watch`, or the CRD may not be installed.
//! - `kbr_unreadable_objects`: the objects that do not fit their Rust type and are skipped. An object counts
//!   once for each watch that has it.
//! - `kbr_cache_panics_total`: the panics of the functions that index or slim the objects of a cache.
//! - `kbr_restless_objects_total`: how often an object was reconciled 600 times within a minute. The log names
//!   it. Often its reconcile changes it each time, such as a time in its status, and so triggers itself.
//! - `kbr_decoded_objects_total`: how often an object of a cache was parsed. Many of them for each reconcile
//!   explain a high use of CPU: [`Cache::list`] parses all objects.
//!
//! [`Metrics::register`](crate::Metrics::register) adds a metric of your own:
//!
//! ```no_run
//! # use kbr_runtime::Manager;
//! use kbr_runtime::prometheus_client::metrics::counter::Counter;
//!
//! struct Context { published: Counter }
//!
//! # fn register(manager: &mut Manager) {
//! let context = Context {
//!     published: manager.metrics().register("greetings_total", "Texts published", Counter::default()),
//! };
//! # }
//! ```
//!
//! `--metrics-bind-address=:8443` serves the metrics at `/metrics`, in the OpenMetrics text format, over
//! HTTPS. The certificate is in the folder `--metrics-cert-path` and is read again when it changes; without
//! that flag it is generated at startup, and clients cannot verify it.
//!
//! Clients need a bearer token (else 401) of an account with a role that allows the verb `get` on the
//! `nonResourceURLs` `/metrics` (else 403). The manager checks this with the API server: its own role must
//! allow `create` of `tokenreviews.authentication.k8s.io` and `subjectaccessreviews.authorization.k8s.io`.
//! The account of a token is cached for a minute, a permission for five, and a refusal for half a minute.
//! `--metrics-secure=false` serves `/metrics` to everyone over HTTP.
//!
//! The feature `native-histograms` of this crate gives the manager's histograms native buckets in addition to
//! their own, each at most a tenth wider than the last. Only Prometheus' protobuf format has them, which is
//! sent to scrapers that prefer it in their `Accept` header, as Prometheus does with
//! `scrape_native_histograms: true` (`scrapeNativeHistograms` of a ServiceMonitor); all others get the text
//! format. Create one of your own with
//! [`Histogram::new_classic_and_native`](prometheus_client::metrics::histogram::Histogram::new_classic_and_native).
//!
//! The same server shows the log level at `/log-level`, and a `PUT` changes it until the process ends, to
//! a level such as `debug` or to directives of tracing's `EnvFilter` such as `info,kube=debug`. This needs
//! the verbs `get` and `put` on `/log-level`, and is not served without HTTPS.
//!
//! # Traces
//!
//! The feature `otlp` sends traces to an OpenTelemetry collector, over OTLP (protobuf over HTTP). It
//! takes one line in the project's `Cargo.toml`, here for a project of `kbr init`:
//!
//! ```toml
//! kbr-runtime = { version = "0.1", path = "third_party/kbr-runtime", features = ["otlp"] }
//! ```
//!
//! The next `cargo build` adds the dependencies to `Cargo.lock`; without the feature, none of them is
//! compiled. With it, no traces are sent unless the environment names a collector:
//!
//! | variable | meaning |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector, such as `http://collector:4318`; `/v1/traces` is added |
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the whole URL, instead |
//! | `OTEL_EXPORTER_OTLP_CERTIFICATE` | the file of the CA to trust for HTTPS, instead of the system's |
//! | `OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT` | headers to add; milliseconds for an attempt, 10000 by default |
//! | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | the service of the spans; the program's name by default |
//! | `OTEL_TRACES_SAMPLER`, `_ARG` | the share of traces that is sent; all by default |
//! | `OTEL_BSP_*` | the queue: 2048 spans, sent every 5 s or in batches of 512 |
//!
//! Each reconcile is a trace: a span `reconcile` with `controller`, `object` and `reconcile_id`, as in the
//! log. It contains the requests to the API server, your own spans from level info up, and, as events, what
//! was logged from that level up. An error that is logged in a span marks the span as failed, as does a
//! failed reconcile. The review of a webhook is a span `review`. The log level does not affect traces, and
//! traces do not affect what is logged.
//!
//! No reconcile waits for a collector: when the queue is full, spans are dropped. If a collector refuses
//! spans or does not respond, a warning is logged, at most once a minute. Invalid variables are logged as a
//! warning at startup. [`exit`](crate::exit) sends the remaining spans, for at most a second.
//!
//! # Tasks and checks
//!
//! Anything that runs beside the controllers is a task of the manager. It starts with them, is told
//! to stop with them, has the same grace period, and ends the process if it fails.
//! [`Manager::add_task`](crate::Manager::add_task) runs it on the leader, and
//! [`Manager::add_task_on_every_replica`](crate::Manager::add_task_on_every_replica) on all
//! replicas.
//!
//! [`Manager::add_health_check`](crate::Manager::add_health_check) and
//! [`Manager::add_ready_check`](crate::Manager::add_ready_check) add to `/healthz` and `/readyz`, which
//! report the check that failed.
//!
//! ```no_run
//! # use kbr_runtime::Manager;
//! # async fn refresh() -> Result<(), std::io::Error> { Ok(()) }
//! use std::time::{Duration, Instant};
//!
//! use tokio::sync::watch;
//! use tokio::time::sleep;
//!
//! fn register(manager: &mut Manager) {
//!     let (refreshed, last) = watch::channel(Instant::now());
//!     manager.add_task_on_every_replica("prices", |stop| async move {
//!         while stop.run_until_cancelled(sleep(Duration::from_secs(60))).await.is_some() {
//!             refresh().await?;
//!             refreshed.send_replace(Instant::now());
//!         }
//!         Ok::<_, std::io::Error>(())
//!     });
//!     manager.add_ready_check("prices", move || {
//!         let age = last.borrow().elapsed();
//!         async move {
//!             if age < Duration::from_secs(600) {
//!                 return Ok(());
//!             }
//!             Err(format!("the prices are {age:?} old"))
//!         }
//!     });
//! }
//! ```
//!
//! # Time
//!
//! Use [`Handle::now`], or the manager's [`Clock`], instead of the system's, so that a test can set the time
//! instead of waiting. [`Clock::changes`](crate::Clock::changes) then triggers a reconcile of all objects; with
//! the system's clock it never does.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use std::time::Duration;
//! # use kbr_runtime::{Action, Clock, Controller, Handle, Manager};
//! use k8s_openapi::jiff::{SignedDuration, Timestamp};
//!
//! fn register(manager: &mut Manager) {
//!     let changes = manager.clock().changes();
//!     let controller = Controller::new(manager.all()).reconcile_all_on(changes);
//!     manager.add("greeting", controller, reconcile);
//! }
//!
//! async fn reconcile(greeting: Handle<Greeting>) -> kube::Result<Action> {
//!     let Some(created) = &greeting.metadata.creation_timestamp else {
//!         return Ok(Action::await_change());
//!     };
//!     let due = created.0 + SignedDuration::from_hours(1);
//!     match Duration::try_from(due.duration_since(greeting.now())) {
//!         Ok(wait) if !wait.is_zero() => Ok(Action::requeue(wait)),
//!         // Do here what is due.
//!         _ => Ok(Action::await_change()),
//!     }
//! }
//!
//! # fn test(manager: &mut Manager) {
//! // In a test:
//! let (clock, setter) = Clock::manual(Timestamp::now());
//! manager.set_clock(clock); // Before the controllers ask for it.
//! register(manager);
//! // And while the manager runs:
//! setter.set(Timestamp::now() + SignedDuration::from_hours(2));
//! # }
//! ```
//!
//! # Webhooks
//!
//! The API server calls a [`Defaulter`](crate::webhook::Defaulter) and then a
//! [`Validator`](crate::webhook::Validator) before it stores an object, and a
//! [`Converter`](crate::webhook::Converter) when an object is read or written in a version other than
//! the stored one. Prefer the CRD's schema for what it can express: defaults, formats and CEL rules
//! need no webhook.
//!
//! ```no_run
//! # macro_rules! kind { ($module:ident, $version:literal, $field:ident) => { mod $module {
//! #     #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! #     #[kube(group = "example.com", version = $version, kind = "Greeting", namespaced)]
//! #     pub struct GreetingSpec { pub $field: String }
//! # } } }
//! # kind!(v1, "v1", text);
//! # kind!(v2, "v2", message);
//! use kbr_runtime::Manager;
//! use kbr_runtime::webhook::{AdmissionRequest, BoxError, Converter, Defaulter, Validator};
//! use kbr_runtime::webhook::{FieldError, FieldPath, ValidationOutcome};
//!
//! struct GreetingWebhook;
//!
//! impl Defaulter for GreetingWebhook {
//!     type Object = v2::Greeting;
//!
//!     async fn set_defaults(
//!         &self,
//!         _: &AdmissionRequest,
//!         greeting: &mut v2::Greeting,
//!     ) -> Result<(), BoxError> {
//!         if greeting.spec.message.is_empty() {
//!             greeting.spec.message = "Hello".to_owned();
//!         }
//!         Ok(())
//!     }
//! }
//!
//! impl Validator for GreetingWebhook {
//!     type Object = v2::Greeting;
//!
//!     async fn validate_create(
//!         &self,
//!         request: &AdmissionRequest,
//!         greeting: &v2::Greeting,
//!     ) -> Result<ValidationOutcome, BoxError> {
//!         let mut outcome = ValidationOutcome::default();
//!         if greeting.spec.message.len() > 100 {
//!             let field = FieldPath::new("spec").child("message");
//!             outcome.deny(FieldError::too_long(&field, 100));
//!         }
//!         Ok(outcome)
//!     }
//!
//!     async fn validate_update(
//!         &self,
//!         request: &AdmissionRequest,
//!         _: &v2::Greeting,
//!         new: &v2::Greeting,
//!     ) -> Result<ValidationOutcome, BoxError> {
//!         self.validate_create(request, new).await
//!     }
//! }
//!
//! /// `spec.text` of v1 is `spec.message` of v2. The name and other metadata stay as they are.
//! impl Converter for GreetingWebhook {
//!     type Hub = v2::Greeting;
//!     type Spoke = v1::Greeting;
//!
//!     fn to_hub(&self, spoke: v1::Greeting) -> v2::Greeting {
//!         v2::Greeting::new("", v2::GreetingSpec { message: spoke.spec.text })
//!     }
//!
//!     fn to_spoke(&self, hub: v2::Greeting) -> v1::Greeting {
//!         v1::Greeting::new("", v1::GreetingSpec { text: hub.spec.message })
//!     }
//! }
//!
//! fn register(manager: &mut Manager) {
//!     let webhooks = manager.webhooks();
//!     webhooks.mutate("/mutate-example-com-v2-greeting", GreetingWebhook);
//!     webhooks.validate("/validate-example-com-v2-greeting", GreetingWebhook);
//!     webhooks.convert(GreetingWebhook);
//! }
//! ```
//!
//! The request says who wants to do what. A method may await, for example to read another object,
//! and may fail: that denies the request with an internal error, not as an invalid object. An
//! update is not denied for an error that the object already had in a field that stays unchanged: one that
//! `validate_create` returns for the old object, too. What only `validate_update` returns is a rule for the
//! update, and always denies it. [`RATCHETING`](crate::webhook::Validator::RATCHETING) turns this off.
//! Finalizers can be removed from any object that is being deleted, unless
//! [`validate_finalizing`](crate::webhook::Validator::validate_finalizing) guards them.
//!
//! The paths are those of the webhook configuration in the cluster. They are served with the
//! certificate from `--webhook-cert-path`, or with one of its own, and not at all without one of these flags.
//!
//! With `--webhook-cert-secret=NAME` the manager makes a CA and a certificate, keeps both in that Secret of its own
//! namespace, and writes the CA to the configurations that its flags name and to the CRDs of its converters. All
//! replicas share the Secret, and each looks every ten seconds whether anything has changed. A certificate is valid
//! for 90 days and renewed after 60, its CA for 360 and renewed after 180; the old CA remains trusted until it expires,
//! so no review fails. A Secret that was deleted or cannot be used is replaced, and the log says why. To stop
//! trusting a CA whose key is known to others, scale the manager to 0 and delete the Secret first.
//!
//! The role must allow `create` on `secrets` in that namespace, `get` and `update` on that Secret, and `get` and `update`
//! on these configurations and CRDs.
//!
//! # A test
//!
//! `TestEnv` of the crate [`kbr-testing`](https://docs.rs/kbr-testing) starts a real API server. It
//! installs `config/default`, and runs the operator as its ServiceAccount from there: if a role lacks a
//! rule, the test ends with a message that shows the rule to add. Give each test its own namespace, and
//! wait for what users see, such as a condition. That crate's documentation begins with such a test.
//!
//! No containers run. A test decides what happens to a pod with `TestEnv::kubelet`, which writes the
//! status that a kubelet would.
//!
//! # The names in controller-runtime
//!
//! | controller-runtime | here |
//! |---|---|
//! | `For` | [`Controller::new`]`(`[`manager.all()`](crate::Manager::all)`)` |
//! | `Owns` | [`Controller::owns`] |
//! | `Watches`, `EnqueueRequestsFromMapFunc` | [`Controller::watches`] |
//! | a watch of Secrets and a field index of what mentions them | [`Controller::references`] |
//! | `WatchesRawSource`, `source.Channel` | [`Controller::reconcile_on`] |
//! | `OnlyMetadata` | [`Manager::metadata`] |
//! | `WithEventFilter`, `WithPredicates` | [`Controller::predicates`] |
//! | `MaxConcurrentReconciles` | [`Controller::concurrency`], or `--max-concurrent-reconciles` |
//! | `ReconciliationTimeout` | [`Controller::timeout`] |
//! | `CacheSyncTimeout` | [`Controller::cache_sync_timeout`] |
//! | `RateLimiter` | [`Controller::rate_limit`] |
//! | `NeedLeaderElection` | [`Controller::needs_leader`] |
//! | `EnableWarmup` | [`Controller::warm`] |
//! | `RecoverPanic`, `UsePriorityQueue` | always |
//! | `Reconcile(ctx, req)`, and `Get` of the object | `reconcile(`[`Handle`]`)` |
//! | `Result{RequeueAfter: d}` | [`Action::requeue`] |
//! | `TerminalError` | [`Retry::never`](crate::Retry::never) |
//! | `SetControllerReference`, `CreateOrUpdate` | [`Handle::apply`] |
//! | `IsControlledBy` | [`is_controlled_by`] |
//! | `Status().Patch` | [`Handle::status`] |
//! | `SetStatusCondition` | [`conditions::set`](crate::conditions::set) |
//! | `Recorder.Event` | [`Handle::event`] |
//! | `Get` and `List` of the manager's client | [`Handle::get`], [`Cache::get`], [`Cache::list`] |
//! | `GetAPIReader` | [`Handle::api`] |
//! | `IndexField`, `MatchingFields` | [`Cache::index`], [`Cache::by`] |
//! | `ByObject` with a selector | [`Manager::cache`] |
//! | `Transform` | [`Cache::slim`] |
//! | `ClientCAName` of the webhook server | `--webhook-client-ca` |
//! | `Add(Runnable)` | [`Manager::add_task`], [`Manager::add_task_on_every_replica`] |
//! | `AddHealthzCheck`, `AddReadyzCheck` | [`Manager::add_health_check`], [`Manager::add_ready_check`] |
//!
//! [`Action::await_change`]: crate::Action::await_change
//! [`Action::requeue`]: crate::Action::requeue
//! [`Cache`]: crate::Cache
//! [`Cache::by`]: crate::Cache::by
//! [`Cache::get`]: crate::Cache::get
//! [`Cache::index`]: crate::Cache::index
//! [`Cache::insert`]: crate::Cache::insert
//! [`Cache::list`]: crate::Cache::list
//! [`Cache::on_every_replica`]: crate::Cache::on_every_replica
//! [`Cache::slim`]: crate::Cache::slim
//! [`Clock`]: crate::Clock
//! [`Controller`]: crate::Controller
//! [`Controller::concurrency`]: crate::Controller::concurrency
//! [`Controller::debounce`]: crate::Controller::debounce
//! [`Controller::needs_leader`]: crate::Controller::needs_leader
//! [`Controller::new`]: crate::Controller::new
//! [`Controller::owns`]: crate::Controller::owns
//! [`Controller::pausable`]: crate::Controller::pausable
//! [`Controller::predicates`]: crate::Controller::predicates
//! [`Controller::rate_limit`]: crate::Controller::rate_limit
//! [`Controller::reads`]: crate::Controller::reads
//! [`Controller::pods`]: crate::Controller::pods
//! [`Controller::reconcile_on`]: crate::Controller::reconcile_on
//! [`Controller::references`]: crate::Controller::references
//! [`Controller::cache_sync_timeout`]: crate::Controller::cache_sync_timeout
//! [`Controller::timeout`]: crate::Controller::timeout
//! [`Controller::warm`]: crate::Controller::warm
//! [`Controller::watches`]: crate::Controller::watches
//! [`Handle`]: crate::Handle
//! [`Handle::api`]: crate::Handle::api
//! [`Handle::apply`]: crate::Handle::apply
//! [`Handle::client`]: crate::Handle::client
//! [`Handle::create`]: crate::Handle::create
//! [`Handle::event`]: crate::Handle::event
//! [`Handle::get`]: crate::Handle::get
//! [`Handle::now`]: crate::Handle::now
//! [`Handle::owned`]: crate::Handle::owned
//! [`Handle::pods`]: crate::Handle::pods
//! [`Handle::prune`]: crate::Handle::prune
//! [`Handle::status`]: crate::Handle::status
//! [`Manager::add_health_check`]: crate::Manager::add_health_check
//! [`Manager::add_ready_check`]: crate::Manager::add_ready_check
//! [`Manager::add_task`]: crate::Manager::add_task
//! [`Manager::add_task_on_every_replica`]: crate::Manager::add_task_on_every_replica
//! [`Manager::all`]: crate::Manager::all
//! [`Manager::cache`]: crate::Manager::cache
//! [`Manager::cache_of`]: crate::Manager::cache_of
//! [`Manager::metadata`]: crate::Manager::metadata
//! [`Manager::namespaced`]: crate::Manager::namespaced
//! [`Manager::recorder`]: crate::Manager::recorder
//! [`OwnedError::NameTaken`]: crate::OwnedError::NameTaken
//! [`Problem::of_deployment`]: crate::Problem::of_deployment
//! [`Problem::of_pods`]: crate::Problem::of_pods
//! [`is_controlled_by`]: crate::is_controlled_by
//! [Kubernetes API conventions]: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
