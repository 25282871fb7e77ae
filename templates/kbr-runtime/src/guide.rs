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

/// A page for each chapter. A chapter refers to another by the name of its file in brackets, and to an item by its name.
///
/// The first definition of a link counts: here, that in `guide_links.md`, which is an item of a crate; in the files, the
/// source file that documents the item.
macro_rules! chapters {
    ($($file:literal $module:ident,)*) => {
        macro_rules! pages {
            () => {
                concat!($("[", $file, "]: ", stringify!($module), "\n",)*)
            };
        }
        $(
            #[doc = include_str!("guide_links.md")]
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
