//! Projects that kbr emits, apart from the showcase, and the crates that they are built on: they compile, are linted, and
//! pass their own tests on a real API server.
//!
//! `cargo test --test projects` runs them. They need what `cargo test` needs.
#![allow(clippy::too_many_lines, reason = "tables of cases are long but simple")]

#[path = "../support/lib.rs"]
mod support;

mod crates;
mod goldens;
mod import_project;
mod manifests;
mod update;
