//! The permissions of ServiceAccounts, for which OLM makes the roles. Pure.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Value, json};

use super::error::BundleError;
use super::taken;
use crate::kustomize::Object;
use crate::manifests::json::{list_of, text_of};

/// The rules of each ServiceAccount.
type Rules = BTreeMap<String, Vec<Value>>;

/// Permissions in the form of a ClusterServiceVersion.
#[derive(Debug)]
pub(super) struct Permissions {
    /// In the whole cluster.
    pub(crate) cluster: Vec<Value>,
    /// In the operator's namespace, and in those that it watches.
    pub(crate) namespaced: Vec<Value>,
}

/// Takes out the roles that are bound to one of the ServiceAccounts, and their bindings.
pub(super) fn take(
    all: &mut Vec<Object>,
    accounts: &BTreeSet<String>,
) -> Result<Permissions, BundleError> {
    let is_account =
        |it: &Value| it["kind"] == "ServiceAccount" && accounts.contains(text_of(it, "name"));
    let bindings = taken(all, |object| {
        object.kind().ends_with("Binding")
            && list_of(&object.value, "subjects").iter().any(is_account)
    });
    let (mut cluster, mut namespaced, mut used) = (Rules::new(), Rules::new(), BTreeSet::new());
    for binding in &bindings {
        let role = &binding.value["roleRef"];
        let (path, name) = (binding.file.clone(), text_of(role, "name").to_owned());
        let is_role = |object: &&Object| {
            object.value["kind"] == role["kind"] && object.value["metadata"]["name"] == role["name"]
        };
        let subjects = list_of(&binding.value, "subjects");
        if !subjects.iter().all(is_account) {
            return Err(BundleError::Subjects { path, role: name });
        }
        let mut roles = all.iter().filter(is_role).peekable();
        if roles.peek().is_none() {
            return Err(BundleError::Role { path, role: name });
        }
        // One for each namespace, if the operator watches several.
        let rules: Vec<Value> = roles
            .flat_map(|it| list_of(&it.value, "rules"))
            .cloned()
            .collect();
        let of_kind = match binding.kind() {
            "ClusterRoleBinding" => &mut cluster,
            _ => &mut namespaced,
        };
        for subject in subjects {
            let of_account = of_kind.entry(text_of(subject, "name").to_owned());
            let of_account = of_account.or_default();
            for rule in &rules {
                if !of_account.contains(rule) {
                    of_account.push(rule.clone());
                }
            }
        }
        used.insert((text_of(role, "kind").to_owned(), name));
    }
    taken(all, |object| {
        let name = text_of(&object.value["metadata"], "name").to_owned();
        used.contains(&(object.kind().to_owned(), name))
    });
    taken(all, |object| {
        object.kind() == "ServiceAccount"
            && accounts.contains(text_of(&object.value["metadata"], "name"))
    });
    let listed = |rules: Rules| {
        let rules = rules.into_iter();
        let listed =
            rules.map(|(account, rules)| json!({ "rules": rules, "serviceAccountName": account }));
        listed.collect()
    };
    Ok(Permissions {
        cluster: listed(cluster),
        namespaced: listed(namespaced),
    })
}
