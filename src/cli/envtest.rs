//! The arguments of `kbr envtest`.

use clap::{Args, Subcommand};

use crate::envtest::Selector;

#[derive(Debug, Subcommand)]
pub(crate) enum Envtest {
    /// Install a version of Kubernetes, unless it is already installed
    Use(EnvtestUseArgs),
    /// Print the folder of an installed version, for KUBEBUILDER_ASSETS
    Path {
        /// A minor such as 1.37, for its newest patch, or a version such as 1.37.2
        #[arg(value_name = "VERSION", default_value_t)]
        version: Selector,
    },
    /// List what is installed
    List,
    /// Remove what is installed
    Clean {
        /// A minor such as 1.37, or a version such as 1.37.2 [default: all]
        #[arg(value_name = "VERSION")]
        version: Option<Selector>,
    },
}

#[derive(Debug, Args)]
pub(crate) struct EnvtestUseArgs {
    /// A minor such as 1.37, for its newest patch, or a version such as 1.37.2
    #[arg(value_name = "VERSION", default_value_t)]
    pub(crate) version: Selector,

    /// Build with Go instead of downloading
    #[arg(long)]
    pub(crate) from_source: bool,

    /// Install kube-controller-manager too, always built with Go
    #[arg(long)]
    pub(crate) with_controller_manager: bool,

    /// Index of the archives, such as a mirror's [default: that of setup-envtest]
    #[arg(long, value_name = "URL")]
    pub(crate) index: Option<String>,
}
