//! What kbr says of itself to other programs: completion scripts and versions.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::cli::Cli;
use crate::envtest::DEFAULT;

/// The completion script for `shell`.
pub fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "kbr", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// Version of kbr, and of what the emitted projects stand on, one a line.
pub fn versions() -> String {
    use crate::lock::version_of;
    let kube = version_of("kube").unwrap_or_default();
    let openapi = version_of("k8s-openapi").unwrap_or_default();
    format!(
        "kbr {}\nkube {kube}\nk8s-openapi {openapi} (Kubernetes {DEFAULT})\n",
        env!("CARGO_PKG_VERSION")
    )
}
