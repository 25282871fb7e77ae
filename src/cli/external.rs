//! Options for a type that another operator defines.

use std::path::PathBuf;

use clap::{ArgGroup, Args};

use crate::names::{CrateSpec, Domain, TypePath};

#[derive(Debug, Clone, Args)]
#[command(
    next_help_heading = "Options for a type of another operator",
    group = ArgGroup::new("external").args(["external_api_path", "external_api_crd"]).multiple(true)
)]
pub(crate) struct ExternalArgs {
    /// Full path of the Rust type, such as cert_manager::v1::Certificate [default: kbr makes the type from its CRD]
    #[arg(long, value_name = "PATH")]
    pub(crate) external_api_path: Option<TypePath>,

    /// Crate to add to the dependencies for it [default: the project already depends on it]
    #[arg(long, value_name = "CRATE@VERSION", requires = "external_api_path")]
    pub(crate) external_api_module: Option<CrateSpec>,

    /// Part of the type's API group that follows --group [default: none]
    #[arg(long, value_name = "DOMAIN", requires = "external")]
    pub(crate) external_api_domain: Option<Domain>,

    /// File with the type's CRD, which the tests install; needed once for each type
    #[arg(long, value_name = "FILE")]
    pub(crate) external_api_crd: Option<PathBuf>,
}

impl ExternalArgs {
    /// Whether the type of another operator was given, and not only those of PROJECT.
    pub(crate) fn is_given(&self) -> bool {
        self.external_api_path.is_some() || self.external_api_crd.is_some()
    }
}
