//! What a user types after `kbr rename`.

use clap::{Args, Subcommand};

use crate::names::{Kind, Plural};

use super::{OptionalGroup, parse_group};

#[derive(Debug, Subcommand)]
pub enum Rename {
    /// Rename a kind in all of its versions, with its controllers and webhooks
    Kind(RenameKindArgs),
}

#[derive(Debug, Args)]
pub struct RenameKindArgs {
    /// Kind as it is called now
    #[arg(long, value_name = "KIND")]
    pub kind: Kind,

    /// Kind as it is to be called, in upper camel case, such as CronJob
    #[arg(long, value_name = "KIND")]
    pub to: Kind,

    /// API group in front of the domain [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub group: Option<OptionalGroup>,

    /// New resource name in the plural [default: the plural of the new kind]
    #[arg(long, value_name = "PLURAL")]
    pub plural: Option<Plural>,
}
