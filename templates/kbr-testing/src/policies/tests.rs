// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! The resources of policies, and their namespace.

use serde_json::json;

use super::*;

#[test]
fn the_resources_are_those_of_kubernetes() {
    let plurals: Vec<String> = resources().map(|resource| resource.plural).collect();
    assert_eq!(
        plurals,
        [
            "mutatingadmissionpolicies",
            "mutatingadmissionpolicybindings",
            "validatingadmissionpolicies",
            "validatingadmissionpolicybindings",
        ]
    );
}

#[test]
fn only_policies_and_bindings_lose_their_namespace() {
    let object =
        |kind: &str| json!({ "kind": kind, "metadata": { "name": "a", "namespace": "b" } });
    let kinds = [
        "MutatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "Role",
    ];
    let mut documents = kinds.map(object);

    leave_namespaces_out(&mut documents);

    let namespaces = documents.map(|document| document["metadata"]["namespace"].clone());
    assert_eq!(namespaces, [Value::Null, Value::Null, "b".into()]);
}
