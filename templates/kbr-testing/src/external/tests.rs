// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Which files are CRDs to install.

use super::super::folder::Folder;
use super::*;

const CRD: &str = "apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata:
  name: things.example.com
spec:
  conversion:
    strategy: Webhook
  group: example.com
  names:
    kind: Thing
    plural: things
  scope: Namespaced
  versions: []
";

#[test]
fn yaml_files_are_crds_that_nobody_converts() {
    let project = Folder::create().unwrap();
    assert!(crds(project.path()).unwrap().is_empty());

    let folder = project.path().join(FOLDER);
    fs::create_dir_all(folder.join("samples")).unwrap();
    fs::write(folder.join("samples/thing.yaml"), "kind: Thing").unwrap();
    fs::write(folder.join("README.md"), "none").unwrap();
    fs::write(folder.join("things.yaml"), CRD).unwrap();

    let crds = crds(project.path()).unwrap();
    assert_eq!(crds.len(), 1);
    assert_eq!(crds[0].metadata.name.as_deref(), Some("things.example.com"));
    assert!(crds[0].spec.conversion.is_none());
}

#[test]
fn a_file_that_is_no_crd_is_named() {
    let project = Folder::create().unwrap();
    let folder = project.path().join(FOLDER);
    fs::create_dir_all(&folder).unwrap();
    fs::write(folder.join("other.yaml"), "kind: List").unwrap();

    let error = crds(project.path()).unwrap_err().to_string();
    assert!(error.contains("other.yaml"), "{error}");
}
