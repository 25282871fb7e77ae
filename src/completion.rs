//! What kbr tells other programs about itself: completion scripts, man pages and versions.

use clap_complete::Shell;

use crate::cli::Cli;
use crate::envtest::DEFAULT;

/// The completion script for `shell`.
pub(crate) fn script(shell: Shell) -> String {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::kbr(), "kbr", &mut script);
    String::from_utf8_lossy(&script).into_owned()
}

/// The man page of a command, or of kbr itself; empty if the command does not exist.
pub(crate) fn man_page(words: &[String]) -> String {
    let mut page = Vec::new();
    if let Some(command) = Cli::command_of(words) {
        // Writing to a vector cannot fail.
        let _ = clap_mangen::Man::new(command).render(&mut page);
    }
    String::from_utf8_lossy(&page).into_owned()
}

/// The versions of kbr and of what the emitted projects depend on, one per line.
pub(crate) fn versions() -> String {
    use crate::lock::version_of;
    let kube = version_of("kube").unwrap_or_default();
    let openapi = version_of("k8s-openapi").unwrap_or_default();
    format!(
        "kbr {}\nkube {kube}\nk8s-openapi {openapi} (Kubernetes {DEFAULT})\n",
        env!("CARGO_PKG_VERSION")
    )
}
