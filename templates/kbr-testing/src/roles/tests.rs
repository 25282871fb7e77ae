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
        watched: Vec::new(),
    };

    let rules: Vec<_> = manifests.bound_rules("here").collect();

    let resources = rules
        .iter()
        .flat_map(|rule| rule.resources.iter().flatten());
    assert_eq!(resources.collect::<Vec<_>>(), ["nodes", "pods"]);
}

#[test]
fn only_the_given_role_loses_the_permission() {
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
        watched: Vec::new(),
    };
    let grants = manifests.grants();
    assert_eq!(grants.len(), 2);

    let (role, grant) = grants.last().unwrap();
    manifests.leave_out(role, grant);

    assert_eq!(manifests.documents[0]["rules"], rules);
    assert_eq!(manifests.documents[1]["rules"], json!([]));
}

/// A manager of `here` that is deployed to watch `a` and `b`, and may read pods in both.
fn namespaced() -> Manifests {
    let rules = json!([{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] }]);
    let pair = |namespace: &str| {
        let metadata = json!({ "name": "reader", "namespace": namespace });
        let role = json!({ "kind": "Role", "metadata": metadata, "rules": rules });
        let binding = json!({
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": { "kind": "Role", "name": "reader" },
            "subjects": [{ "kind": "ServiceAccount", "namespace": "here", "name": "manager" }],
        });
        [role, binding]
    };
    Manifests {
        documents: ["a", "b", "here"].map(pair).concat(),
        account: Account {
            namespace: "here".to_owned(),
            name: "manager".to_owned(),
        },
        watched: vec!["a".to_owned(), "b".to_owned()],
    }
}

#[test]
fn one_watched_namespace_represents_all() {
    let manifests = namespaced();

    let namespaces = manifests
        .grants()
        .into_iter()
        .map(|(role, _)| role.namespace);
    assert_eq!(
        namespaces.collect::<BTreeSet<_>>(),
        [Some("a".to_owned()), Some("here".to_owned())].into()
    );

    let copied = manifests.granted_where_watched();
    let copied: Vec<_> = copied
        .iter()
        .map(|(resource, object)| (&*resource.kind, object["metadata"]["namespace"].as_str()))
        .collect();
    assert_eq!(copied, [("Role", Some("a")), ("RoleBinding", Some("a"))]);
}

#[test]
fn a_removed_permission_is_in_no_copy() {
    let mut manifests = namespaced();
    let grants = manifests.grants();
    let (role, grant) = grants.first().unwrap();
    assert_eq!(role.namespace.as_deref(), Some("a"));
    manifests.leave_out(role, grant);

    let copied = manifests.granted_where_watched();

    let rules = items(&copied[0].1["rules"]).flat_map(Grant::all);
    assert_eq!(rules.collect::<Vec<_>>().len(), 1);
}

#[cfg(feature = "manager")]
#[test]
fn permissions_in_watched_namespaces_apply_in_the_namespaces_of_tests() {
    let grants = namespaced().grants_with(&["test-1".to_owned(), "test-2".to_owned()]);

    let count = |namespace: &str| {
        let of = |(role, _): &&(Role, Grant)| role.namespace.as_deref() == Some(namespace);
        grants.iter().filter(of).count()
    };
    assert_eq!(["test-1", "test-2", "here", "b"].map(count), [2, 2, 2, 0]);
}
