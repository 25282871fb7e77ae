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
        let rolled_out = match self.is_converted {
            true => " and the operator, which converts them, has been rolled out",
            false => "",
        };
        let object = json!({
            "apiVersion": "storagemigration.k8s.io/v1beta1",
            "kind": "StorageVersionMigration",
            "metadata": { "name": format!("{}-{}", self.crd(), self.stored) },
            "spec": { "resource": { "group": self.group, "resource": self.plural } },
        });
        // `--force`, since a migration by the API server runs only once.
        format!(
            include_str!("migration/file.txt"),
            generated = GENERATED,
            kind = self.kind,
            stored = self.stored,
            older = self.older.join("`, `"),
            s = if self.older.len() == 1 { "" } else { "s" },
            manual = self.manual(),
            file = self.file,
            prune = self.prune(),
            rolled_out = rolled_out,
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
