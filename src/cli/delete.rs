//! The arguments of `kbr delete`, named like those of `kbr create`.

use clap::{Args, Subcommand};

use crate::names::{ControllerName, Version};

use super::TypeArgs;

#[derive(Debug, Subcommand)]
pub(crate) enum Delete {
    /// Delete a version of an API type, with its controllers
    Api(DeleteApiArgs),
    /// Delete webhooks of an API type: defaulting, validation, conversion
    Webhook(DeleteWebhookArgs),
    /// Delete admission policies of an API type
    Policy(DeletePolicyArgs),
    /// Delete a controller
    Controller(DeleteControllerArgs),
}

/// The type, and whether edited files are deleted too.
#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    #[command(flatten)]
    pub(crate) typed: TypeArgs,

    /// Also delete files that were edited
    #[arg(long)]
    pub(crate) force: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteApiArgs {
    #[command(flatten)]
    pub(crate) of: DeleteArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteWebhookArgs {
    #[command(flatten)]
    pub(crate) of: DeleteArgs,

    /// Delete the defaulting webhook
    #[arg(long)]
    pub(crate) defaulting: bool,

    /// Delete the validating webhook
    #[arg(long)]
    pub(crate) programmatic_validation: bool,

    /// Delete the conversion, or only that of some spokes
    #[arg(long)]
    pub(crate) conversion: bool,

    /// Version that is no longer converted; may be repeated, or separated by commas [default: all]
    #[arg(
        long,
        value_name = "VERSION",
        value_delimiter = ',',
        requires = "conversion"
    )]
    pub(crate) spoke: Vec<Version>,
}

#[derive(Debug, Args)]
pub(crate) struct DeletePolicyArgs {
    #[command(flatten)]
    pub(crate) of: DeleteArgs,

    /// Delete the policy that refuses requests
    #[arg(long)]
    pub(crate) validating: bool,

    /// Delete the policy that changes objects
    #[arg(long)]
    pub(crate) mutating: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteControllerArgs {
    #[command(flatten)]
    pub(crate) of: DeleteArgs,

    /// Name of the controller [default: the one that is named after the kind]
    #[arg(long, value_name = "NAME")]
    pub(crate) controller_name: Option<ControllerName>,
}
