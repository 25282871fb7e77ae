// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What an operator needs around its controllers and kube-rs leaves to it.
//!
//! For those who know Go: the part of controller-runtime that [`kube`] has not, and envtest.
//!
//! # In a cluster: the feature `manager`
//!
//! [`Manager`] makes the client, runs controllers, [`webhook`]s and health probes, and stops them in
//! order. A [`Controller`] watches as [`kube::runtime::Controller`] does; the manager adds bounded
//! concurrency, exponential back-off per object, isolation of panics and a log span per reconcile.
//! [`Owned`] keeps the objects that a reconcile created, [`Expectations`] tells an object that is out
//! of date, [`Clock`] tells the time, [`conditions`] and [`apply_status`] help with the status.
//! [`guide`] shows them at work.
//!
//! # In tests: the feature `testing`
//!
//! [`testing`] starts etcd and kube-apiserver on loopback, installs what a project deploys, and hands
//! out clients with the rights of the deployed manager. With both features it runs the operator
//! against them as well.
//!
//! The features are separate: `manager` is the default, and `testing` is for dev-dependencies.
//!
//! # Kubernetes' version
//!
//! As in every library on [`k8s_openapi`], the version of Kubernetes is chosen by the program, with one
//! of that crate's features such as `v1_36`.
//!
//! Deliberately not here yet: leader election and metrics.

#![cfg_attr(
    not(all(feature = "manager", feature = "testing")),
    allow(
        rustdoc::broken_intra_doc_links,
        reason = "the other half has no docs then"
    )
)]

#[cfg(feature = "manager")]
mod address;
#[cfg(feature = "manager")]
mod backoff;
#[cfg(any(feature = "manager", feature = "testing"))]
mod chain;
#[cfg(any(feature = "manager", feature = "testing"))]
mod client;
#[cfg(feature = "manager")]
mod clock;
#[cfg(feature = "manager")]
pub mod conditions;
#[cfg(feature = "manager")]
mod controller;
#[cfg(feature = "manager")]
mod error;
#[cfg(feature = "manager")]
mod expectations;
#[cfg(feature = "manager")]
mod flags;
#[cfg(feature = "manager")]
pub mod guide;
#[cfg(feature = "manager")]
mod logging;
#[cfg(feature = "manager")]
mod manager;
#[cfg(feature = "manager")]
mod owned;
#[cfg(feature = "manager")]
mod probes;
#[cfg(feature = "manager")]
mod reconciler;
#[cfg(feature = "manager")]
mod running;
#[cfg(feature = "manager")]
mod signals;
#[cfg(feature = "manager")]
mod status;
#[cfg(feature = "testing")]
pub mod testing;
#[cfg(feature = "manager")]
mod thread;
#[cfg(feature = "manager")]
pub mod webhook;

#[cfg(feature = "manager")]
pub use self::{
    address::BindAddress,
    clock::{Clock, ClockSetter},
    controller::Controller,
    error::{ManagerError, exit},
    expectations::Expectations,
    flags::{Flags, LogFormat},
    logging::init as init_logging,
    manager::Manager,
    owned::{NotListed, Owned},
    status::apply_status,
};
