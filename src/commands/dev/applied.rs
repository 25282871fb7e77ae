//! `kbr dev --context NAME --apply`: the CRDs and the roles of `config/default`, in a cluster of the user's kubeconfig.
//!
//! With the user's own rights, as `make deploy` does it, and only where nothing breaks.

use serde_json::{Value, json};

use super::cluster::config;
use super::compared;
use super::session::Session;
use crate::layout;
use crate::manifests::json::text_of;
use crate::report::{Happening, Level};
use crate::toolchain::kubectl;
use crate::toolchain::secret_file::PrivateFile;

const CRD: &str = "CustomResourceDefinition";

/// What is applied: what an operator of this version needs.
const KINDS: [&str; 5] = [
    CRD,
    "ClusterRole",
    "ClusterRoleBinding",
    "Role",
    "RoleBinding",
];

impl Session<'_> {
    /// Applies what has changed, if the user wants that, and starts the operator that was built.
    pub(super) fn advance_in_cluster(&mut self) {
        if std::mem::take(&mut self.todo.config)
            && self.args.apply
            && let Err(reason) = self.apply_to_cluster()
        {
            let text = format!("{}: {reason}", layout::DEFAULT);
            self.fail("refused", &text);
        }
        self.swap();
    }

    fn apply_to_cluster(&self) -> Result<(), String> {
        let context = self.args.context.as_deref().unwrap_or_default();
        let context = format!("--context={context}");
        let mut objects = config(self.root)?;
        objects.retain(|object| KINDS.contains(&text_of(object, "/kind")));
        let crds = objects.iter().filter(|it| it["kind"] == CRD);
        let crds: Vec<Value> = crds.cloned().collect();
        if !crds.is_empty() {
            let names = crds.iter().map(|crd| text_of(crd, "/metadata/name"));
            let names: Vec<&str> = [&*context, CRD].into_iter().chain(names).collect();
            let get = "get --ignore-not-found --output=json";
            let live = kubectl::output(self.root, get, &names)?;
            let live =
                compared::listed(&live).map_err(|why| format!("what kubectl prints {why}"))?;
            let breaks = compared::between(&live, &crds);
            self.tell_breaks(&breaks);
            if !breaks.is_empty() {
                return Err("nothing was applied, because of what it breaks; `make deploy` applies it all the same".to_owned());
            }
        }
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": objects });
        let file = PrivateFile::write(&list.to_string()).map_err(|error| error.to_string())?;
        // By force, as `make deploy` does.
        let apply = "apply --server-side --force-conflicts --filename";
        let applied = kubectl::output(self.root, apply, &[file.path(), &context])?;
        for object in applied.lines() {
            let object = object.trim_end_matches(" serverside-applied");
            let told = Happening::new("applied", Level::Good, "Applied").text(object);
            self.tell(told.facts(json!({ "object": object })));
        }
        Ok(())
    }
}
