//! The arguments of `kbr create webhook` and `kbr create policy`.

use clap::Args;

use crate::names::{Kind, Version, WebhookPath};
use crate::project::Resource;

use super::{ExternalArgs, OptionalGroup, parse_group};

#[derive(Debug, Clone, Args)]
pub struct WebhookArgs {
    /// Kind of the type in upper camel case, such as CronJob
    #[arg(long, value_name = "KIND")]
    pub kind: Kind,

    /// API group, without the domain, or a group of Kubernetes, such as core [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub group: Option<OptionalGroup>,

    /// API version; the hub of a conversion
    #[arg(long, value_name = "VERSION", default_value = "v1alpha1")]
    pub version: Version,

    /// Set defaults in objects
    #[arg(long)]
    pub defaulting: bool,

    /// Refuse objects that are invalid in ways that no schema can express
    #[arg(long)]
    pub programmatic_validation: bool,

    /// Convert objects between the hub and its spokes
    #[arg(long)]
    pub conversion: bool,

    /// Version to convert to the hub and back; may be repeated, or separated by commas
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        requires = "conversion"
    )]
    pub spoke: Vec<Version>,

    /// URL path of the defaulting webhook [default: /mutate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH", requires = "defaulting")]
    pub defaulting_path: Option<WebhookPath>,

    /// URL path of the validating webhook [default: /validate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH", requires = "programmatic_validation")]
    pub validation_path: Option<WebhookPath>,

    #[command(flatten)]
    pub external: ExternalArgs,

    /// Overwrite the files of an existing webhook
    #[arg(long)]
    pub force: bool,
}

#[derive(Debug, Clone, Args)]
pub struct PolicyArgs {
    /// Kind of the type in upper camel case, such as CronJob
    #[arg(long, value_name = "KIND")]
    pub kind: Kind,

    /// API group, without the domain, or a group of Kubernetes, such as core [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub group: Option<OptionalGroup>,

    /// API version
    #[arg(long, value_name = "VERSION", default_value = "v1alpha1")]
    pub version: Version,

    /// Refuse requests: a ValidatingAdmissionPolicy
    #[arg(long)]
    pub validating: bool,

    /// Change objects: a MutatingAdmissionPolicy, for Kubernetes 1.36 and newer
    #[arg(long)]
    pub mutating: bool,

    #[command(flatten)]
    pub external: ExternalArgs,

    /// Overwrite the files of an existing policy
    #[arg(long)]
    pub force: bool,
}

impl WebhookArgs {
    /// The same for another type.
    pub fn for_type(&self, resource: &Resource) -> Self {
        let (group, version, kind) = options_of(resource);
        Self {
            kind,
            group,
            version,
            ..self.clone()
        }
    }
}

impl PolicyArgs {
    /// The same for another type.
    pub fn for_type(&self, resource: &Resource) -> Self {
        let (group, version, kind) = options_of(resource);
        Self {
            kind,
            group,
            version,
            ..self.clone()
        }
    }
}

fn options_of(resource: &Resource) -> (Option<OptionalGroup>, Version, Kind) {
    let group = OptionalGroup(resource.group.clone());
    (Some(group), resource.version.clone(), resource.kind.clone())
}
