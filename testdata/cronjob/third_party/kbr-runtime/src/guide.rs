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
//! The result says when to run again:
//! [`Action::await_change`](kube::runtime::controller::Action::await_change) after the next change, or
//! [`Action::requeue`](kube::runtime::controller::Action::requeue) also after a delay. One object is
//! never reconciled twice at the same time, and objects are reconciled one after another unless
//! [`Controller::concurrency`](crate::Controller::concurrency) allows more.
//!
//! ```no_run
//! # use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
//! # struct GreetingSpec { text: String }
//! # #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # struct GreetingStatus { conditions: Vec<Condition> }
//! # fn new_status(_: &Greeting, _: &Clock) -> Option<GreetingStatus> { None }
//! use std::sync::Arc;
//!
//! use kbr_runtime::{Clock, Controller, Manager, apply_status};
//! use kube::runtime::{controller::Action, watcher::Config};
//! use kube::{Api, Client, ResourceExt};
//!
//! /// What every reconcile needs besides the object.
//! struct Context { client: Client, clock: Clock }
//!
//! fn register(manager: &mut Manager) {
//!     let (client, clock) = (manager.client(), manager.clock());
//!     let controller = Controller::new(Api::<Greeting>::all(client.clone()), Config::default());
//!     let context = Context { client, clock };
//!     manager.add("greeting", controller, reconcile, Arc::new(context));
//! }
//!
//! async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> kube::Result<Action> {
//!     if greeting.metadata.deletion_timestamp.is_some() {
//!         return Ok(Action::await_change());
//!     }
//!     // Create, update and delete here what `greeting.spec` asks for.
//!     if let Some(status) = new_status(&greeting, &context.clock) {
//!         let namespace = greeting.namespace().unwrap_or_default();
//!         let api = Api::<Greeting>::namespaced(context.client.clone(), &namespace);
//!         apply_status(&api, &greeting, "greeting", &status).await?;
//!     }
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! An object with a deletion timestamp is being deleted. Write nothing for it: in a foreground
//! deletion, Kubernetes first deletes the objects that it owns, and a reconcile that recreates them
//! keeps the deletion from ever completing.
//!
//! # Owned objects
//!
//! An object that a reconcile creates gets an owner reference, from
//! [`controller_owner_ref`](kube::Resource::controller_owner_ref). A change to the created object can
//! then trigger a reconcile of its owner, and Kubernetes deletes it after its owner. The owner must be
//! in the same namespace, or cluster-scoped.
//!
//! Give the object a fixed name, derived from the owner's. A generated name would create a second
//! object if the reconcile ran again before its watch had shown the first.
//!
//! [`Owned::watch`] returns a cache of owned objects, which a controller keeps up to date and which
//! triggers its reconciles. [`Owned::apply`] brings an object to its desired state: it creates or changes
//! it, or sends no request if it is already in that state. It is a server-side apply of the fields that
//! you set. All other fields are left to other writers, and an object with that name that the owner does
//! not control is left alone: [`OwnedError::NameTaken`]. A Rust type writes a required field even if it is
//! empty, such as the selector of a Deployment; fields that are `None` are not written.
//!
//! [`Owned::prune`] deletes objects that the owner controls and no longer needs, such as one with an
//! earlier name. [`Owned::of`] reads the existing objects, without a request, to count them or to copy
//! something to the status. [`is_controlled_by`] tells whether the owner controls an object from
//! elsewhere.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { text: String }
//! # use std::sync::Arc;
//! # use kbr_runtime::{Controller, Manager, Owned, OwnedError};
//! # use kube::{Api, Client, runtime::{controller::Action, watcher::Config}};
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::ResourceExt;
//! use kube::api::ObjectMeta;
//!
//! struct Context { client: Client, config_maps: Owned<Greeting, ConfigMap> }
//!
//! fn register(manager: &mut Manager) {
//!     let client = manager.client();
//!     let config_maps = Owned::watch(Api::all(client.clone()), Config::default());
//!     let controller = Controller::new(Api::<Greeting>::all(client.clone()), Config::default())
//!         .owns_cached(&config_maps);
//! #   let context = Context { client, config_maps };
//! #   manager.add("greeting", controller, reconcile, Arc::new(context));
//!     // ...
//! }
//!
//! async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> Result<Action, OwnedError> {
//!     // Return here if the object is being deleted.
//!     let wanted = ConfigMap {
//!         metadata: ObjectMeta {
//!             name: Some(format!("greeting-{}", greeting.name_any())),
//!             ..ObjectMeta::default()
//!         },
//!         data: Some([("text".to_owned(), greeting.spec.text.clone())].into()),
//!         ..ConfigMap::default()
//!     };
//!     let namespace = greeting.namespace().unwrap_or_default();
//!     let api = Api::<ConfigMap>::namespaced(context.client.clone(), &namespace);
//!     let maps = &context.config_maps;
//!     let applied = maps.apply(&api, &greeting, "greeting", &wanted).await?;
//!     maps.prune(&api, &greeting, &[applied]).await?;
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! [`Controller::owns`](crate::Controller::owns) is enough for a reconcile that neither reads owned
//! objects nor skips writes: it applies with `Api::patch` each time, and nothing is cached. If you write
//! with calls other than those of `Owned`, record the result with [`Owned::insert`] and [`Owned::remove`],
//! so that the next reconcile sees it even before the watch shows it.
//!
//! # Objects that are mentioned
//!
//! A spec may refer to an object that is not owned, such as a Secret that the user has created.
//! [`Controller::references`](crate::Controller::references) reconciles every object that refers to
//! it when it is created, changed or deleted. You say what an object refers to; the controller
//! keeps the index.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { secret: Option<String> }
//! # use {kbr_runtime::Controller, kube::{Api, Client, runtime::watcher::Config}};
//! use k8s_openapi::api::core::v1::Secret;
//! use kube::runtime::reflector::ObjectRef;
//!
//! fn controller(client: Client) -> Controller<Greeting> {
//!     let secrets = Api::<Secret>::all(client.clone());
//!     Controller::new(Api::<Greeting>::all(client), Config::default())
//!         // In the namespace of the Greeting, as the reference names no other.
//!         .references(secrets, Config::default(), |greeting| {
//!             let name = greeting.spec.secret.as_deref();
//!             name.map(ObjectRef::new)
//!         })
//! }
//! ```
//!
//! Only metadata is watched, and the reconcile reads the Secret itself. The role must still allow `list`
//! and `watch` of Secrets, which allows reading all of them: if they are in one namespace, watch only
//! that one and use a Role there.
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
//! # struct Context { client: Client }
//! # async fn publish(_: &Greeting) -> Result<Action, Error> { Ok(Action::await_change()) }
//! # async fn withdraw(_: &Greeting) -> Result<Action, Error> { Ok(Action::await_change()) }
//! # use std::sync::Arc;
//! # use kube::{Api, Client, ResourceExt, runtime::controller::Action};
//! use kube::runtime::finalizer::{self, Event, finalizer};
//!
//! type Outcome = Result<Action, finalizer::Error<Error>>;
//!
//! async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> Outcome {
//!     let namespace = greeting.namespace().unwrap_or_default();
//!     let api = Api::<Greeting>::namespaced(context.client.clone(), &namespace);
//!     finalizer(&api, "example.com/greeting", greeting, |event| async {
//!         match event {
//!             Event::Apply(greeting) => publish(&greeting).await,
//!             // May run more than once, and for what was never published.
//!             Event::Cleanup(greeting) => withdraw(&greeting).await,
//!         }
//!     })
//!     .await
//! }
//! ```
//!
//! This replaces the check of the deletion timestamp. The role needs `patch` on the kind.
//!
//! Adding the finalizer is a separate update, and `Apply` is called in the reconcile that it triggers.
//! A filter on the generation drops that update, since the generation counts changes to the spec and
//! not to the metadata: the object would wait for its first `Apply` until somebody changed it. If you
//! filter, let changes to finalizers through as well:
//!
//! ```no_run
//! # use {k8s_openapi::api::core::v1::ConfigMap as Greeting, kbr_runtime::Controller, kube::Api};
//! use kube::runtime::watcher::{Config, watcher};
//! use kube::runtime::{Predicate, PredicateConfig, WatchStreamExt, predicates, reflector};
//!
//! # fn controller(api: Api<Greeting>) -> Controller<Greeting> {
//! let (store, writer) = reflector::store();
//! let filter = predicates::generation.combine(predicates::finalizers);
//! let changed = watcher(api, Config::default())
//!     .reflect(writer)
//!     .applied_objects()
//!     .predicate_filter(filter, PredicateConfig::default());
//! Controller::for_stream(changed, store)
//! # }
//! ```
//!
//! # Conditions and the status
//!
//! The status says what the operator has observed. Its conditions follow the [Kubernetes API
//! conventions]; [`conditions::set`](crate::conditions::set) follows them. Other controllers may write
//! conditions to the same object, so apply only your own, and all of them each time: a condition that
//! you applied before and now omit is removed.
//!
//! Write nothing when nothing has changed. A write triggers another reconcile, so a status that
//! differs each time, such as one with the current time or a changing error text, is written again
//! and again, endlessly.
//!
//! ```
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced, status = "GreetingStatus")]
//! # struct GreetingSpec { text: String }
//! use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
//! use kbr_runtime::Clock;
//! use kbr_runtime::conditions::{self, ConditionStatus};
//!
//! #[derive(Clone, Debug, Default, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! struct GreetingStatus {
//!     // `kbr manifests` adds this to the CRD by itself.
//!     #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
//!     conditions: Vec<Condition>,
//! }
//!
//! /// The status to apply, or `None` if the object has it already.
//! fn new_status(greeting: &Greeting, clock: &Clock) -> Option<GreetingStatus> {
//!     let mut status = greeting.status.clone().unwrap_or_default();
//!     status.conditions = conditions::of_types(&status.conditions, &["Ready"]);
//!     let (yes, generation) = (ConditionStatus::True, greeting.metadata.generation);
//!     let ready = conditions::new("Ready", yes, "Published", generation, clock.now());
//!     conditions::set(&mut status.conditions, ready).then_some(status)
//! }
//!
//! let mut greeting = Greeting::new("hello", GreetingSpec { text: "Hello".to_owned() });
//! greeting.status = new_status(&greeting, &Clock::system());
//! assert!(greeting.status.is_some());
//! assert!(new_status(&greeting, &Clock::system()).is_none());
//! ```
//!
//! The list type `map` with the key `type` makes each condition a field with its own field manager.
//! Without it, the list is one field, and [`apply_status`](crate::apply_status) replaces the
//! conditions of other controllers.
//!
//! # Errors and retries
//!
//! A reconcile that fails, panics or takes longer than [`Controller::timeout`](crate::Controller::timeout)
//! is logged and runs again after a delay that doubles with each consecutive failure, from 5 ms to 1000 s,
//! or after the delay that the API server asks for. A rejected write, such as a 409 Conflict, needs no
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
//! # struct Context;
//! # async fn publish(_: &Greeting) -> Result<bool, kube::Error> { Ok(true) }
//! # use std::{sync::Arc, time::Duration};
//! # use kube::runtime::controller::Action;
//! use kbr_runtime::Retry;
//!
//! #[derive(Debug, thiserror::Error)]
//! enum Error {
//!     #[error(transparent)]
//!     Retry(#[from] Retry),
//!     #[error("could not publish")]
//!     Publish(#[from] kube::Error),
//! }
//!
//! async fn reconcile(greeting: Arc<Greeting>, _: Arc<Context>) -> Result<Action, Error> {
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
//! thousand wait to be published, and the rest are left out. [`Owned::of`](crate::Owned::of) returns an
//! error for the owner of such an object. Give each new field of a type a default (`#[serde(default)]` or `Option`): objects that were
//! stored earlier do not have it.
//!
//! # Objects that are paused
//!
//! With [`Controller::pausable`](crate::Controller::pausable) anyone who may write an object can make
//! the operator leave it alone, to fix something manually: while the annotation that you name is
//! `true`, the object is not reconciled. Its deletion is still handled.
//!
//! ```no_run
//! # #[derive(kube::CustomResource, Clone, Debug, serde::Deserialize, schemars::JsonSchema, serde::Serialize)]
//! # #[kube(group = "example.com", version = "v1", kind = "Greeting", namespaced)]
//! # struct GreetingSpec { text: String }
//! # use {kbr_runtime::Controller, kube::{Api, Client, runtime::watcher::Config}};
//! fn controller(client: Client) -> Controller<Greeting> {
//!     Controller::new(Api::<Greeting>::all(client), Config::default())
//!         .pausable("example.com/paused")
//! }
//! ```
//!
//! The condition `Paused` reports this, if the kind has `status.conditions`. The role must allow `patch`
//! of the status, as for [`apply_status`](crate::apply_status). A paused object is not corrected, and
//! others may change or delete its owned objects in the meantime; when it is resumed, it is reconciled
//! at once.
//!
//! # The order of reconciles
//!
//! At startup every object is reconciled, which takes a while with thousands of them. An object that is
//! created or changed in the meantime goes first: it waits only for running reconciles and for every
//! fourth turn, which goes to the older objects, so that they all get their turn however much changes. The
//! same holds for the objects that a watch lists when it starts over. Changed objects are reconciled first
//! come, first served. kube, which runs the reconciles, gets one object in advance, or as many as take two
//! milliseconds: these are no longer overtaken.
//!
//! Requeued objects compete with both when their delay is over. With
//! [`Controller::debounce`](crate::Controller::debounce) or without a concurrency limit, there is no
//! order.
//!
//! # What is kept in memory
//!
//! A controller keeps each of its objects, and [`Owned`](crate::Owned) each object that one of them controls,
//! as the JSON that the API server sent, without `metadata.managedFields`, and parses it again when a
//! reconcile needs it. The Rust type would need several times the memory, since it reserves space for every
//! field that could be set: an object with a pod template takes 2 to 3 KB instead of 7 to 8. Parsing takes a
//! few microseconds, while a request takes milliseconds.
//!
//! [`Owned::watch_with`](crate::Owned::watch_with) leaves out what is never read. Objects that are only
//! watched for changes ([`Controller::owns`](crate::Controller::owns),
//! [`Controller::references`](crate::Controller::references)) are not kept.
//! [`Controller::for_stream`](crate::Controller::for_stream) keeps only what your store keeps.
//!
//! # Events
//!
//! [`Manager::recorder`](crate::Manager::recorder) is kube's
//! [`Recorder`](kube::runtime::events::Recorder), one for each controller name, so that a repeated event
//! increases the count of the existing one. The role must allow `create` and `patch` of `events` in
//! `events.k8s.io`.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use kbr_runtime::Manager;
//! use kube::Resource;
//! use kube::runtime::events::{Event, EventType, Recorder};
//!
//! struct Context { recorder: Recorder }
//!
//! fn context(manager: &mut Manager) -> Context {
//!     Context { recorder: manager.recorder("greeting") }
//! }
//!
//! // +kbr:rbac:groups=events.k8s.io,resources=events,verbs=create;patch
//!
//! async fn refused(greeting: &Greeting, context: &Context) {
//!     let event = Event {
//!         type_: EventType::Warning,
//!         reason: "Refused".to_owned(),
//!         action: "Publish".to_owned(),
//!         note: Some("the other system does not take this text".to_owned()),
//!         secondary: None,
//!     };
//!     // An event is a courtesy: nothing fails without it.
//!     if let Err(error) = context.recorder.publish(&event, &greeting.object_ref(&())).await {
//!         tracing::warn!(%error, "event not published");
//!     }
//! }
//! ```
//!
//! The first note is kept. Events with different notes need different reasons, or different
//! `secondary` objects.
//!
//! # Stale reads
//!
//! The object that a reconcile gets comes from a watch, which may not show the last write yet. Where
//! acting on stale state does harm, check [`Expectations`] first. If they are not satisfied, requeue
//! shortly. Owned objects have [`Owned::insert`](crate::Owned::insert) for the same purpose.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use std::{sync::Arc, time::Duration};
//! # use kbr_runtime::{Expectations, apply_status};
//! # use kube::{Api, runtime::controller::Action};
//! struct Context { api: Api<Greeting>, expectations: Expectations<Greeting> }
//!
//! async fn reconcile(greeting: Arc<Greeting>, context: Arc<Context>) -> kube::Result<Action> {
//!     if !context.expectations.satisfied_by(&greeting) {
//!         return Ok(Action::requeue(Duration::from_secs(1)));
//!     }
//!     // ...
//! #   let status = ();
//!     let written = apply_status(&context.api, &greeting, "greeting", &status).await?;
//!     context.expectations.expect(&written);
//!     Ok(Action::await_change())
//! }
//! ```
//!
//! # Several replicas
//!
//! With `--leader-elect` a manager runs its controllers only while it holds a Lease
//! (`coordination.k8s.io`), and serves webhooks and probes all the time. `--leader-election-id` is the
//! name of the Lease; its namespace is the pod's, or that of `--leader-election-namespace`. Fields and
//! timings are those of client-go: a Lease is valid for 15 s, and is renewed every 2 s.
//!
//! The manager does not create the Lease. Install it with the operator, without a `spec`, and allow the
//! operator `get`, `update` and `watch` on this Lease only, with its name in the role's
//! `resourceNames`, as the manifests of `kbr init` do. If the Lease is deleted, the leader exits, and
//! all replicas wait until it is installed again.
//!
//! `--leader-elect-lease-duration`, `--leader-elect-renew-deadline` and `--leader-elect-retry-period` change
//! these times, and mean what they mean for Kubernetes' own components.
//!
//! The identity of the holder is the downward API variable `POD_NAME`, or else `HOSTNAME`, with a number that
//! is new for each process, as in client-go. So the process of a container that restarts after a crash waits
//! until the Lease of the last one has expired.
//!
//! A leader that cannot renew the Lease for 10 s exits with code 1, at the latest two seconds later, even if
//! a reconcile blocks its thread. It starts no request in that time, not even if it was suspended and resumes
//! later. Data that it handed to the kernel before may still
//! arrive. So a reconcile should write with the resource version that it has read, as
//! [`apply_status`](crate::apply_status) does, and create objects with fixed names.
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
//! # use std::sync::Arc;
//! # use kbr_runtime::{Controller, Manager, Owned};
//! # use kube::{Api, Client, runtime::{controller::Action, watcher::Config}};
//! # struct Context { client: Client, config_maps: Owned<Greeting, ConfigMap> }
//! # async fn reconcile(_: Arc<Greeting>, _: Arc<Context>) -> kube::Result<Action> { Ok(Action::await_change()) }
//! fn register(manager: &mut Manager) {
//!     for namespace in manager.namespaces() {
//!         let client = manager.client();
//!         let config_maps = Api::namespaced(client.clone(), &namespace);
//!         let config_maps = Owned::watch(config_maps, Config::default());
//!         let greetings = Api::<Greeting>::namespaced(client.clone(), &namespace);
//!         let controller = Controller::new(greetings, Config::default()).owns_cached(&config_maps);
//!         let context = Context { client, config_maps };
//!         manager.add("greeting", controller, reconcile, Arc::new(context));
//!     }
//! }
//! ```
//!
//! They come from `$WATCH_NAMESPACE`, separated by commas. Each controller has its own watch, its own cache
//! and its own workers: [`Controller::concurrency`](crate::Controller::concurrency) applies to each. Its
//! context holds what belongs to its namespace. In logs and metrics, the controllers share a name.
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
//! - `workqueue_depth` and `workqueue_queue_duration_seconds` cover objects that wait after a change. Only
//!   kube knows when a requeued or retried object is due; such an object is counted in
//!   `workqueue_adds_total` when its reconcile starts.
//! - `controller_runtime_max_concurrent_reconciles` is 0 for a controller without a limit.
//! - `certwatcher_read_certificate_total` increases when the files of a certificate have changed.
//! - `rest_client_requests_total` counts the requests of [`Manager::client`](crate::Manager::client),
//!   without those for the Lease and for reviews.
//!
//! Two gauges have no counterpart there. Both have the label `resource`, such as `jobs.batch`, and are worth an
//! alert when they stay above 0:
//!
//! - `kbr_failing_watches`: the watches of the resource that have failed, and whose next request the API
//!   server has not accepted yet. A role may lack `watch`, or the CRD may not be installed.
//! - `kbr_unreadable_objects`: the objects that do not fit their Rust type and are skipped. An object counts
//!   once for each watch that has it.
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
//! Use the manager's [`Clock`] instead of the system's, so that a test can set the time instead of
//! waiting. [`Clock::changes`](crate::Clock::changes) then triggers a reconcile of all objects; with
//! the system's clock it never does.
//!
//! ```no_run
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # use std::{sync::Arc, time::Duration};
//! # use kbr_runtime::{Clock, Controller, Manager};
//! # use kube::{Api, runtime::{controller::Action, watcher::Config}};
//! use k8s_openapi::jiff::{SignedDuration, Timestamp};
//!
//! fn register(manager: &mut Manager) {
//!     let clock = manager.clock();
//!     let controller = Controller::new(Api::<Greeting>::all(manager.client()), Config::default())
//!         .reconcile_all_on(clock.changes());
//!     manager.add("greeting", controller, reconcile, Arc::new(clock));
//! }
//!
//! async fn reconcile(greeting: Arc<Greeting>, clock: Arc<Clock>) -> kube::Result<Action> {
//!     let Some(created) = &greeting.metadata.creation_timestamp else {
//!         return Ok(Action::await_change());
//!     };
//!     let due = created.0 + SignedDuration::from_hours(1);
//!     match Duration::try_from(due.duration_since(clock.now())) {
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
//! certificate from `--webhook-cert-path`, and not at all without that flag.
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
//! [`Controller`]: crate::Controller
//! [`Owned::apply`]: crate::Owned::apply
//! [`Owned::insert`]: crate::Owned::insert
//! [`Owned::of`]: crate::Owned::of
//! [`Owned::prune`]: crate::Owned::prune
//! [`Owned::remove`]: crate::Owned::remove
//! [`Owned::watch`]: crate::Owned::watch
//! [`OwnedError::NameTaken`]: crate::OwnedError::NameTaken
//! [`is_controlled_by`]: crate::is_controlled_by
//! [`Expectations`]: crate::Expectations
//! [`Clock`]: crate::Clock
//! [Kubernetes API conventions]: https://github.com/kubernetes/community/blob/master/contributors/devel/sig-architecture/api-conventions.md#typical-status-properties
