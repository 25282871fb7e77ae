// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! A guide to writing an operator with this crate: how to do each thing, with examples that compile.
//!
//! Read [`reconcile`], [`owned_objects`], [`caches`], [`finalizers`], [`status`] and [`errors`] to write a controller,
//! [`replicas`], [`metrics`] and [`webhooks`] about the manager that runs it, and [`testing`] to test it. If you come from
//! another library, [`controller_runtime`] and [`kube_rs`] translate its names.
//!
//! The chapters are Markdown files in `src/guide`, which can also be read there. The README shows a complete
//! operator in one file, with its `main` and its CRD.

/// What the chapters link to. The first definition of a link counts: here it is an item of a crate, in the files
/// the source file that documents the item.
macro_rules! links {
    () => {
        links! {
            "Action",
            "Action::await_change",
            "Action::requeue",
            "Cache",
            "Cache::by",
            "Cache::get",
            "Cache::index",
            "Cache::insert",
            "Cache::list",
            "Cache::listed",
            "Cache::on_every_replica",
            "Cache::predicates",
            "Cache::slim",
            "Clock",
            "Clock::changes",
            "Controller",
            "Controller::cache_sync_timeout",
            "Controller::concurrency",
            "Controller::debounce",
            "Controller::needs_leader",
            "Controller::new",
            "Controller::on_deleted",
            "Controller::owns",
            "Controller::pausable",
            "Controller::pods",
            "Controller::predicates",
            "Controller::rate_limit",
            "Controller::reads",
            "Controller::reconcile_all_on",
            "Controller::reconcile_on",
            "Controller::references",
            "Controller::takes_over",
            "Controller::timeout",
            "Controller::warm",
            "Controller::watches",
            "Flags::plan",
            "Handle",
            "Handle::api",
            "Handle::apply",
            "Handle::apply_status",
            "Handle::client",
            "Handle::create",
            "Handle::event",
            "Handle::finalizer",
            "Handle::get",
            "Handle::now",
            "Handle::owned",
            "Handle::patch",
            "Handle::pods",
            "Handle::prune",
            "Handle::using",
            "Manager::add",
            "Manager::add_health_check",
            "Manager::add_ready_check",
            "Manager::add_task",
            "Manager::add_task_on_every_replica",
            "Manager::add_with_error_policy",
            "Manager::all",
            "Manager::cache",
            "Manager::cache_of",
            "Manager::client",
            "Manager::events",
            "Manager::metadata",
            "Manager::namespaced",
            "Manager::namespaces",
            "Manager::run",
            "Manager::set_operator",
            "Metrics::register",
            "OwnedError::NameTaken",
            "Problem::of_deployment",
            "Problem::of_pods",
            "Retry",
            "Retry::never",
            "conditions::set",
            "exit",
            "is_controlled_by",
        }
    };
    ($($item:literal,)*) => {
        concat!(
            $("[`", $item, "`]: crate::", $item, "\n",)*
            "[`Api`]: ::kube::Api\n",
            "[`Converter`]: crate::webhook::Converter\n",
            "[`Defaulter`]: crate::webhook::Defaulter\n",
            "[`Histogram::new_classic_and_native`]: prometheus_client::metrics::histogram::Histogram::new_classic_and_native\n",
            "[`RATCHETING`]: crate::webhook::Validator::RATCHETING\n",
            "[`Validator`]: crate::webhook::Validator\n",
            "[`Webhooks::reads`]: crate::webhook::Webhooks::reads\n",
            "[`validate_finalizing`]: crate::webhook::Validator::validate_finalizing\n",
        )
    };
}

/// A page for each chapter. A chapter refers to another by the name of its file in brackets.
macro_rules! chapters {
    ($($file:literal $module:ident,)*) => {
        macro_rules! pages {
            () => {
                concat!($("[", $file, "]: ", stringify!($module), "\n",)*)
            };
        }
        $(
            #[doc = links!()]
            #[doc = pages!()]
            #[doc = ""]
            #[doc = include_str!(concat!("guide/", $file, ".md"))]
            pub mod $module {}
        )*
    };
}

chapters! {
    "reconcile" reconcile,
    "owned-objects" owned_objects,
    "caches" caches,
    "finalizers" finalizers,
    "status" status,
    "errors" errors,
    "replicas" replicas,
    "metrics" metrics,
    "webhooks" webhooks,
    "testing" testing,
    "controller-runtime" controller_runtime,
    "kube-rs" kube_rs,
}
