//! How objects come out of the versions that a kind was stored in before, as a file for whoever does it.

use serde_json::json;

use crate::layout::GENERATED;
use crate::yaml;

/// A kind of which objects may be stored in more than its stored version.
pub struct Migration<'a> {
    pub kind: &'a str,
    pub plural: &'a str,
    /// The qualified one.
    pub group: &'a str,
    /// The version that is stored.
    pub stored: &'a str,
    /// The others that objects may be stored in.
    pub older: Vec<&'a str>,
    pub is_cluster_scoped: bool,
    /// Whether a webhook converts the versions.
    pub is_converted: bool,
    /// Paths of the kind's CRD, and of the file itself.
    pub crd_file: &'a str,
    pub file: &'a str,
}

impl Migration<'_> {
    /// The file: comments with the commands to type, and the object for an API server that migrates by itself.
    pub fn text(&self) -> String {
        let Self { kind, stored, .. } = self;
        let older = self.older.join("`, `");
        let first = if self.is_converted {
            "the CRD is deployed and the operator, which converts them, has been rolled out"
        } else {
            "the CRD is deployed"
        };
        let versions = if self.older.len() == 1 { "it" } else { "them" };
        format!(
            "\
# {GENERATED} manifests. Do not edit: it goes when `storedVersions` in PROJECT names `{stored}` alone.
#
# `{stored}` of {kind} is stored, and clusters may have objects that are stored in `{older}`.
# Once {first}, type this for each of them, in the folder of PROJECT:
#
#     {by_hand}
#
# It writes each object as it is, so that it is stored in `{stored}`, and then `status.storedVersions` of the CRD.
# If it fails, nothing is lost: the last command has not run. Fix what kubectl names, and type the line again.
# Afterwards, `objects.json` can go.
#
# Where the cluster has StorageVersionMigration (Kubernetes 1.35 or newer, with its feature gate and its API
# version switched on), this does the same:
#
#     {by_server}
#
# Go by the success of that line alone: Kubernetes 1.36 prunes `status.storedVersions` after a failure, too.
#
# When all clusters are done, remove `{older}` from `storedVersions` in PROJECT and type `kbr manifests`. Before
# that, kbr does not let {versions} go.
{object}",
            by_hand = self.by_hand(),
            by_server = self.by_server(),
            object = yaml::write(&self.object()),
        )
    }

    /// Name of the CRD, which is that of the resource for kubectl, too.
    fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Commands for any cluster.
    ///
    /// A pipe would hide that `get` failed half-way. The patch has no `resourceVersion`, so that no operator
    /// that writes meanwhile is in its way, and it creates nothing anew that was deleted meanwhile. The CRD is
    /// patched as well because kubectl fails where there is nothing to patch.
    fn by_hand(&self) -> String {
        let Self { plural, group, .. } = self;
        let (stored, crd_file) = (self.stored, self.crd_file);
        let everywhere = if self.is_cluster_scoped {
            ""
        } else {
            " --all-namespaces"
        };
        format!(
            "kubectl get {plural}.{stored}.{group}{everywhere} -o json > objects.json && \
             kubectl patch -f {crd_file} -f objects.json --type=merge -p '{{}}' && {}",
            self.prune()
        )
    }

    /// Commands for an API server that migrates by itself; `--force`, since a migration runs but once.
    fn by_server(&self) -> String {
        let file = self.file;
        format!(
            "kubectl replace --force -f {file} && kubectl wait --for=condition=Succeeded --timeout=10m -f {file} && {}",
            self.prune()
        )
    }

    fn prune(&self) -> String {
        let patch = json!({ "status": { "storedVersions": [self.stored] } });
        let crd = self.crd();
        format!("kubectl patch crd {crd} --subresource=status --type=merge -p '{patch}'")
    }

    fn object(&self) -> serde_json::Value {
        json!({
            "apiVersion": "storagemigration.k8s.io/v1beta1",
            "kind": "StorageVersionMigration",
            "metadata": { "name": format!("{}-{}", self.crd(), self.stored) },
            "spec": { "resource": { "group": self.group, "resource": self.plural } },
        })
    }
}

#[cfg(test)]
mod tests;
