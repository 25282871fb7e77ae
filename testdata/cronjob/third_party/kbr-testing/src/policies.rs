// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Admission policies: the API server applies one up to a second after it was created.
//!
//! Nothing tells when. But it learns of all policies of a type, and of their bindings, in the order in which they are
//! created, and applies what it knows as a whole. So once it applies another policy, which is created last, it applies
//! all of them.

use kube::api::{ApiResource, DeleteParams, DynamicObject, GroupVersionKind, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::TestEnvError;
use super::control_plane::{ControlPlane, PAUSE, START_TIMEOUT};
use super::install::apply;

const GROUP: &str = "admissionregistration.k8s.io";

/// The kinds of policies, each with its resource and that of its bindings.
const KINDS: [(&str, &str); 2] = [
    ("MutatingAdmissionPolicy", "mutatingadmissionpolicies"),
    ("ValidatingAdmissionPolicy", "validatingadmissionpolicies"),
];

/// The name of the policies that are created last, of their bindings, and of the objects that they are for.
const LAST: &str = "kbr-testing-last-policy";

/// Policies and their bindings, as resources.
pub(super) fn resources() -> impl Iterator<Item = ApiResource> {
    KINDS.into_iter().flat_map(|kind| {
        let [policy, binding] = of(kind);
        [policy, binding]
    })
}

fn of((kind, plural): (&str, &str)) -> [ApiResource; 2] {
    let resource = |kind: &str, plural: &str| {
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk(GROUP, "v1", kind), plural)
    };
    [
        resource(kind, plural),
        resource(
            &format!("{kind}Binding"),
            &format!("{}bindings", plural.replace("ies", "y")),
        ),
    ]
}

/// Removes the namespaces that kustomize gives policies and bindings, because it does not know that they are
/// cluster-scoped.
pub(super) fn leave_namespaces_out(documents: &mut [Value]) {
    let kinds: Vec<String> = resources().map(|resource| resource.kind).collect();
    for document in documents {
        let kind = document["kind"].as_str().unwrap_or_default();
        if kinds.iter().any(|it| it == kind)
            && let Some(metadata) = document["metadata"].as_object_mut()
        {
            metadata.remove("namespace");
        }
    }
}

/// Waits until the API server applies the policies among `documents`.
///
/// # Errors
///
/// [`TestEnvError::Refused`] and [`TestEnvError::NotReady`].
pub(super) async fn wait_until_applied(
    control_plane: &ControlPlane,
    client: &Client,
    documents: &[Value],
) -> Result<(), TestEnvError> {
    let has = |kind: &str| documents.iter().any(|document| document["kind"] == kind);
    for kind in KINDS.into_iter().filter(|(kind, _)| has(kind)) {
        let waited = timeout(START_TIMEOUT, wait_for_last(client, kind)).await;
        let waited = waited
            .map_err(|_| control_plane.not_ready(&format!("it does not apply a {}", kind.0)))?;
        waited.map_err(|error| control_plane.refused(&format!("{} `{LAST}`", kind.0), error))?;
    }
    Ok(())
}

/// Creates the last policy of that kind, waits until the API server applies it, and deletes it.
async fn wait_for_last(client: &Client, kind: (&str, &str)) -> kube::Result<()> {
    let is_mutating = kind.0.starts_with("Mutating");
    let resources = of(kind);
    for (resource, document) in resources.iter().zip(last(is_mutating)) {
        apply(client, resource, LAST, &document).await?;
    }
    let class = GroupVersionKind::gvk("node.k8s.io", "v1", "RuntimeClass");
    let class = ApiResource::from_gvk(&class);
    let classes: Api<DynamicObject> = Api::all_with(client.clone(), &class);
    let object = DynamicObject::new(LAST, &class).data(json!({ "handler": "none" }));
    // Nothing is stored.
    let params = PostParams {
        dry_run: true,
        ..PostParams::default()
    };
    loop {
        let is_applied = match classes.create(&params, &object).await {
            Ok(object) => object
                .metadata
                .labels
                .is_some_and(|it| it.contains_key(LAST)),
            Err(kube::Error::Api(status)) => status.message.contains(LAST),
            Err(error) => return Err(error),
        };
        if is_applied {
            break;
        }
        sleep(PAUSE).await;
    }
    for resource in resources.iter().rev() {
        let api: Api<DynamicObject> = Api::all_with(client.clone(), resource);
        api.delete(LAST, &DeleteParams::default()).await?;
    }
    Ok(())
}

/// A policy for objects with its own name, and its binding.
fn last(is_mutating: bool) -> [Value; 2] {
    let kind = KINDS[usize::from(!is_mutating)].0;
    let document = |kind: &str, spec: Value| {
        json!({
            "apiVersion": format!("{GROUP}/v1"),
            "kind": kind,
            "metadata": { "name": LAST },
            "spec": spec,
        })
    };
    let mut policy = json!({
        "failurePolicy": "Fail",
        "matchConditions": [
            { "name": "own", "expression": format!("object.metadata.name == '{LAST}'") },
        ],
        "matchConstraints": { "resourceRules": [{
            "apiGroups": ["node.k8s.io"],
            "apiVersions": ["v1"],
            "operations": ["CREATE"],
            "resources": ["runtimeclasses"],
        }] },
    });
    let mut binding = json!({ "policyName": LAST });
    if is_mutating {
        let labels = format!("Object{{metadata: Object.metadata{{labels: {{'{LAST}': ''}}}}}}");
        policy["reinvocationPolicy"] = "Never".into();
        policy["mutations"] = json!([{
            "patchType": "ApplyConfiguration",
            "applyConfiguration": { "expression": labels },
        }]);
    } else {
        policy["validations"] = json!([{ "expression": "false", "message": LAST }]);
        binding["validationActions"] = json!(["Deny"]);
    }
    [
        document(kind, policy),
        document(&format!("{kind}Binding"), binding),
    ]
}
