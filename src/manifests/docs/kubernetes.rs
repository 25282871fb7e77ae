//! Links to Kubernetes' own types, in its one-page reference.
//!
//! Source of the anchors: the page itself, such as
//! <https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#podtemplatespec-v1-core>.

const REFERENCE: &str = "https://kubernetes.io/docs/reference/generated/kubernetes-api";

/// The groups whose full name is not `NAME.k8s.io`.
const SHORT: [&str; 5] = ["apps", "autoscaling", "batch", "core", "policy"];

/// The name of the type, linked if the reference has it.
pub fn link(definition: &str, minor: &str) -> String {
    let name = definition.rsplit('.').next().unwrap_or_default();
    match anchor(definition) {
        Some(anchor) => format!("[{name}]({REFERENCE}/v{minor}/#{anchor})"),
        None => name.to_owned(),
    }
}

fn anchor(definition: &str) -> Option<String> {
    let path = definition.strip_prefix("io.k8s.")?;
    let parts: Vec<&str> = path.split('.').collect();
    let anchor = match parts[..] {
        ["api", group, version, name] => format!("{name}-{version}-{}", group_of(group)),
        ["apimachinery", "pkg", "apis", "meta", version, name] => format!("{name}-{version}-meta"),
        ["apimachinery", "pkg", "api", package, name] => format!("{name}-{package}-core"),
        ["apimachinery", "pkg", "util", package, name] => format!("{name}-{package}-util"),
        ["apimachinery", "pkg", "runtime", name] => format!("{name}-runtime-pkg"),
        ["apiextensions-apiserver", "pkg", "apis", _, version, name] => {
            format!("{name}-{version}-apiextensions-k8s-io")
        }
        _ => return None,
    };
    Some(anchor.to_lowercase())
}

fn group_of(name: &str) -> String {
    match name {
        "flowcontrol" => "flowcontrol-apiserver-k8s-io".to_owned(),
        "rbac" => "rbac-authorization-k8s-io".to_owned(),
        _ if SHORT.contains(&name) => name.to_owned(),
        _ => format!("{name}-k8s-io"),
    }
}
