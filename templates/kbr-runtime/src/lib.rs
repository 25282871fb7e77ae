// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A library for Kubernetes operators: what controller-runtime is for Go, on the client and the watcher of
//! [`kube`]. What envtest is for Go is in the crate `kbr-testing`.
//!
//! Start with the [`guide`]. The README has a whole small operator in one file.
//!
//! # kube
//!
//! This crate uses kube's [`Client`](::kube::Client), [`Api`](::kube::Api), [`watcher`](::kube::runtime::watcher()),
//! [`Predicate`](::kube::runtime::Predicate) and [`Event`](::kube::runtime::events::Event). It replaces kube's
//! `Controller`, `Action`, `Store`, `Recorder` and `finalizer`, the delays of watches, and the retries of requests. The README gives
//! the reason for each, and [`guide::kube_rs`] the new name.
//!
//! # The feature `manager`
//!
//! This is the default feature, for the operator itself.
//!
//! - [`Manager`] creates the client, runs controllers, tasks, [`webhook`]s, health probes and a metrics
//!   server, and shuts them down in order. With `--leader-elect`, only one of several replicas runs the
//!   controllers. It watches the whole cluster or some namespaces. [`Flags`] are its command-line flags.
//! - [`Controller`] says what is watched, and how many objects are reconciled at the same time, in which order,
//!   with which deadlines and delays. Panics and unreadable objects are isolated.
//! - [`Handle`] is the object in a reconcile: it reads and writes what the object owns, its status and its events.
//! - [`Cache`] has the objects of a kind, its own writes included.
//! - [`Retry`] is an error that says when its object is retried, or that it is not.
//! - [`Clock`] tells the time, which tests can set.
//! - [`Metrics`] has the metrics of controller-runtime, and your own.
//! - [`conditions`] are for the status, and [`Problem`] says why pods do not run.
//!
//! `certificates`, `conversion` and `plan` are parts of it with features of their own, off by default: the
//! certificates that the manager issues for its webhooks, conversion webhooks, and the flag `--plan`.
//!
//! The features `otlp` and `native-histograms` add traces and native histograms; see the [`guide`].
//!
//! # Tests
//!
//! The crate `kbr-testing` is for dev-dependencies. It starts etcd and kube-apiserver on loopback,
//! installs the project's manifests, provides clients with the permissions of the deployed manager, and
//! runs the operator in the test process.
//!
//! # The modules
//!
//! Each module uses only those before it, from left to right and line by line. A `+` joins two that use each other.
//!
//! ```text
//! values    action address chain clock conditions diff lock key owned_error problem random reading retry target backoff
//! process   error flags logging+otlp running thread signals exit
//! counts    metrics warnings
//! work      queue workers
//! requests  gate client plan api_server events
//! objects   cache+watch handle hold pause referenced restless reconciler controller
//! servers   certificate http_server webhook issuer metrics_server checks health probes
//! manager   election namespaces manager
//! outside   guide internal
//! ```
//!
//! # The version of Kubernetes
//!
//! The program chooses it with one of the features of [`k8s_openapi`], such as `v1_37`, as with every
//! library that uses that crate.

#![cfg_attr(
    not(all(
        feature = "certificates",
        feature = "conversion",
        feature = "manager",
        feature = "plan"
    )),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "what is not compiled has no docs"
    )
)]

#[cfg(feature = "manager")]
mod action;
#[cfg(feature = "manager")]
mod address;
#[cfg(feature = "manager")]
mod api_server;
#[cfg(feature = "manager")]
mod backoff;
#[cfg(feature = "manager")]
mod cache;
#[cfg(feature = "manager")]
mod certificate;
mod chain;
#[cfg(feature = "manager")]
mod checks;
mod client;
#[cfg(feature = "manager")]
mod clock;
#[cfg(feature = "manager")]
pub mod conditions;
#[cfg(feature = "manager")]
mod controller;
mod diff;
#[cfg(feature = "manager")]
mod election;
#[cfg(feature = "manager")]
mod error;
#[cfg(feature = "manager")]
mod events;
#[cfg(feature = "manager")]
mod exit;
#[cfg(feature = "manager")]
mod flags;
#[cfg(feature = "manager")]
mod gate;
#[cfg(feature = "manager")]
pub mod guide;
#[cfg(feature = "manager")]
mod handle;
#[cfg(feature = "manager")]
mod health;
#[cfg(feature = "manager")]
mod hold;
#[cfg(feature = "manager")]
mod http_server;
#[doc(hidden)]
pub mod internal;
#[cfg(feature = "certificates")]
mod issuer;
#[cfg(feature = "manager")]
mod key;
#[cfg(feature = "manager")]
mod lock;
#[cfg(feature = "manager")]
mod logging;
#[cfg(feature = "manager")]
mod manager;
#[cfg(feature = "manager")]
mod metrics;
#[cfg(feature = "manager")]
mod metrics_server;
#[cfg(feature = "manager")]
mod namespaces;
#[cfg(feature = "otlp")]
mod otlp;
#[cfg(feature = "manager")]
mod owned_error;
#[cfg(feature = "manager")]
mod pause;
#[cfg(feature = "plan")]
mod plan;
#[cfg(feature = "manager")]
mod probes;
#[cfg(feature = "manager")]
mod problem;
#[cfg(feature = "manager")]
mod queue;
#[cfg(feature = "manager")]
mod random;
#[cfg(feature = "manager")]
mod reading;
#[cfg(feature = "manager")]
mod reconciler;
#[cfg(feature = "manager")]
mod referenced;
#[cfg(feature = "manager")]
mod restless;
#[cfg(feature = "manager")]
mod retry;
#[cfg(feature = "manager")]
mod running;
#[cfg(feature = "manager")]
mod signals;
mod target;
#[cfg(feature = "manager")]
mod thread;
#[cfg(feature = "manager")]
mod warnings;
#[cfg(feature = "manager")]
mod watch;
#[cfg(feature = "manager")]
pub mod webhook;
#[cfg(feature = "manager")]
mod workers;

#[cfg(feature = "manager")]
pub use prometheus_client;

#[cfg(feature = "manager")]
pub use self::{
    action::Action,
    address::BindAddress,
    cache::{Cache, Cached},
    clock::{Clock, ClockSetter},
    controller::Controller,
    error::ManagerError,
    events::Events,
    exit::exit,
    flags::{Flags, LogFormat},
    handle::{Applied, Handle, Outcome, is_controlled_by},
    logging::init as init_logging,
    manager::Manager,
    metrics::Metrics,
    owned_error::OwnedError,
    problem::Problem,
    retry::Retry,
};
