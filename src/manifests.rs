//! What `kbr manifests` generates from the code: CRDs from compiled types, roles and webhook
//! configurations from code markers, and the roles for [`certificates`] that the manager makes itself.
//!
//! [`code_marker`] reads the markers in Rust sources; [`rbac`] and [`webhook`] turn them into documents,
//! [`rbac`] with roles for the namespaces of [`watched`] if the operator watches only some. [`crd`] builds
//! CRDs from the output of crdgen, with [`schema`] as its finishing pass and [`source`] for what crdgen
//! cannot know; [`cel`] and [`pattern`] check expressions as the API server would, and [`policy`] the admission policies in
//! `config/policy`. [`docs`] writes the API
//! reference, [`compat`] reports what a change of CRDs breaks, [`migration`] explains how to migrate stored
//! objects to another version, [`external`] reads CRDs of other operators, and [`state_metrics`] configures
//! kube-state-metrics for the objects. [`mod@json`] reads what all of them read. All of it is pure: text in, documents out.

pub(crate) mod cel;
pub(crate) mod certificates;
pub(crate) mod code_marker;
pub(crate) mod compat;
pub(crate) mod crd;
pub(crate) mod docs;
pub(crate) mod external;
pub(crate) mod json;
pub(crate) mod migration;
pub(crate) mod pattern;
pub(crate) mod policy;
pub(crate) mod rbac;
pub(crate) mod schema;
pub(crate) mod source;
pub(crate) mod state_metrics;
pub(crate) mod watched;
pub(crate) mod webhook;

pub(crate) use code_marker::MarkerError;
pub(crate) use crd::CrdError;
pub(crate) use policy::PolicyError;
pub(crate) use watched::Watched;

use crate::layout::GENERATED;
use crate::yaml;

/// The text of a generated file with one or more documents.
pub(crate) fn generated(documents: &[serde_json::Value]) -> String {
    let body: Vec<String> = documents.iter().map(yaml::write).collect();
    format!("{}{}", header(), body.join("---\n"))
}

/// The header line of a generated file.
fn header() -> String {
    format!("# {GENERATED} manifests. Do not edit: change the code and run it again.\n")
}
