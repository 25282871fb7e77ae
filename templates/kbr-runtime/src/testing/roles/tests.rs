// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Unit tests.

use super::*;
use serde_json::json;

#[test]
fn the_managers_rules_are_those_of_the_roles_bound_to_its_account() {
    let role = |kind: &str, namespace: Option<&str>, resource: &str| {
        let rule = json!({ "apiGroups": [""], "resources": [resource], "verbs": ["get"] });
        let url = json!({ "nonResourceURLs": ["/metrics"], "verbs": ["get"] });
        let metadata = json!({ "name": resource, "namespace": namespace });
        json!({ "kind": kind, "metadata": metadata, "rules": [rule, url] })
    };
    let binding = |kind: &str, namespace: &str, role: &str, account: &str| {
        json!({
            "kind": format!("{kind}Binding"),
            "metadata": { "namespace": namespace },
            "roleRef": { "kind": kind, "name": role },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "here", "name": account }],
        })
    };
    let manifests = Manifests {
        documents: vec![
            role("ClusterRole", None, "nodes"),
            role("ClusterRole", None, "secrets"),
            role("Role", Some("here"), "pods"),
            role("Role", Some("elsewhere"), "services"),
            binding("ClusterRole", "", "nodes", "manager"),
            binding("ClusterRole", "", "secrets", "other"),
            binding("Role", "here", "pods", "manager"),
            binding("Role", "elsewhere", "services", "manager"),
        ],
        account: Account {
            namespace: "here".to_owned(),
            name: "manager".to_owned(),
        },
    };

    let rules: Vec<_> = manifests.bound_rules().collect();

    let resources = rules
        .iter()
        .flat_map(|rule| rule.resources.iter().flatten());
    assert_eq!(resources.collect::<Vec<_>>(), ["nodes", "pods"]);
}

#[test]
fn only_the_role_that_is_named_loses_it() {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }]);
    let role = |namespace: &str| {
        let metadata = json!({ "name": "reader", "namespace": namespace });
        json!({ "kind": "Role", "metadata": metadata, "rules": rules })
    };
    let binding = |namespace: &str| {
        json!({
            "kind": "RoleBinding",
            "metadata": { "namespace": namespace },
            "roleRef": { "kind": "Role", "name": "reader" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "here", "name": "manager" }],
        })
    };
    let documents = vec![
        role("here"),
        role("there"),
        binding("here"),
        binding("there"),
    ];
    let mut manifests = Manifests {
        documents,
        account: Account {
            namespace: "here".to_owned(),
            name: "manager".to_owned(),
        },
    };
    let grants = manifests.grants();
    assert_eq!(grants.len(), 2);

    let (role, grant) = grants.last().unwrap();
    manifests.leave_out(role, grant);

    assert_eq!(manifests.documents[0]["rules"], rules);
    assert_eq!(manifests.documents[1]["rules"], json!([]));
}
