//! Emitted projects as they are operated: charts under Helm, OLM bundles, dashboards in Prometheus' own query engine, the
//! Makefile on a real API server, `kbr dev`, and an operator under faults.
//!
//! `cargo test --test operations` runs them. They need what `cargo test` needs, and Go for Helm and Prometheus.
#![allow(clippy::too_many_lines, reason = "tables of cases are long but simple")]

#[path = "../support/lib.rs"]
mod support;

mod bundle;
mod chart;
mod dashboards;
mod dev;
mod histories;
mod make;
mod overlays;
mod soak;
