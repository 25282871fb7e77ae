//! The options that name a type.

use clap::Args;

use crate::names::{Group, Kind, NameError, Version};
use crate::project::Resource;

/// The type that a command is for.
#[derive(Debug, Clone, Args)]
pub(crate) struct TypeArgs {
    /// Kind of the type in upper camel case, such as CronJob
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Kind,

    /// API group, without the domain, or a group of Kubernetes, such as apps [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub(crate) group: Option<OptionalGroup>,

    /// API version
    #[arg(long, value_name = "VERSION", default_value = "v1alpha1")]
    pub(crate) version: Version,
}

impl TypeArgs {
    /// The options for that type.
    pub(crate) fn of(resource: &Resource) -> Self {
        Self {
            kind: resource.kind.clone(),
            group: Some(OptionalGroup(resource.typed_group())),
            version: resource.version.clone(),
        }
    }

    /// The group that was typed; none for the domain itself.
    pub(crate) fn group(&self) -> Option<&Group> {
        OptionalGroup::of(self.group.as_ref())
    }
}

/// A group that may be given as the empty string, which means the domain itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct OptionalGroup(pub Option<Group>);

impl OptionalGroup {
    /// The group that was typed; none for the domain itself.
    pub(crate) fn of(typed: Option<&Self>) -> Option<&Group> {
        typed?.0.as_ref()
    }
}

pub(super) fn parse_group(text: &str) -> Result<OptionalGroup, NameError> {
    if text.is_empty() {
        Ok(OptionalGroup(None))
    } else {
        text.parse().map(|group| OptionalGroup(Some(group)))
    }
}
