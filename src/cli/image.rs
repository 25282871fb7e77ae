//! Options for a type that keeps a Deployment of one image.

use std::num::NonZeroU16;

use clap::Args;
use clap::builder::RangedU64ValueParser;

use crate::names::{CommandWord, ImageRef};

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
