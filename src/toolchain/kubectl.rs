//! kubectl, for clusters of the user's kubeconfig.

use std::path::Path;
use std::process::{Command, Stdio};

use super::own;

/// What kubectl prints with these arguments in the folder `root`, or what it says about its failure.
pub fn output(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let program = own::variable("KUBECTL", "kubectl");
    let output = Command::new(&program)
        .args(arguments)
        .current_dir(root)
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("{}: {error}", program.display()))?;
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    match output.status.success() {
        true => Ok(text(&output.stdout)),
        false => Err((text(&output.stdout) + &text(&output.stderr))
            .trim()
            .to_owned()),
    }
}
