//! Names of the objects in `config/`: as its files have them, and as they are deployed.
//!
//! kustomize puts the project's name in front of each, by `namePrefix` in `config/default`, and has the
//! namespace replaced. The files are templates, which have these names written out; a test compares.

/// The operator's own namespace.
pub const NAMESPACE: &str = "system";

/// The operator's Deployment, and its ServiceAccount.
pub const MANAGER: &str = "controller-manager";

/// The role that the markers of the code make, and what binds it.
pub const MANAGER_ROLE: &str = "manager-role";
pub const MANAGER_BINDING: &str = "manager-rolebinding";

/// The Lease of the operator's managers.
pub const LEASE: &str = "leader-election";

/// The Service in front of the operator's webhooks.
pub const WEBHOOK_SERVICE: &str = "webhook-service";

/// The Certificate of that Service.
pub const SERVING_CERTIFICATE: &str = "serving-cert";

pub const MUTATING_CONFIGURATION: &str = "mutating-webhook-configuration";
pub const VALIDATING_CONFIGURATION: &str = "validating-webhook-configuration";

/// The Service in front of the operator's metrics, whose name is the longest.
pub const METRICS_SERVICE: &str = "controller-manager-metrics-service";

/// The annotation by which cert-manager writes the CA of a certificate into an object.
pub const CA_ANNOTATION: &str = "cert-manager.io/inject-ca-from";

/// The name of an object in a cluster.
pub fn deployed(project: &str, name: &str) -> String {
    format!("{project}-{name}")
}
