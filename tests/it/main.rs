//! The integration tests: the `kbr` binary as a user runs it, and the projects that it emits.
//!
//! In reading order. None needs a network beyond crates.io and, once, what `kbr envtest use` needs.
#![allow(clippy::too_many_lines, reason = "tables of cases are long but simple")]

mod api_server;
mod go_tool;
mod helm;
mod support;
mod terminal;

mod front_door;

mod import;
mod import_project;
mod init;

mod create_api;

mod create_webhook;

mod delete;

mod dev;

mod against;
mod manifests;
mod merge;

mod crds;

mod kubernetes_types;

mod server;

mod drawn;

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

mod soak;

mod config;

mod bundle;
mod chart;

mod dashboards;

mod make;

mod commit_subjects;
mod docs;
mod documents;
mod guide;
mod runtime_guide;

mod tidy;
