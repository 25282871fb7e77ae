//! Helm, built from its Go module; also for `tests/e2e`.

use std::path::{Path, PathBuf};
use std::sync::OnceLock;

use super::go_tool::built;

const VERSION: &str = "v3.22.0";

pub fn helm() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("helm.sh/helm/v3/cmd/helm", VERSION))
}
