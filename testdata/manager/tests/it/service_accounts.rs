// Copyright The manager authors
// SPDX-License-Identifier: Apache-2.0

//! What somebody with a token of a ServiceAccount may do: what roles that are bound to it say, where they
//! are bound. One test from the account to its end, in the order in which it is typed.

use std::fs;
use std::path::{Path, PathBuf};

use k8s_openapi::api::authentication::v1::TokenRequest;
use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, Role, RoleBinding};
use k8s_openapi::serde::Serialize;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::api::{DeleteParams, ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::core::NamespaceResourceScope;
use kube::{Api, Client, Config, Resource, ResourceExt};
use serde_json::{Value, json};
use tokio::task::block_in_place;

use crate::env;
use crate::support::until;

const RBAC: &str = "rbac.authorization.k8s.io";

#[tokio::test(flavor = "multi_thread")]
async fn a_service_account_may_do_what_is_bound_to_it_where_it_is_bound() {
    // 1. A namespace and an account in it. It has no token yet: a token has to be requested.
    let (ask, elsewhere) = (env().namespace().await, env().namespace().await);
    let account: ServiceAccount = create(&ask, json!({ "metadata": { "name": "ask-sa" } })).await;
    assert_eq!(account.secrets, None);
    let secrets = Api::<Secret>::namespaced(env().admin(), &ask);
    let none = secrets.list(&ListParams::default()).await.unwrap();
    assert_eq!(none.items, []);

    // 2. A token for it, valid for an hour, or until the Secret that it is bound to is deleted.
    let secret = create(&ask, json!({ "metadata": { "name": "ask-sa" } })).await;
    let token = token(&account, &secret).await;
    let kubeconfig = kubeconfig(&ask, &token);

    // Its bearer is authenticated by name, and may do nothing.
    let user = format!("system:serviceaccount:{ask}:ask-sa");
    let whoami = ["auth", "whoami", "-o=jsonpath={.status.userInfo.username}"];
    assert_eq!(kubectl(&kubeconfig, &whoami), Ok(user.clone()));
    assert!(!may(&kubeconfig, "list", "pods", &ask));

    // 3. A Role says what may be done, a RoleBinding who may do it. Both belong to the namespace.
    let rule = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get", "list"] });
    let role = json!({ "metadata": { "name": "ask-role" }, "rules": [rule] });
    create::<Role>(&ask, role).await;
    bind(&ask, "Role", "ask-role", &account).await;
    block_in_place(|| {
        until("the Role", || {
            may(&kubeconfig, "list", "pods", &ask).then_some(())
        });
    });

    // 4. The kubeconfig works like any other.
    let pods = ["get", "pods"];
    let found = kubectl(&kubeconfig, &pods);
    assert_eq!(
        found,
        Ok(format!("No resources found in {ask} namespace.\n"))
    );
    let mine = Api::<Pod>::namespaced(client(&kubeconfig).await, &ask);
    assert_eq!(mine.list(&ListParams::default()).await.unwrap().items, []);

    // Another verb, another resource and another namespace are forbidden, and the message names each.
    let pod: Pod = serde_json::from_value(pod()).unwrap();
    let refused = forbidden(mine.create(&PostParams::default(), &pod).await);
    let forbidden_to = |what: &str, namespace: &str| {
        format!(
            "{} is forbidden: User \"{user}\" cannot {what} in API group \"\" in the namespace \"{namespace}\"",
            what.split('"').nth(1).unwrap(),
        )
    };
    assert_eq!(refused, forbidden_to("create resource \"pods\"", &ask));
    let maps = Api::<ConfigMap>::namespaced(client(&kubeconfig).await, &ask);
    let refused = forbidden(maps.list(&ListParams::default()).await);
    assert_eq!(refused, forbidden_to("list resource \"configmaps\"", &ask));
    let theirs = ["get", "pods", "--namespace", &elsewhere];
    assert_eq!(
        kubectl(&kubeconfig, &theirs),
        Err(format!(
            "Error from server (Forbidden): {}\n",
            forbidden_to("list resource \"pods\"", &elsewhere)
        ))
    );
    assert!(!may(&kubeconfig, "list", "pods", &elsewhere));

    // 5. A ClusterRole is written once for all namespaces. If a RoleBinding refers to it, its permissions
    // apply in that namespace alone, even if they allow everything.
    let everything = json!({ "apiGroups": ["*"], "resources": ["*"], "verbs": ["*"] });
    let name = format!("everything-{ask}");
    let role = json!({ "metadata": { "name": name }, "rules": [everything] });
    let role: ClusterRole = serde_json::from_value(role).unwrap();
    let roles = Api::<ClusterRole>::all(env().admin());
    roles.create(&PostParams::default(), &role).await.unwrap();
    let binding = bind(&ask, "ClusterRole", &name, &account).await;
    block_in_place(|| {
        until("the ClusterRole", || {
            may(&kubeconfig, "delete", "secrets", &ask).then_some(())
        });
    });
    mine.create(&PostParams::default(), &pod).await.unwrap();
    assert!(!may(&kubeconfig, "get", "secrets", &elsewhere));
    let nodes = kubectl(&kubeconfig, &["get", "nodes"]).unwrap_err();
    assert!(nodes.contains("at the cluster scope"), "{nodes}");

    // 6. Permissions end with their binding, and the token with its Secret.
    let bindings = Api::<RoleBinding>::namespaced(env().admin(), &ask);
    let now = DeleteParams::default();
    bindings.delete(&binding.name_any(), &now).await.unwrap();
    block_in_place(|| {
        until("the end of the permissions", || {
            (!may(&kubeconfig, "delete", "secrets", &ask)).then_some(())
        });
    });
    assert!(may(&kubeconfig, "list", "pods", &ask), "by the Role");
    secrets.delete(&secret.name_any(), &now).await.unwrap();
    let said = block_in_place(|| {
        until("the end of the token", || {
            kubectl(&kubeconfig, &["auth", "whoami"]).err()
        })
    });
    assert!(said.contains("You must be logged in"), "{said}");
    roles.delete(&name, &now).await.unwrap();
}

/// Creates an object from JSON; its type provides the API version and the kind.
async fn create<K>(namespace: &str, object: Value) -> K
where
    K: Clone + DeserializeOwned + Resource<Scope = NamespaceResourceScope> + Serialize,
    K: std::fmt::Debug,
    K::DynamicType: Default,
{
    let object: K = serde_json::from_value(object).unwrap();
    let api = Api::<K>::namespaced(env().admin(), namespace);
    api.create(&PostParams::default(), &object).await.unwrap()
}

/// `kubectl create token ask-sa --bound-object-kind Secret --bound-object-name ask-sa --duration 1h`.
async fn token(account: &ServiceAccount, secret: &Secret) -> String {
    let bound = json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "name": secret.name_any(),
        "uid": secret.uid(),
    });
    let request = json!({
        "metadata": {},
        "spec": { "audiences": [], "boundObjectRef": bound, "expirationSeconds": 3600 },
    });
    let request: TokenRequest = serde_json::from_value(request).unwrap();
    let api = Api::<ServiceAccount>::namespaced(env().admin(), &account.namespace().unwrap());
    let (name, params) = (account.name_any(), PostParams::default());
    let response = api.create_token_request(&name, &params, &request).await;
    response.unwrap().status.unwrap().token.unwrap()
}

/// A kubeconfig with the given token, for one namespace.
fn kubeconfig(namespace: &str, token: &str) -> PathBuf {
    let path = env().logs().join(format!("{namespace}.ask.kubeconfig"));
    fs::copy(env().kubeconfig(), &path).unwrap();
    let token = format!("--token={token}");
    let namespace = format!("--namespace={namespace}");
    for line in [
        ["set-credentials", "ask-sa", &token, ""],
        ["set-context", "--current", "--user=ask-sa", &namespace],
    ] {
        let words = line.into_iter().filter(|word| !word.is_empty());
        let words: Vec<&str> = ["config"].into_iter().chain(words).collect();
        kubectl(&path, &words).unwrap();
    }
    path
}

/// Grants the permissions of the role in `namespace` to the account.
async fn bind(namespace: &str, kind: &str, role: &str, account: &ServiceAccount) -> RoleBinding {
    let subject = json!({
        "kind": "ServiceAccount",
        "name": account.name_any(),
        "namespace": account.namespace(),
    });
    let binding = json!({
        "metadata": { "name": format!("{role}-binding") },
        "roleRef": { "apiGroup": RBAC, "kind": kind, "name": role },
        "subjects": [subject],
    });
    create(namespace, binding).await
}

/// What kubectl prints, as an error if it fails.
fn kubectl(kubeconfig: &Path, words: &[&str]) -> Result<String, String> {
    let mut kubectl = env().kubectl();
    kubectl.arg("--kubeconfig").arg(kubeconfig).args(words);
    let output = kubectl.output().unwrap();
    let text = [output.stdout, output.stderr].concat();
    let text = String::from_utf8(text).unwrap();
    if output.status.success() {
        Ok(text)
    } else {
        Err(text)
    }
}

/// `kubectl auth can-i`.
fn may(kubeconfig: &Path, verb: &str, resource: &str, namespace: &str) -> bool {
    let words = ["auth", "can-i", verb, resource, "--namespace", namespace];
    kubectl(kubeconfig, &words).is_ok()
}

async fn client(kubeconfig: &Path) -> Client {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let options = KubeConfigOptions::default();
    let config = Config::from_custom_kubeconfig(kubeconfig, &options).await;
    Client::try_from(config.unwrap()).unwrap()
}

/// The message of a 403 response.
fn forbidden<T: std::fmt::Debug>(outcome: kube::Result<T>) -> String {
    match outcome {
        Err(kube::Error::Api(status)) if status.code == 403 => status.message,
        other => panic!("not 403: {other:?}"),
    }
}

fn pod() -> Value {
    let container = json!({ "name": "main", "image": "example.com/image" });
    json!({ "metadata": { "name": "one" }, "spec": { "containers": [container] } })
}
