//! Options for a type that keeps a Deployment of one image.

use std::num::NonZeroU16;
use std::str::FromStr;

use clap::Args;

use crate::names::{CommandWord, ImageRef};

#[derive(Debug, Args)]
#[command(next_help_heading = "Options for a type that runs an image")]
pub(crate) struct ImageArgs {
    /// Image that objects of the kind run: the type and the controller keep a Deployment of it
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<ImageRef>,

    /// TCP port on which it serves, for a Service [default: no Service]
    #[arg(
        long,
        value_name = "PORT",
        requires = "image",
        value_parser = port,
        allow_negative_numbers = true
    )]
    pub(crate) image_port: Option<NonZeroU16>,

    /// Command of the container, its words separated by commas [default: the image's own]
    #[arg(
        long,
        value_name = "WORD",
        requires = "image",
        value_delimiter = ',',
        allow_hyphen_values = true
    )]
    pub(crate) image_command: Vec<CommandWord>,

    /// Numeric user that the container runs as, other than root [default: the image's own]
    #[arg(
        long,
        value_name = "UID",
        requires = "image",
        value_parser = run_as_user,
        allow_negative_numbers = true
    )]
    pub(crate) run_as_user: Option<u32>,
}

fn port(text: &str) -> Result<NonZeroU16, &'static str> {
    number(text).ok_or("a port is a number from 1 to 65535")
}

/// The values that the API server accepts as `runAsUser`, except root.
fn run_as_user(text: &str) -> Result<u32, &'static str> {
    match number(text) {
        Some(0_u32) => Err(
            "0 is root, and the pods must run as another user: `restricted`, the Pod Security Standard of kbr's \
             projects, refuses root",
        ),
        Some(user) if i32::try_from(user).is_ok() => Ok(user),
        _ => Err("a user is a number from 1 to 2147483647"),
    }
}

/// A number without a sign.
fn number<T: FromStr>(text: &str) -> Option<T> {
    text.parse().ok().filter(|_| !text.starts_with('+'))
}
