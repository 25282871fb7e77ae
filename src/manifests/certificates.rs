//! The roles of a manager that makes the certificates of its webhooks itself.
//!
//! A role has the names of objects in the manifests: `config/default/name_references.yaml` tells kustomize to prefix
//! them there.

use serde_json::{Value, json};

use crate::names::objects::{CERTIFICATES_ROLE, NAMESPACE, WEBHOOK_SERVICE};

use super::generated;
use super::rbac::bound_role;

/// The text of `config/webhook/certificates_role.yaml`, from the webhook configurations and the names of the CRDs that the
/// API server calls webhooks for; `None` if there are none.
pub(crate) fn roles(configurations: &[Value], crds: &[String]) -> Option<String> {
    if configurations.is_empty() && crds.is_empty() {
        return None;
    }
    let rule = |group: &str, resource: &str, names: &[String], verbs: &[&str]| {
        json!({
            "apiGroups": [group], "resourceNames": names, "resources": [resource], "verbs": verbs,
        })
    };
    let admission = "admissionregistration.k8s.io";
    let mut everywhere: Vec<Value> = configurations
        .iter()
        .map(|document| {
            let kind = document["kind"].as_str().unwrap_or_default();
            let resource = format!("{}s", kind.to_lowercase());
            let name = document["metadata"]["name"].as_str().unwrap_or_default();
            rule(admission, &resource, &[name.to_owned()], &["get", "update"])
        })
        .collect();
    if !crds.is_empty() {
        let (group, resource) = ("apiextensions.k8s.io", "customresourcedefinitions");
        everywhere.push(rule(group, resource, crds, &["get", "update"]));
    }
    let secret = [WEBHOOK_SERVICE.to_owned()];
    let here = vec![
        // Permission to create cannot be limited to a name.
        json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]}),
        rule("", "secrets", &secret, &["get", "update"]),
    ];
    let documents = [
        bound_role(
            "ClusterRole",
            json!({"name": CERTIFICATES_ROLE}),
            everywhere,
        ),
        bound_role(
            "Role",
            json!({"name": CERTIFICATES_ROLE, "namespace": NAMESPACE}),
            here,
        ),
    ];
    Some(generated(&documents.concat()))
}
