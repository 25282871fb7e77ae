//! How types are named on the command line, for messages that say what to type.

use crate::cli::OptionalGroup;
use crate::names::{Group, Version};
use crate::project::Resource;

/// The group that was typed; none for the domain itself.
pub fn group(typed: &Option<OptionalGroup>) -> Option<&Group> {
    typed.as_ref()?.0.as_ref()
}

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

/// The options for a type.
pub fn named(resource: &Resource) -> String {
    let options = options(resource.group.as_ref(), &resource.version);
    format!("{options} --kind {}", resource.kind)
}

/// The options for a group and a version.
pub fn options(group: Option<&Group>, version: &Version) -> String {
    match group {
        Some(group) => format!("--group {group} --version {version}"),
        None => format!("--version {version}"),
    }
}
