// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A guide to writing an operator with this crate.
//!
//! The examples are about one kind, `Greeting`, whose text is published in a ConfigMap. The README
//! shows it as a whole operator in one file, with its `main` and its CRD.
//!
//! # A controller, from watch to status
//!
//! A [`Controller`] watches the objects of one kind. It calls `reconcile` for each object when the
//! operator starts, and again after each change. A reconcile is not told what has changed: it compares
//! what the object asks for with what there is, and writes the difference. It may run at any time and
//! any number of times, so a second run in a row must change nothing.
//!
//! The result says when to run again:
//! [`Action::await_change`](kube::runtime::controller::Action::await_change) after the next change, or
//! [`Action::requeue`](kube::runtime::controller::Action::requeue) after a delay as well. One object is
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
//! An object with a deletion timestamp is being deleted. Write nothing for it: in a foreground deletion
//! Kubernetes deletes what the object owns first, and a reconcile that creates it again keeps the
//! deletion from ever ending.
//!
//! # Owned objects
//!
//! What a reconcile creates for an object gets an owner reference to it, from
//! [`controller_owner_ref`](kube::Resource::controller_owner_ref). Then a change of the created object
//! can trigger its owner's reconcile, and Kubernetes deletes it after its owner. The owner must
//! be in the same namespace, or cluster-scoped.
//!
//! Give the object a fixed name, made from the owner's. A generated name would give a second object
//! when the reconcile runs again before its watch has shown the first.
//!
//! [`Owned::watch`] returns a cache of what is owned, which a controller keeps up to date and is triggered
//! by. [`Owned::apply`] has an object be as it is wanted: it creates it, changes it, or sends no request
//! if it is as it should be. It is a server-side apply of the fields that you set. All other fields are
//! left to others, and an object of that name that the owner does not control is left alone:
//! [`OwnedError::NameTaken`]. A Rust type writes a field that it requires even if it is empty, such as
//! the selector of a Deployment; what is `None` is not written.
//!
//! [`Owned::prune`] deletes what the owner controls and no longer wants, such as an object under an
//! earlier name. [`Owned::of`] reads what there is, without a request, to count it or to copy something
//! to the status. [`is_controlled_by`] tells whether an object from elsewhere is the owner's.
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
//! [`Controller::owns`](crate::Controller::owns) is enough for a reconcile that neither reads nor skips:
//! it applies with `Api::patch` each time, and nothing is cached. What you write by other calls than those
//! of `Owned`, tell it with [`Owned::insert`] and [`Owned::remove`], so that the next reconcile sees it
//! even before the watch shows it.
//!
//! # Objects that are mentioned
//!
//! A spec may name an object that is not owned, such as a Secret that the user has made.
//! [`Controller::references`](crate::Controller::references) reconciles whoever names it when it is
//! created, changed or deleted. Say what an object mentions; the controller keeps the index.
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
//! Only metadata is watched, and the reconcile reads the Secret itself. Still the role must allow `list`
//! and `watch` of Secrets, which is to read them all: where they are in one namespace, watch that one
//! and give a Role there.
//!
//! # A finalizer
//!
//! What Kubernetes does not delete by itself, such as a record in another system, needs a finalizer:
//! the object stays until the operator has cleaned up. [`finalizer`](kube::runtime::finalizer()) adds
//! it, calls your code with `Apply` or `Cleanup`, and removes it after a successful cleanup.
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
//! This takes the place of the check of the deletion timestamp. The role needs `patch` on the kind.
//!
//! Adding the finalizer is an update of its own, and `Apply` comes with the reconcile that it triggers.
//! A filter on the generation drops that update, since the generation counts changes of the spec, and
//! not of the metadata: the object would wait for its first `Apply` until somebody changes it. If you
//! filter, let the finalizers through as well:
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
//! conventions]; [`conditions::set`](crate::conditions::set) keeps to them. Others may write conditions
//! to the same object, so apply only those that are your own, and all of them each time: what you
//! applied before and leave out is removed.
//!
//! Write nothing when nothing has changed. A write triggers another reconcile, so a status that is
//! different each time, such as one with the current time or with an error text that changes, is
//! written again and again without end.
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
//! The list type `map` with the key `type` makes each condition a field with an owner of its own.
//! Without it the list is one field, and [`apply_status`](crate::apply_status) replaces the conditions
//! of others.
//!
//! # Errors and retries
//!
//! A reconcile that fails, panics or takes longer than [`Controller::timeout`](crate::Controller::timeout)
//! is logged, and runs again after a delay that doubles from 5 ms to 1000 s with each failure in a row,
//! or as long as the API server asks for. A refused write, such as 409 Conflict, needs nothing else.
//! The client repeats no request by itself, and gives up one that is not answered within 30 seconds.
//!
//! Keep the [`kube::Error`] as the source of yours (`#[source]` or `#[from]`): it is looked for there.
//!
//! An error of the user, such as a value that makes no sense, belongs in a condition: set it and return
//! `Ok`. Where that is not enough, [`Retry`](crate::Retry) among an error and its sources says when the
//! object is tried again:
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
//! An object that is not retried is reconciled again after the next change of it or of anything else
//! that its controller watches for it, such as what it owns; when a watch begins anew; and when an
//! operator starts or begins to lead. Where it is not the error that knows, such as one of another
//! crate, add the controller with
//! [`Manager::add_with_error_policy`](crate::Manager::add_with_error_policy): its function is given
//! each error first.
//!
//! # Objects that cannot be read
//!
//! The schema may let in what the Rust type does not take, such as a number that is too large, or an
//! object may be older than a field that the type requires. One such object blocks no other: it is
//! logged with the field, told in an event with the reason `Unreadable`, and not reconciled until it can
//! be read. [`Owned::of`](crate::Owned::of) returns an error for the owner of such an object. Give each
//! new field of a type a default (`#[serde(default)]` or `Option`): objects that were stored before do
//! not have it.
//!
//! # Objects that are paused
//!
//! With [`Controller::pausable`](crate::Controller::pausable) whoever may write an object can have the
//! operator leave it alone, to mend something by hand: while the annotation that you name is `true`,
//! reconciles are not called for it. Its deletion runs all the same.
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
//! The condition `Paused` tells of it, if the kind has `status.conditions`. The role must allow `patch`
//! of the status, as for [`apply_status`](crate::apply_status). What is paused is not corrected, and its
//! owned objects may be changed or deleted by others meanwhile; when it is resumed it is reconciled at
//! once.
//!
//! # The order of reconciles
//!
//! At the start each object is reconciled, and with thousands of them that takes its time. An object that
//! is created or changed meanwhile goes before them: it waits for what is running, and for one of four
//! turns at most that is given to the old ones, so that they come to an end however much changes. The
//! same holds for what a watch lists when it begins anew. Among changes, first come is first served. kube,
//! which runs the reconciles, is given one object ahead, or what takes two milliseconds: these are not
//! overtaken any more.
//!
//! Objects that come back after a delay compete with both when it is over. With
//! [`Controller::debounce`](crate::Controller::debounce) or without a limit of the concurrency there is
//! no order.
//!
//! # What is kept in memory
//!
//! A controller keeps each of its objects, and [`Owned`](crate::Owned) each object that one of them controls,
//! as the JSON that the API server has sent without `metadata.managedFields`, and reads it anew when a
//! reconcile wants it. The Rust type would need several times the memory, since it has a place for each field that might be
//! there: an object with the template of a pod takes 2 to 3 KB and not 7 to 8. Reading it takes some
//! microseconds, where one request takes milliseconds.
//!
//! [`Owned::watch_with`](crate::Owned::watch_with) leaves out what is never read. Of what is only watched for changes
//! ([`Controller::owns`](crate::Controller::owns), [`Controller::references`](crate::Controller::references))
//! no object is kept. [`Controller::for_stream`](crate::Controller::for_stream) keeps what you keep.
//!
//! # Events
//!
//! [`Manager::recorder`](crate::Manager::recorder) is kube's
//! [`Recorder`](kube::runtime::events::Recorder), one for each name of a controller, so that a
//! repetition counts up the event that is there. The role must allow `create` and `patch` of `events` in
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
//! The first note stays. Two events whose notes differ need another reason, or another `secondary`
//! object.
//!
//! # Stale reads
//!
//! The object that a reconcile gets comes from a watch, which may not show the last write yet. Where
//! acting on the old state does harm, ask [`Expectations`] first. If they are not satisfied, come
//! back soon. Owned objects have [`Owned::insert`](crate::Owned::insert) for the
//! same purpose.
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
//! timings are client-go's: a Lease is good for 15 s, and is renewed each 2 s.
//!
//! The Lease is not created by the manager. Install it with the operator, without a `spec`, and allow
//! the operator `get`, `update` and `watch` for it alone, by its name in the role's `resourceNames`, as
//! the manifests of `kbr init` do. A Lease that is deleted ends the leader, and all wait until it is
//! installed again.
//!
//! Downward API variables `POD_NAME` and `POD_UID` make the holder's identity: with them, a container
//! that is started anew gets its own Lease back at once.
//!
//! A leader that cannot renew the Lease for 10 s ends with exit code 1, and starts no request from then
//! on, not even if it was stopped and goes on later. What it has handed to the kernel before may still
//! arrive. So a reconcile should write with the version that it has read, as
//! [`apply_status`](crate::apply_status) does, and create objects under a fixed name.
//!
//! # Several namespaces
//!
//! An operator that may not watch the whole cluster watches namespaces, and adds a controller for each
//! of [`Manager::namespaces`](crate::Manager::namespaces):
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
//! They are what `$WATCH_NAMESPACE` says, with a comma between two. Each controller has its own watch, its
//! own cache and its own workers: [`Controller::concurrency`](crate::Controller::concurrency) counts in each.
//! What it has in its context is of its namespace. In logs and metrics they share a name.
//!
//! No request is for the whole cluster, so a Role in each namespace is enough. It must also allow `get` of
//! `namespaces`, by which a Role allows to read the namespace that it is in: at the start the manager asks
//! for each, and ends with an error that names the one that it does not get, before anything starts. While
//! the API server does not answer, it starts and asks again.
//!
//! # Metrics and the log level
//!
//! A manager counts what one of controller-runtime 0.24 counts, with the same names, labels and buckets:
//! `controller_runtime_*`, `workqueue_*`, `rest_client_requests_total`, `certwatcher_*`,
//! `leader_election_master_status` and `process_*`. Dashboards and alerts for those work unchanged.
//! These differ:
//!
//! - `workqueue_depth` and `workqueue_queue_duration_seconds` are of objects that wait after a change. When
//!   one is due that a reconcile has asked for, or that is repeated after an error, is known to kube alone;
//!   such an object is in `workqueue_adds_total` when its reconcile starts.
//! - `controller_runtime_max_concurrent_reconciles` is 0 for a controller without a limit.
//! - `certwatcher_read_certificate_total` grows when the files of a certificate have changed.
//! - `rest_client_requests_total` has the requests of [`Manager::client`](crate::Manager::client), without
//!   those for the Lease and for reviews.
//!
//! [`Metrics::register`](crate::Metrics::register) adds one of yours:
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
//! `--metrics-bind-address=:8443` serves them at `/metrics`, in the text format of OpenMetrics, over HTTPS.
//! The certificate is in the folder `--metrics-cert-path` and is read again when it changes; without that
//! flag it is made at the start, and nobody can verify it.
//!
//! Whoever asks needs a bearer token (else 401) of an account to which a role allows the verb `get` for the
//! `nonResourceURLs` `/metrics` (else 403). The manager asks the API server for that: its own role must
//! allow `create` of `tokenreviews.authentication.k8s.io` and `subjectaccessreviews.authorization.k8s.io`.
//! Whose token it is is remembered for a minute, a right for five, and a refusal for half a minute.
//! `--metrics-secure=false` serves `/metrics` to everyone over HTTP.
//!
//! The feature `native-histograms` of this crate gives the manager's histograms native buckets beside
//! their own, each at most a tenth wider than the last. They are in Prometheus' protobuf format alone, which
//! a scraper gets that prefers it in its `Accept`, as Prometheus does with `scrape_native_histograms: true`
//! (`scrapeNativeHistograms` of a ServiceMonitor); all others get the text. One of yours has them with
//! [`Histogram::new_classic_and_native`](prometheus_client::metrics::histogram::Histogram::new_classic_and_native).
//!
//! The same server shows what is logged at `/log-level`, and a `PUT` changes it until the process ends, to
//! a level such as `debug` or to directives of tracing's `EnvFilter` such as `info,kube=debug`. That needs
//! the verbs `get` and `put` for `/log-level`, and is not served without HTTPS.
//!
//! # Traces
//!
//! The feature `otlp` sends traces to a collector of OpenTelemetry, over OTLP (protobuf over HTTP). It is
//! one line in the project's `Cargo.toml`, here that of a project of `kbr init`:
//!
//! ```toml
//! kbr-runtime = { version = "0.1", path = "third_party/kbr-runtime", features = ["otlp"] }
//! ```
//!
//! The next `cargo build` writes to `Cargo.lock` what that needs; without the feature nothing of it is
//! compiled. With it, nothing is done unless the environment names a collector:
//!
//! | variable | means |
//! |---|---|
//! | `OTEL_EXPORTER_OTLP_ENDPOINT` | the collector, such as `http://collector:4318`; `/v1/traces` is added |
//! | `OTEL_EXPORTER_OTLP_TRACES_ENDPOINT` | the whole URL, instead |
//! | `OTEL_EXPORTER_OTLP_CERTIFICATE` | the file of the authority to trust for HTTPS, instead of the system's |
//! | `OTEL_EXPORTER_OTLP_HEADERS`, `_TIMEOUT` | what to send along; milliseconds for an attempt, 10000 unless set |
//! | `OTEL_SERVICE_NAME`, `OTEL_RESOURCE_ATTRIBUTES` | whose spans they are; the program's name unless set |
//! | `OTEL_TRACES_SAMPLER`, `_ARG` | which share of them is sent; all unless set |
//! | `OTEL_BSP_*` | the queue: 2048 spans, sent each 5 s or by 512 |
//!
//! Each reconcile is a trace: a span `reconcile` with `controller`, `object` and `reconcile_id`, as the log
//! has them. In it are the requests that it sent to the API server, your own spans from level info on, and
//! as events what was logged from that level on. An error that is logged in a span marks the span as
//! failed, as the failure of a reconcile is. The review of a webhook is a span `review`. The log level has no
//! influence on traces, and traces have none on what is logged.
//!
//! No reconcile waits for a collector: when the queue is full, spans are dropped. A collector
//! that refuses them or does not answer is a warning in the log, once a minute at most. An environment that
//! cannot be used is a warning at the start. [`exit`](crate::exit) sends what is left, for at most a second.
//!
//! # Tasks and checks
//!
//! What runs beside the controllers is a task of the manager. It starts with them, is told to stop as
//! they are, has the same grace period, and ends the process if it fails.
//! [`Manager::add_task`](crate::Manager::add_task) runs it in the replica that leads, and
//! [`Manager::add_task_on_every_replica`](crate::Manager::add_task_on_every_replica) in all of them.
//!
//! [`Manager::add_health_check`](crate::Manager::add_health_check) and
//! [`Manager::add_ready_check`](crate::Manager::add_ready_check) add to `/healthz` and `/readyz`, which
//! name the check that failed.
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
//! Ask the manager's [`Clock`] and not the system's, and a test can set the time instead of waiting.
//! [`Clock::changes`](crate::Clock::changes) then triggers a reconcile of all objects; on the system's
//! clock it never does.
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
//! [`Converter`](crate::webhook::Converter) when an object is read or written in another version than
//! the stored one. Prefer the CRD's schema for what it can say: defaults, formats and CEL rules need no
//! webhook.
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
//! The request says who asks for what. A method may await, such as a look-up of another object, and
//! fail: that denies the request as an internal error, and not as a wrong object. An update is not
//! refused for an error that the object had before in a field that is left as it was.
//!
//! The paths are those of the webhook configuration in the cluster. They are served with the
//! certificate of `--webhook-cert-path`, and not at all without that flag.
//!
//! # A test
//!
//! With the feature `testing`, [`TestEnv`](crate::testing::TestEnv) starts a real API server. It
//! installs what is in `config/default`, and runs the operator as the ServiceAccount that it has there:
//! a role that lacks a rule ends the test, with the rule to add. Give each test a namespace of its own,
//! and wait for what users see, such as a condition.
//!
#![cfg_attr(feature = "testing", doc = "```no_run")]
#![cfg_attr(not(feature = "testing"), doc = "```ignore")]
//! # use k8s_openapi::api::core::v1::ConfigMap as Greeting;
//! # fn register(_: &mut kbr_runtime::Manager) {}
//! # fn is_ready(_: Option<&Greeting>) -> bool { true }
//! use kbr_runtime::testing::TestEnv;
//! use kube::api::PostParams;
//! use kube::{Api, ResourceExt};
//!
//! # async fn a_greeting_becomes_ready() -> Result<(), Box<dyn std::error::Error>> {
//! let env = TestEnv::start(env!("CARGO_MANIFEST_DIR"))?;
//! env.start_operator(register)?;
//!
//! let api = Api::<Greeting>::namespaced(env.admin(), &env.namespace().await);
//! let sample = env.read("config/samples/greeting.yaml");
//! let greeting = api.create(&PostParams::default(), &sample).await?;
//!
//! env.wait_for(&api, &greeting.name_any(), is_ready).await;
//! # Ok(())
//! # }
//! ```
//!
//! One environment serves all tests of a binary: put it into a `static` `LazyLock`.
//!
//! No container runs. A test says what becomes of a pod with
//! [`TestEnv::kubelet`](crate::testing::TestEnv::kubelet), which writes what a kubelet would:
//!
#![cfg_attr(feature = "testing", doc = "```no_run")]
#![cfg_attr(not(feature = "testing"), doc = "```ignore")]
//! # use k8s_openapi::api::core::v1::Pod;
//! # use kbr_runtime::testing::TestEnv;
//! # async fn a_pod_fails(env: &TestEnv, pod: &Pod) {
//! env.kubelet().run(pod).await;
//! env.kubelet().fail(pod, 1).await;
//! # }
//! ```
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
