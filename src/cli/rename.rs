//! The arguments of `kbr rename`.

use clap::{Args, Subcommand};

use crate::names::{Kind, Plural, Version};

use super::OptionalGroup;
use super::target::parse_group;

#[derive(Debug, Subcommand)]
pub(crate) enum Rename {
    /// Rename a kind in all of its versions, with its controllers and webhooks
    Kind(RenameKindArgs),
    /// Rename a version of a kind, or of all kinds of a group that have it
    Version(RenameVersionArgs),
    /// Rename an API group, with all of its kinds
    Group(RenameGroupArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RenameKindArgs {
    /// Current name of the kind
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Kind,

    /// New name of the kind, such as CronJob
    #[arg(long, value_name = "KIND")]
    pub(crate) to: Kind,

    /// API group, without the domain [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub(crate) group: Option<OptionalGroup>,

    /// New resource name in the plural [default: the plural of the new kind]
    #[arg(long, value_name = "PLURAL")]
    pub(crate) plural: Option<Plural>,
}

#[derive(Debug, Args)]
pub(crate) struct RenameVersionArgs {
    /// Current name of the version
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Version,

    /// New name of the version, such as v1
    #[arg(long, value_name = "VERSION")]
    pub(crate) to: Version,

    /// API group, without the domain [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub(crate) group: Option<OptionalGroup>,

    /// Kind that has the version [default: all kinds of the group that have it]
    #[arg(long, value_name = "KIND")]
    pub(crate) kind: Option<Kind>,
}

#[derive(Debug, Args)]
pub(crate) struct RenameGroupArgs {
    /// Current name of the API group, without the domain [default: the domain itself]
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub(crate) group: Option<OptionalGroup>,

    /// New name of the API group, without the domain; '' for the domain itself
    #[arg(long, value_name = "GROUP", value_parser = parse_group)]
    pub(crate) to: OptionalGroup,
}
