//! The CRDs in files and folders that were named on the command line. The only other reader of such files is
//! [`super::external`].

use std::path::Path;

use crate::commands::error::{Error, Result};
use crate::commands::folder::error::FolderError;
use crate::import::documents::{self, Documents, Refusal};
use crate::tree;

/// Reads the CRDs below these paths, which are relative to the folder that the command works in, without checking those
/// that are left out.
pub(super) fn crds(root: &Path, paths: &[String], left_out: &[String]) -> Result<Documents> {
    let urls = paths.iter().filter(|path| path.contains("://"));
    Error::all(urls.map(|path| Refusal::of_url(path)))?;
    Error::all(paths.iter().filter_map(|path| missing(root, path)))?;
    let given = paths.iter().map(|path| tree::given(root, path));
    let given = given.collect::<std::result::Result<Vec<_>, _>>()?;
    documents::read(&given, left_out).map_err(Error::several)
}

/// The error for a path at which there is nothing.
pub(super) fn missing(root: &Path, path: &str) -> Option<FolderError> {
    let is_missing = matches!(root.join(path).try_exists(), Ok(false));
    is_missing.then(|| FolderError::NoFile {
        path: path.to_owned(),
        near: tree::near(root, path),
    })
}
