//! What `kbr manifests` makes of the code: CRDs from compiled types, roles and webhook
//! configurations from code markers.
//!
//! [`code_marker`] reads the markers out of Rust sources, [`rbac`] and [`webhook`] make documents of
//! them, the first for the namespaces of [`watched`] if the operator watches some; [`crd`] makes CRDs
//! of what crdgen printed, with [`schema`] as its finishing pass, and [`source`] for what crdgen cannot
//! know; [`cel`] and [`pattern`] read what the API server would read of it. [`docs`] writes the CRDs for people
//! to read, [`compat`] says what a change of them breaks, [`migration`] how stored objects come into another
//! version, [`external`] reads the CRDs of others, [`state_metrics`] has kube-state-metrics make metrics of
//! their objects. All of it is pure: text in, documents out.

pub mod cel;
pub mod code_marker;
pub mod compat;
pub mod crd;
pub mod docs;
pub mod external;
pub mod migration;
pub mod pattern;
pub mod rbac;
pub mod schema;
pub mod source;
pub mod state_metrics;
pub mod watched;
pub mod webhook;

pub use code_marker::MarkerError;
pub use crd::CrdError;
pub use watched::Watched;

use crate::layout::GENERATED;
use crate::yaml;

/// The text of a file with one or more documents that kbr owns.
pub fn generated(documents: &[serde_json::Value]) -> String {
    let body: Vec<String> = documents.iter().map(yaml::write).collect();
    format!("{}{}", header(), body.join("---\n"))
}

/// The line that says whose file it is.
fn header() -> String {
    format!("# {GENERATED} manifests. Do not edit: change the code and run it again.\n")
}
