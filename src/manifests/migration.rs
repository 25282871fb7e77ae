//! Instructions for migrating objects from the versions that a kind was stored in before, as a file.

use serde_json::json;

use crate::error::join;
use crate::layout::GENERATED;
use crate::yaml;

/// What to type so that the API server no longer applies a version that a CRD lacks.
pub(crate) fn forget(crd: &str, version: &str) -> String {
    format!("sh hack/forget-version.sh {crd} {version}")
}

/// A kind whose objects may be stored in other versions than its stored version.
pub(crate) struct Migration<'a> {
    pub(crate) kind: &'a str,
    pub(crate) plural: &'a str,
    /// The qualified group.
    pub(crate) group: &'a str,
    /// The stored version.
    pub(crate) stored: &'a str,
    /// The other versions that objects may be stored in.
    pub(crate) older: Vec<&'a str>,
    pub(crate) is_cluster_scoped: bool,
    /// Whether a webhook converts the versions.
    pub(crate) is_converted: bool,
    /// Paths of the kind's CRD, and of the file itself.
    pub(crate) crd_file: &'a str,
    pub(crate) file: &'a str,
}

impl Migration<'_> {
    /// The file: comments with the commands to type, and the object for an API server that can migrate itself.
    pub(crate) fn text(&self) -> String {
        let (kind, stored, file) = (self.kind, self.stored, self.file);
        let older = self.older.join("`, `");
        let rolled_out = if self.is_converted {
            " and the operator, which converts them, has been rolled out"
        } else {
            ""
        };
        let s = if self.older.len() == 1 { "" } else { "s" };
        let object = json!({
            "apiVersion": "storagemigration.k8s.io/v1",
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
# A cluster of Kubernetes 1.37 or newer can migrate by itself; this does the same there:
#
#     kubectl replace --force -f {file} && kubectl wait --for=condition=Succeeded --timeout=10m -f {file} && {prune}
#
# Rely only on the success of that line: Kubernetes prunes `status.storedVersions` after a failure, too.
#
# When all clusters are done, remove `{older}` from `storedVersions` in PROJECT and type `kbr manifests`. Until
# then, kbr does not let you remove the version{s}.
#
# Before you deploy a CRD that lacks the version{s}, and after one that does not serve {them}, type in each cluster:
#
{forget}
{object}",
            manual = self.manual(),
            prune = self.prune(),
            them = if s.is_empty() { "it" } else { "them" },
            forget = join(&self.older, "\n", |version| {
                format!("#     {}", forget(&self.crd(), version))
            }),
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
        let everywhere = if self.is_cluster_scoped {
            ""
        } else {
            " --all-namespaces"
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
