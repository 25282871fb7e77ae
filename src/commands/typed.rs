//! How types are named on the command line, for messages that say what to type.

use crate::names::{Group, Version};

/// How to specify a type of Kubernetes instead: one of these kinds, or these options.
pub fn kubernetes_own(kinds: &[&str], options: Option<&str>) -> String {
    let mut ways = String::new();
    if !kinds.is_empty() {
        let kinds = kinds.join(", ");
        ways += &format!(", or name one of Kubernetes' own after `--kind`: {kinds}");
    }
    if let Some(options) = options {
        ways += &format!(", or type `{options}` for Kubernetes' own");
    }
    ways
}

/// The options for a group and a version.
pub fn options(group: Option<&Group>, version: &Version) -> String {
    match group {
        Some(group) => format!("--group {group} --version {version}"),
        None => format!("--version {version}"),
    }
}
