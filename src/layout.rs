//! Where things stand in a scaffolded project: every path that a command builds from names.
//!
//! `kbr init` emits `templates/init/` as it stands, so its paths are that folder's; here are those
//! that depend on a kind, and the few that more than one command names. Pure.

use crate::names::{Kind, Version};
use crate::project::Resource;

pub const API_LIB: &str = "api/src/lib.rs";
pub const CRDGEN: &str = "api/src/bin/crdgen.rs";
pub const CONTROLLERS: &str = "src/controller.rs";
pub const MAIN: &str = "src/main.rs";
pub const CRD_BASES: &str = "config/crd/bases/";
pub const CRD_KUSTOMIZATION: &str = "config/crd/kustomization.yaml";
pub const DEFAULT_KUSTOMIZATION: &str = "config/default/kustomization.yaml";
pub const RBAC_KUSTOMIZATION: &str = "config/rbac/kustomization.yaml";
pub const MANAGER_ROLE: &str = "config/rbac/role.yaml";
pub const SAMPLES_KUSTOMIZATION: &str = "config/samples/kustomization.yaml";

/// Folders whose Rust sources may hold code markers. `runtime/` is kbr's own and needs none.
pub const SOURCES: [&str; 2] = ["api/src/", "src/"];

/// Whether `kbr manifests` makes that file from the code.
pub fn is_manifest(path: &str) -> bool {
    path == MANAGER_ROLE || path.starts_with(CRD_BASES)
}

/// The module that holds the types of one version.
pub fn version_module(version: &Version) -> String {
    format!("api/src/{version}.rs")
}

pub fn types(version: &Version, kind: &Kind) -> String {
    format!("api/src/{version}/{}_types.rs", kind.lower())
}

pub fn controller(kind: &Kind) -> String {
    format!("src/controller/{}_controller.rs", kind.lower())
}

/// File name of the CRD that the types of `resource`'s kind make.
pub fn crd_file(group: &str, plural: &str) -> String {
    format!("{group}_{plural}.yaml")
}

/// File name of a sample; without a group of its own the name begins with the version.
pub fn sample_file(resource: &Resource) -> String {
    let group = resource
        .group
        .as_ref()
        .map(|group| format!("{group}_"))
        .unwrap_or_default();
    format!("{group}{}_{}.yaml", resource.version, resource.kind.lower())
}

/// File name of a role for people: `who` is admin, editor or viewer.
pub fn role_file(kind: &Kind, who: &str) -> String {
    format!("{}_{who}_role.yaml", kind.lower())
}
