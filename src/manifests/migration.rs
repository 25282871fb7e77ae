//! Instructions for migrating objects from the versions that a kind was stored in before, as a file.

use serde_json::json;

use crate::layout::GENERATED;
use crate::yaml;

/// A kind whose objects may be stored in other versions than its stored version.
pub struct Migration<'a> {
    pub kind: &'a str,
    pub plural: &'a str,
    /// The qualified group.
    pub group: &'a str,
    /// The stored version.
    pub stored: &'a str,
    /// The other versions that objects may be stored in.
    pub older: Vec<&'a str>,
    pub is_cluster_scoped: bool,
    /// Whether a webhook converts the versions.
    pub is_converted: bool,
    /// Paths of the kind's CRD, and of the file itself.
    pub crd_file: &'a str,
    pub file: &'a str,
}

impl Migration<'_> {
    /// The file: comments with the commands to type, and the object for an API server that can migrate itself.
    pub fn text(&self) -> String {
        let (kind, stored, file) = (self.kind, self.stored, self.file);
        let older = self.older.join("`, `");
        let rolled_out = match self.is_converted {
            true => " and the operator, which converts them, has been rolled out",
            false => "",
        };
        let s = if self.older.len() == 1 { "" } else { "s" };
        let object = json!({
            "apiVersion": "storagemigration.k8s.io/v1beta1",
            "kind": "StorageVersionMigration",
            "metadata": { "name": format!("{}-{stored}", self.crd()) },
            "spec": { "resource": { "group": self.group, "resource": self.plural } },
        });
        // `--force`, since a migration by the API server runs only once.
        format!(
            "\
# {GENERATED} manifests. Do not edit: it is deleted once `storedVersions` in PROJECT lists only `{stored}`.
#
# The stored version of {kind} is `{stored}`, and clusters may have objects that are stored in `{older}`.
# Once the CRD is deployed{rolled_out}, type this for each of them, in the folder of PROJECT:
#
#     {manual}
#
# It writes each object unchanged, so that it is stored in `{stored}`, and then `status.storedVersions` of the CRD.
# If it fails, nothing is lost: the last command has not run. Fix what kubectl reports, and type the line again.
# Afterwards, `objects.json` can be deleted.
#
# Where the cluster has StorageVersionMigration (Kubernetes 1.35 or newer, with its feature gate and its API
# version enabled), this does the same:
#
#     kubectl replace --force -f {file} && kubectl wait --for=condition=Succeeded --timeout=10m -f {file} && {prune}
#
# Rely only on the success of that line: Kubernetes 1.36 prunes `status.storedVersions` after a failure, too.
#
# When all clusters are done, remove `{older}` from `storedVersions` in PROJECT and type `kbr manifests`. Until
# then, kbr does not let you remove the version{s}.
{object}",
            manual = self.manual(),
            prune = self.prune(),
            object = yaml::write(&object),
        )
    }

    /// Name of the CRD, which is also the name of the resource for kubectl.
    fn crd(&self) -> String {
        format!("{}.{}", self.plural, self.group)
    }

    /// Commands for any cluster.
    ///
    /// A pipe would hide that `get` failed halfway. The patch has no `resourceVersion`, so that it does not
    /// conflict with concurrent writes of an operator, and it does not recreate objects that were deleted
    /// meanwhile. The CRD is patched as well because kubectl fails if there is nothing to patch.
    fn manual(&self) -> String {
        let (plural, group, stored) = (self.plural, self.group, self.stored);
        let everywhere = match self.is_cluster_scoped {
            true => "",
            false => " --all-namespaces",
        };
        format!(
            "kubectl get {plural}.{stored}.{group}{everywhere} -o json > objects.json && \
             kubectl patch -f {} -f objects.json --type=merge -p '{{}}' && {}",
            self.crd_file,
            self.prune()
        )
    }

    fn prune(&self) -> String {
        let patch = json!({ "status": { "storedVersions": [self.stored] } });
        let crd = self.crd();
        format!("kubectl patch crd {crd} --subresource=status --type=merge -p '{patch}'")
    }
}

#[cfg(test)]
mod tests;
