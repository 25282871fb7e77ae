//! `kbr bundle`: the OLM bundle, with the edits of its owner. Pure, except for [`earlier`].

use std::path::Path;

use crate::bundle::{self, BundleError, Release};
use crate::cli::BundleArgs;
use crate::commands::error::Result;
use crate::commands::packaged::{self, Earlier, Package, Planned};
use crate::layout;
use crate::plan::Change;
use crate::project::Project;
use crate::tree::Tree;

pub const BUNDLE: Package = Package {
    command: "bundle",
    is_part: layout::is_of_bundle,
    inputs: &[layout::CONFIG, layout::MANIFEST, layout::BUNDLE],
};

/// `is_check` says whether the bundle is only compared.
pub fn plan(
    project: Project,
    args: &BundleArgs,
    is_check: bool,
    tree: &Tree,
    earlier: Earlier<'_>,
) -> Result<Planned> {
    packaged::resolved(BUNDLE, &project, tree)?;
    let release = Release {
        version: args.version.as_ref(),
        image: args.image.as_ref(),
    };
    let made = bundle::files(&project, tree, &release)?;
    let next = "docker build --file bundle.Dockerfile --tag IMAGE .";
    let mut planned = packaged::plan(BUNDLE, project, tree, &made.files, earlier, next);
    let again = args
        .version
        .as_ref()
        .filter(|it| made.existing.as_ref() == Some(it));
    // Whoever has installed that version would not get the change.
    if let Some(version) = again.filter(|_| !is_check && !planned.wanted.changes.is_empty()) {
        let version = version.to_string();
        return Err(BundleError::Exists { version }.into());
    }
    planned.wanted.warnings.extend(made.warnings);
    let base = made.base.map(|text| Change::Keep {
        path: layout::BUNDLE_BASE.to_owned(),
        text,
    });
    planned.wanted.changes.extend(base);
    Ok(planned)
}

/// The text of a file of the bundle with that hash.
pub fn earlier(root: &Path, path: &str, recorded: &str) -> Option<String> {
    let files = |project: &Project, tree: &Tree| {
        let made = bundle::files(project, tree, &Release::default());
        made.ok().map(|made| made.files)
    };
    packaged::earlier(BUNDLE, root, path, recorded, &files)
}
