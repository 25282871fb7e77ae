//! Options for types that are special: one that another operator defines, and one that runs an image.

use std::num::NonZeroU16;
use std::path::PathBuf;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::names::{CommandWord, CrateSpec, Domain, ImageRef, TypePath};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a type of another operator")]
pub struct ExternalArgs {
    /// Full path of the Rust type, such as cert_manager::v1::Certificate
    #[arg(long, value_name = "PATH")]
    pub external_api_path: Option<TypePath>,

    /// Crate to add to the dependencies for it [default: the project already depends on it]
    #[arg(long, value_name = "CRATE@VERSION", requires = "external_api_path")]
    pub external_api_module: Option<CrateSpec>,

    /// Part of the type's API group that follows --group [default: none]
    #[arg(long, value_name = "DOMAIN", requires = "external_api_path")]
    pub external_api_domain: Option<Domain>,

    /// File with the type's CRD, which the tests install; needed once for each type
    #[arg(long, value_name = "FILE", requires = "external_api_path")]
    pub external_api_crd: Option<PathBuf>,
}

#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a type that runs an image")]
pub struct ImageArgs {
    /// Image that objects of the kind run: the type and the controller keep a Deployment of it
    #[arg(long, value_name = "IMAGE")]
    pub image: Option<ImageRef>,

    /// TCP port on which it serves, for a Service [default: no Service]
    #[arg(long, value_name = "PORT", requires = "image", value_parser = port)]
    pub image_port: Option<NonZeroU16>,

    /// Command of the container, its words separated by commas [default: the image's own]
    #[arg(
        long,
        value_name = "WORD",
        requires = "image",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub image_command: Vec<CommandWord>,

    /// Numeric user that the container runs as, other than root [default: the image's own]
    #[arg(long, value_name = "UID", requires = "image", value_parser = run_as_user())]
    pub run_as_user: Option<u32>,
}

fn port(text: &str) -> Result<NonZeroU16, &'static str> {
    text.parse()
        .map_err(|_| "a port is a number from 1 to 65535")
}

/// The values that the API server accepts as `runAsUser`, except root.
fn run_as_user() -> RangedU64ValueParser<u32> {
    RangedU64ValueParser::new().range(1..=i32::MAX as u64)
}
