//! kbr itself, as a program that kbr starts.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The path of this kbr.
pub(crate) fn path() -> OsString {
    env::current_exe().map_or_else(|_| "kbr".into(), Into::into)
}

/// The folder of the user's configuration of kbr, if there can be one.
pub(crate) fn config() -> Option<PathBuf> {
    Some(dirs::config_dir()?.join("kbr"))
}

/// The variable `name` of kbr's own environment, or else `default`.
pub(crate) fn variable(name: &str, default: &str) -> OsString {
    let value = env::var_os(name).filter(|value| !value.is_empty());
    value.unwrap_or_else(|| default.into())
}

/// The files of the user's kubeconfig, the most important first.
pub(crate) fn kubeconfigs() -> Vec<PathBuf> {
    match variable("KUBECONFIG", "") {
        none if none.is_empty() => {
            let home = dirs::home_dir().into_iter();
            home.map(|home| home.join(".kube/config")).collect()
        }
        paths => env::split_paths(&paths).collect(),
    }
}

/// What kbr prints with these arguments in the folder `root`, or what it says about its failure.
pub(crate) fn output(root: &Path, arguments: &[&str]) -> Result<String, String> {
    let mut command = Command::new(path());
    command.args(arguments).current_dir(root);
    super::output(&mut command).map_err(|error| error.to_string())?
}
