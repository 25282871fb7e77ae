//! `kbr bundle`: the OLM bundle, with the edits of its owner. Pure.

use crate::bundle::{self, BundleError, Release};
use crate::cli::BundleArgs;
use crate::commands::desired::Desired;
use crate::commands::error::Result;
use crate::commands::refresh::Refresh;
use crate::kustomize::Build;
use crate::layout;
use crate::plan::Change;
use crate::project::Project;
use crate::toolchain::git::History;
use crate::tree::Tree;

/// `is_check` says whether the bundle is only compared.
pub(crate) fn plan(
    project: &Project,
    args: &BundleArgs,
    is_check: bool,
    tree: &Tree,
    build: Build,
    history: History<'_>,
) -> Result<Desired> {
    let release = Release {
        version: args.version.as_ref(),
        image: args.image.as_ref(),
    };
    let made = bundle::files(project, tree, build, &release)?;
    let next = "docker build --file bundle.Dockerfile --tag IMAGE .";
    let (files, is_part) = (&made.files, layout::is_of_bundle);
    let refresh = Refresh::of_package("bundle", project, tree, history, files, is_part);
    let mut planned = refresh.desired(next)?;
    let again = args
        .version
        .as_ref()
        .filter(|it| made.existing.as_ref() == Some(it));
    // Whoever has installed that version would not get the change.
    if let Some(version) = again.filter(|_| !is_check && !planned.changes.is_empty()) {
        let version = version.to_string();
        return Err(BundleError::Exists { version }.into());
    }
    planned.warnings.extend(made.warnings);
    let base = made.base.map(|text| Change::Keep {
        path: layout::BUNDLE_BASE.to_owned(),
        text,
    });
    planned.changes.extend(base);
    Ok(planned)
}
