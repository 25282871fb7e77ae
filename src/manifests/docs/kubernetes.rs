//! Links to Kubernetes' own types, in its one-page reference.
//!
//! Source of the anchors: the page itself, such as
//! <https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.37/#podtemplatespec-v1-core>.

const REFERENCE: &str = "https://kubernetes.io/docs/reference/generated/kubernetes-api";

/// The name of the type, linked if the reference has it.
pub(super) fn link(definition: &str, minor: &str) -> String {
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
        ["api", group, version, name] => {
            let domain = match group {
                "apps" | "autoscaling" | "batch" | "core" | "policy" => "",
                "flowcontrol" => "-apiserver-k8s-io",
                "rbac" => "-authorization-k8s-io",
                _ => "-k8s-io",
            };
            format!("{name}-{version}-{group}{domain}")
        }
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
