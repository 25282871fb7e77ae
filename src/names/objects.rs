//! Names of the objects in `config/`: in its files, and as deployed.
//!
//! kustomize prefixes each with the project's name, by `namePrefix` in `config/default`, and replaces the
//! namespace. The files are templates, which spell these names out; a test compares them.

use serde_json::Value;

/// The operator's own namespace.
pub(crate) const NAMESPACE: &str = "system";

/// The operator's Deployment, its ServiceAccount and its Lease.
pub(crate) const MANAGER: &str = "controller-manager";

/// The label of the operator's Deployment, with [`MANAGER`].
pub(crate) const MANAGER_LABEL: &str = "control-plane";

/// The container of the operator in its Deployment.
pub(crate) const MANAGER_CONTAINER: &str = "manager";

/// Whether an object is the operator's Deployment. Another one may have a container of the same name.
pub(crate) fn is_manager(object: &Value) -> bool {
    object["kind"] == "Deployment" && object["metadata"]["labels"][MANAGER_LABEL] == MANAGER
}

/// The role that is generated from the markers in the code, and its binding.
pub(crate) const MANAGER_ROLE: &str = "manager-role";
pub(crate) const MANAGER_BINDING: &str = "manager-rolebinding";

/// The Service in front of the operator's webhooks, and the Secret in which the manager keeps certificates of its own.
pub(crate) const WEBHOOK_SERVICE: &str = "webhook-service";

/// The roles for certificates of the manager's own, whose bindings have the same name.
pub(crate) const CERTIFICATES_ROLE: &str = "certificates-role";

/// The label of a CRD with a conversion webhook, if the manager makes the certificates.
pub(crate) const CONVERTED_LABEL: [&str; 2] = ["app.kubernetes.io/component", "webhook"];

/// The Certificate of that Service.
pub(crate) const SERVING_CERTIFICATE: &str = "serving-cert";

pub(crate) const MUTATING_CONFIGURATION: &str = "mutating-webhook-configuration";
pub(crate) const VALIDATING_CONFIGURATION: &str = "validating-webhook-configuration";

/// The Service in front of the operator's metrics, whose name is the longest.
pub(crate) const METRICS_SERVICE: &str = "controller-manager-metrics-service";

/// The roles that the runbooks of the alerts name.
pub(crate) const LEADER_ELECTION_ROLE: &str = "leader-election-role";
pub(crate) const METRICS_READER: &str = "metrics-reader";

/// What lets Prometheus reach the metrics, and collect them.
pub(crate) const METRICS_POLICY: &str = "allow-metrics-traffic";
pub(crate) const METRICS_MONITOR: &str = "controller-manager-metrics-monitor";

/// The annotation for which cert-manager writes the CA of a certificate into an object.
pub(crate) const CA_ANNOTATION: &str = "cert-manager.io/inject-ca-from";

/// The name of an object in a cluster.
pub(crate) fn deployed(project: &str, name: &str) -> String {
    format!("{project}-{name}")
}
