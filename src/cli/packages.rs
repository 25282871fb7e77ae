//! The options of the commands that make packages of the operator, a chart and a bundle.

use clap::Args;

use crate::names::{BundleVersion, ImageRef};

#[derive(Debug, Args)]
pub(crate) struct ChartArgs {
    /// Write nothing; fail if the chart is out of date
    #[arg(long)]
    pub(crate) check: bool,
}

#[derive(Debug, Args)]
pub(crate) struct BundleArgs {
    /// Version of the operator, such as 1.2.3, which the bundle does not have yet [default: that of the bundle, or
    /// of Cargo.toml]
    #[arg(long, value_name = "VERSION")]
    pub(crate) version: Option<BundleVersion>,

    /// Image of the manager [default: that of the bundle, or of config/manager]
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<ImageRef>,

    /// Write nothing; fail if the bundle is out of date
    #[arg(long)]
    pub(crate) check: bool,
}
