//! The CRDs in files and folders that were named on the command line. The only other reader of such files is
//! [`super::external`].

use std::path::Path;

use crate::commands::error::{Error, Result};
use crate::import::documents::{self, Documents, Refusal};
use crate::tree;

/// Reads the CRDs below these paths, which are relative to the folder that the command works in.
pub fn crds(root: &Path, paths: &[String]) -> Result<Documents> {
    let urls = paths.iter().filter(|path| path.contains("://"));
    Error::all(urls.map(|path| Refusal::of_url(path)))?;
    let given = paths.iter().map(|path| tree::given(root, path));
    let given = given.collect::<std::result::Result<Vec<_>, _>>()?;
    documents::read(&given).map_err(Error::several)
}
