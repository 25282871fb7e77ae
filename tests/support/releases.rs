//! Projects that earlier revisions of kbr have scaffolded.

use std::fs::File;
use std::path::Path;

use flate2::read::GzDecoder;
use tar::Archive;

use super::{Sandbox, commit, git};

/// The folder in which `tests/tools/keep-scaffold` keeps the scaffold of each release, with its manifests, and one of
/// the time before releases.
pub const SCAFFOLDS: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/scaffolds");

/// The revision of that one.
pub const FIRST: &str = "9d57e52e";

/// The project of a release or of [`FIRST`], committed.
pub fn project_of(release: &str) -> Sandbox {
    let sandbox = Sandbox::new();
    let archive = Path::new(SCAFFOLDS).join(format!("{release}.tar.gz"));
    let archive = GzDecoder::new(File::open(archive).expect("an archive"));
    Archive::new(archive)
        .unpack(sandbox.path())
        .expect("an archive");
    git(&sandbox, "init --quiet");
    commit(&sandbox);
    sandbox
}

pub const UP_TO_DATE: &str = "update --check";
