// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! CRDs of other operators, which a project's tests need and `config/` does not contain.

use std::fs;
use std::io;
use std::path::Path;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::TestEnvError;

/// Their folder in a project.
const FOLDER: &str = "tests/external";

/// The CRDs in the YAML files of `tests/external`; subfolders are not read. Empty if the folder does not
/// exist.
///
/// The operator that they belong to does not run, so it cannot convert anything: the API server
/// converts between their versions by changing only `apiVersion`.
///
/// # Errors
///
/// [`TestEnvError::Folder`], and [`TestEnvError::ExternalCrd`] for a file that is not a CRD.
pub(super) fn crds(project: &Path) -> Result<Vec<CustomResourceDefinition>, TestEnvError> {
    let folder = project.join(FOLDER);
    let failed = |source| TestEnvError::Folder {
        path: folder.clone(),
        source,
    };
    let listing = match fs::read_dir(&folder) {
        Ok(listing) => listing,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(failed(error)),
    };
    let mut paths = Vec::new();
    for file in listing {
        let path = file.map_err(failed)?.path();
        if path.extension().is_some_and(|it| it == "yaml") {
            paths.push(path);
        }
    }
    paths.sort();
    paths.iter().map(|path| crd(path)).collect()
}

fn crd(path: &Path) -> Result<CustomResourceDefinition, TestEnvError> {
    let text = fs::read_to_string(path).map_err(|source| TestEnvError::Folder {
        path: path.to_owned(),
        source,
    })?;
    let parsed = serde_saphyr::from_str::<CustomResourceDefinition>(&text);
    let mut crd = parsed.map_err(|error| TestEnvError::ExternalCrd {
        path: path.to_owned(),
        reason: error.to_string(),
    })?;
    crd.spec.conversion = None;
    Ok(crd)
}
