//! Hints for flags of kubebuilder that kbr does not have.

use clap::Error;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Pairs of flag and hint, sorted.
const HINTS: [(&str, &str); 9] = [
    (
        "--fetch-deps",
        "`cargo build` fetches what is missing: omit the flag",
    ),
    (
        "--license-file",
        "type `--owner OWNER` to name the copyright holder, or `--license none` for no header",
    ),
    (
        "--make",
        "kbr runs nothing afterwards: omit the flag, and type `kbr manifests` when the types are written",
    ),
    ("--plugins", "kbr has no plugins: omit the flag"),
    (
        "--plural",
        "only `kbr create api` and `kbr rename kind` take it; elsewhere the plural comes from PROJECT",
    ),
    (
        "--project-version",
        "PROJECT has only one version: omit the flag",
    ),
    (
        "--skip-go-version-check",
        "a project has no Go code: omit the flag",
    ),
    (
        "--ssa",
        "kube supports server-side apply for every type: omit the flag",
    ),
    (
        "--validation",
        "type `--programmatic-validation` after `kbr create webhook`",
    ),
];

/// Replaces clap's own suggestion in the usage error with our hint, if there is one.
pub fn with_hint(mut error: Error) -> Error {
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(ContextValue::String(typed)) = error.get(ContextKind::InvalidArg)
        && let Some(&(_, hint)) = HINTS.iter().find(|(flag, _)| flag == typed)
    {
        // The usage would show the argument that clap suggests.
        error.remove(ContextKind::SuggestedArg);
        error.remove(ContextKind::Usage);
        let suggested = ContextValue::StyledStrs(vec![hint.into()]);
        error.insert(ContextKind::Suggested, suggested);
    }
    error
}
