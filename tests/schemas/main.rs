//! A real API server agrees with kbr about schemas: those of drawn types, of every marker, of CRDs that were imported, and
//! of kinds in several versions.
//!
//! `cargo test --test schemas` runs them. They need what `cargo test` needs.
#![allow(clippy::too_many_lines, reason = "tables of cases are long but simple")]

#[path = "../support/lib.rs"]
mod support;

mod crds;
mod deployed;
mod drawn;
mod import;
mod kubectl;
mod migration;
