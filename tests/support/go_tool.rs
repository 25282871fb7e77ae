//! Programs that tests build from Go modules; also for `tests/e2e`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Compile in two thirds of the time, without optimization and debug information.
pub const QUICKLY: [&str; 2] = ["-gcflags=all=-N -l -dwarf=false", "-ldflags=-s -w"];

/// The program of a package in that version, which is built the first time, with its progress shown.
pub fn built(package: &str, version: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folder = folder.join("target/tools").join(version);
    let name = package.rsplit('/').next().expect("a name");
    let binary = folder.join(name);
    if !binary.exists() {
        let built = Command::new("go")
            .args(["install", "-v"])
            .args(QUICKLY)
            .arg(format!("{package}@{version}"))
            .env("GOBIN", &folder)
            .stdin(Stdio::null())
            .status();
        let is_built = built.is_ok_and(|status| status.success());
        assert!(
            is_built,
            "no {name} to test with: install Go 1.26 or newer, which builds it"
        );
    }
    binary
}
