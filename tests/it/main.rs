//! The integration tests of kbr itself: the `kbr` binary as a user runs it, its messages and documents, each golden
//! project regenerated and compared, and the showcase compiled and tested.
//!
//! In reading order. None needs a network beyond crates.io and, once, what `kbr envtest use` needs. CONTRIBUTING lists
//! the other targets, which test everything else that kbr emits.
#![allow(clippy::too_many_lines, reason = "tables of cases are long but simple")]

#[path = "../support/lib.rs"]
mod support;

mod front_door;

mod import;
mod import_project;
mod init;

mod create_api;

mod create_webhook;

mod delete;

mod against;
mod manifests;
mod merge;

mod kubernetes_types;

mod server;

mod namespaced;

mod dry_run;
mod edit;

mod external;

mod json;

mod reference;
mod refusals;
mod rename;

mod envtest;

mod atomicity;

mod names;

mod lock;

mod update;
mod vendored;

mod golden;

mod config;

mod commit_subjects;
mod docs;
mod documents;
mod guide;
mod runtime_guide;
mod runtime_modules;

mod tidy;
