//! The arguments of `kbr dev`.

use clap::Args;

#[derive(Debug, Args)]
pub(crate) struct DevArgs {
    /// Also apply config/samples at the start
    #[arg(long)]
    pub(crate) samples: bool,

    /// Use the cluster of this context of the kubeconfig, once it was allowed with --allow-context: the operator that
    /// is deployed there steps aside, and resumes at the end
    #[arg(long, value_name = "NAME", conflicts_with = "samples")]
    pub(crate) context: Option<String>,

    /// Print what the operator would change in the cluster of --context, and change nothing; the exit code is 0 if
    /// nothing would change, 1 if something would, and 2 after an error
    #[arg(long, requires = "context")]
    pub(crate) plan: bool,

    /// Apply the CRDs and roles of config/default to the cluster of --context, now and when they change, unless that breaks
    /// stored objects or clients
    #[arg(long, requires = "context", conflicts_with = "plan")]
    pub(crate) apply: bool,

    /// Allow --context NAME from now on, in all projects, and do nothing else
    #[arg(long, value_name = "NAME", conflicts_with_all = ["samples", "context", "plan", "apply", "arguments"])]
    pub(crate) allow_context: Option<String>,

    /// Arguments of the operator, such as `-- --max-concurrent-reconciles=4`
    #[arg(last = true, value_name = "ARGS")]
    pub(crate) arguments: Vec<String>,
}
