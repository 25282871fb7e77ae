//! Version `v1`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Signs certificates with the key of a Secret.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(group = "cert-manager.io", version = "v1", kind = "Issuer", namespaced)]
pub struct IssuerSpec {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ca: Option<Ca>,
}

/// A certificate authority.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[serde(rename_all = "camelCase")]
pub struct Ca {
    /// The Secret with its key.
    pub secret_name: String,
}
