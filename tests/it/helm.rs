//! Helm, built from its Go module; also for `tests/e2e`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

const VERSION: &str = "v3.22.0";

/// Helm, which is built the first time, with its progress shown.
pub fn helm() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
        let folder = folder.join("target/tools").join(VERSION);
        let binary = folder.join("helm");
        if !binary.exists() {
            let built = Command::new("go")
                .args([
                    "install",
                    "-v",
                    &format!("helm.sh/helm/v3/cmd/helm@{VERSION}"),
                ])
                .env("GOBIN", &folder)
                .stdin(Stdio::null())
                .status();
            let is_built = built.is_ok_and(|status| status.success());
            assert!(
                is_built,
                "no Helm to test with: install Go 1.26 or newer, which builds it"
            );
        }
        binary
    })
}
