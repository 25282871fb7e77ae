//! The arguments of `kbr create webhook` and `kbr create policy`.

use clap::Args;

use crate::names::{Version, WebhookPath};

use super::{ExternalArgs, TypeArgs};

#[derive(Debug, Clone, Args)]
#[command(mut_arg("version", |it| it.help("API version; the hub of a conversion")))]
pub(crate) struct WebhookArgs {
    #[command(flatten)]
    pub(crate) typed: TypeArgs,

    /// Set defaults in objects
    #[arg(long)]
    pub(crate) defaulting: bool,

    /// Refuse objects that are invalid in ways that no schema can express
    #[arg(long)]
    pub(crate) programmatic_validation: bool,

    /// Convert objects between the hub and its spokes
    #[arg(long)]
    pub(crate) conversion: bool,

    /// Version to convert to the hub and back; may be repeated, or separated by commas
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        requires = "conversion"
    )]
    pub(crate) spoke: Vec<Version>,

    /// URL path of the defaulting webhook [default: /mutate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH", requires = "defaulting")]
    pub(crate) defaulting_path: Option<WebhookPath>,

    /// URL path of the validating webhook [default: /validate-GROUP-VERSION-KIND]
    #[arg(long, value_name = "PATH", requires = "programmatic_validation")]
    pub(crate) validation_path: Option<WebhookPath>,

    #[command(flatten)]
    pub(crate) external: ExternalArgs,

    /// Overwrite the files of an existing webhook
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Clone, Args)]
pub(crate) struct PolicyArgs {
    #[command(flatten)]
    pub(crate) typed: TypeArgs,

    /// Refuse requests: a ValidatingAdmissionPolicy
    #[arg(long)]
    pub(crate) validating: bool,

    /// Change objects: a MutatingAdmissionPolicy, for Kubernetes 1.36 and newer
    #[arg(long)]
    pub(crate) mutating: bool,

    #[command(flatten)]
    pub(crate) external: ExternalArgs,

    /// Overwrite the files of an existing policy
    #[arg(long)]
    pub(crate) force: bool,
}
