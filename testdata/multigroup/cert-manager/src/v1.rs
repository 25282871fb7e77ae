//! Version `v1`.

use kube::CustomResource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A certificate that an issuer is to sign.
#[derive(CustomResource, Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
#[kube(
    group = "cert-manager.io",
    version = "v1",
    kind = "Certificate",
    namespaced
)]
#[serde(rename_all = "camelCase")]
pub struct CertificateSpec {
    /// The host names that it is for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub dns_names: Vec<String>,
    /// Who signs it.
    pub issuer_ref: IssuerRef,
    /// The Secret that it is put into.
    pub secret_name: String,
}

/// The issuer of a certificate.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq)]
pub struct IssuerRef {
    pub name: String,
}

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
