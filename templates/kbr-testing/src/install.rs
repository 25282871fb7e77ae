// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! Installs the project in the API server: the CRDs, roles, accounts, webhooks and admission policies
//! of `config/default`.
//!
//! Names and namespaces are those of a deployment, since kubectl builds `config/default`. The
//! Deployment itself is only read: it names the ServiceAccount that the manager runs as.

use std::path::{Path, PathBuf};
use std::process::Command;

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::{ResourceRule, SelfSubjectRulesReview};
use k8s_openapi::api::core::v1::{Namespace, ServiceAccount};
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::{Api, Client, Config, ResourceExt};
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use super::TestEnvError;
use super::assets::Assets;
use super::control_plane::{ControlPlane, PAUSE, START_TIMEOUT};
use super::folder::Folder;
use super::grants::items;
use super::namespaces;
use super::policies;

/// The file with the whole deployment, for kubectl.
const DEPLOYMENT: &str = "deployment.yaml";

pub(super) const FIELD_MANAGER: &str = "testenv";

/// How long a token is valid, in seconds.
const DAY: i64 = 24 * 60 * 60;

/// A ServiceAccount.
pub(super) struct Account {
    pub(super) namespace: String,
    pub(super) name: String,
}

impl Account {
    /// Its user name.
    pub(super) fn user(&self) -> String {
        format!("system:serviceaccount:{}:{}", self.namespace, self.name)
    }
}

/// The manifests of `config/default`.
pub(super) struct Manifests {
    pub(super) documents: Vec<Value>,
    /// The account that the manager runs as.
    pub(super) account: Account,
    /// The namespaces that the deployed manager watches; none if it watches the cluster.
    pub(super) watched: Vec<String>,
}

impl Manifests {
    /// Reads the manifests of the project at `project`, without a server.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Start`], [`TestEnvError::Kustomize`], [`TestEnvError::NoDeployment`] and [`TestEnvError::Webhooks`].
    pub(super) fn read(project: &Path, assets: &Assets) -> Result<Self, TestEnvError> {
        let path = project.join("config/default");
        let mut documents = kustomize(&assets.path("kubectl"), &path)?;
        policies::leave_namespaces_out(&mut documents);
        let Some(account) = documents.iter().find_map(manager_account) else {
            return Err(TestEnvError::NoDeployment { path });
        };
        let watched = namespaces::watched(manager_container(&documents), &account.namespace);
        let manifests = Self {
            documents,
            account,
            watched,
        };
        match manifests.check_webhooks() {
            Ok(()) => Ok(manifests),
            Err(fault) => Err(TestEnvError::Webhooks { path, fault }),
        }
    }

    /// The Lease that the deployed managers use for leader election, if they do.
    #[cfg(feature = "manager")]
    pub(super) fn lease(&self) -> Option<String> {
        let container = manager_container(&self.documents)?;
        let id = arg(container, "--leader-election-id=").unwrap_or_default();
        let elects = arg(container, "--leader-elect").is_some();
        elects.then(|| id.to_owned())
    }

    /// Whether the deployed manager serves metrics.
    #[cfg(feature = "manager")]
    pub(super) fn serves_metrics(&self) -> bool {
        let container = manager_container(&self.documents);
        let address = container.and_then(|container| arg(container, "--metrics-bind-address="));
        address.is_some_and(|address| address != "0")
    }

    /// Whether the deployed manager watches individual namespaces instead of the cluster.
    pub(super) fn watches_namespaces(&self) -> bool {
        !self.watched.is_empty()
    }

    /// One of the namespaces that it watches: it has the same permissions in all of them.
    pub(super) fn first_watched(&self) -> Option<&str> {
        self.watched.first().map(String::as_str)
    }

    /// Writes what an API server without cert-manager and the Prometheus Operator accepts.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Folder`].
    pub(super) fn write_deployment(&self, folder: &Folder) -> Result<PathBuf, TestEnvError> {
        let items: Vec<_> = self.known_everywhere().collect();
        let list = json!({ "apiVersion": "v1", "kind": "List", "items": items });
        // JSON is YAML.
        folder.write(DEPLOYMENT, &format!("{list:#}\n"))
    }

    /// Installs the manifests, except for the Deployment and the like.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::Refused`] and [`TestEnvError::NotReady`].
    pub(super) async fn install(
        &self,
        control_plane: &ControlPlane,
        admin: &Config,
    ) -> Result<(), TestEnvError> {
        let client = Client::try_from(admin.clone())
            .map_err(|error| control_plane.refused("a client", error))?;
        for name in &self.watched {
            let created = namespaces::ensure(&client, name).await;
            created.map_err(|error| {
                control_plane.refused(&format!("the namespace `{name}`"), error)
            })?;
        }
        let mut crds = Vec::new();
        for (resource, document) in in_order(&self.documents) {
            let name = document["metadata"]["name"].as_str().unwrap_or_default();
            let applied = apply(&client, &resource, name, document).await;
            applied.map_err(|error| {
                control_plane.refused(&format!("{} `{name}`", resource.kind), error)
            })?;
            if resource.kind == "CustomResourceDefinition" {
                crds.push(name);
            }
        }
        for name in crds {
            wait_until_served(control_plane, &client, name).await?;
        }
        policies::wait_until_applied(control_plane, &client, &self.documents).await
    }

    /// Waits until the API server grants the manager the permissions of its roles, in the namespaces
    /// that it watches in this environment as well: the API server learns of roles by watching them,
    /// a moment after they were written.
    ///
    /// # Errors
    ///
    /// [`TestEnvError::NotReady`] and [`TestEnvError::Refused`].
    pub(super) async fn wait_for_rules(
        &self,
        control_plane: &ControlPlane,
        manager: Client,
        watched: &[String],
    ) -> Result<(), TestEnvError> {
        let own = &self.account.namespace;
        let granted = async {
            wait_for_grants(&manager, own, self.bound_rules(own)).await?;
            for name in watched {
                let first = self.first_watched().into_iter();
                let rules = first.flat_map(|first| self.bound_rules(first));
                wait_for_grants(&manager, name, rules).await?;
            }
            Ok(())
        };
        match timeout(START_TIMEOUT, granted).await {
            Ok(granted) => granted.map_err(|error| control_plane.refused("its rules", error)),
            Err(_) => {
                Err(control_plane
                    .not_ready("it does not grant the permissions of the manager's roles"))
            }
        }
    }
}

/// Waits until the API server grants these rules in this namespace.
async fn wait_for_grants(
    manager: &Client,
    namespace: &str,
    rules: impl Iterator<Item = ResourceRule>,
) -> kube::Result<()> {
    let reviews = Api::<SelfSubjectRulesReview>::all(manager.clone());
    let mut question = SelfSubjectRulesReview::default();
    question.spec.namespace = Some(namespace.to_owned());
    let rules: Vec<_> = rules.collect();
    loop {
        let review = reviews.create(&PostParams::default(), &question).await?;
        let known = review.status.unwrap_or_default().resource_rules;
        if rules.iter().all(|rule| known.contains(rule)) {
            return Ok(());
        }
        sleep(PAUSE).await;
    }
}

/// Installs CRDs that are not in `config/default`.
///
/// # Errors
///
/// [`TestEnvError::Refused`] and [`TestEnvError::NotReady`].
pub(super) async fn install_crds(
    control_plane: &ControlPlane,
    client: &Client,
    crds: &[CustomResourceDefinition],
) -> Result<(), TestEnvError> {
    let api = Api::<CustomResourceDefinition>::all(client.clone());
    for crd in crds {
        let created = api.create(&PostParams::default(), crd).await;
        let object = format!("CustomResourceDefinition `{}`", crd.name_any());
        created.map_err(|error| control_plane.refused(&object, error))?;
    }
    for crd in crds {
        wait_until_served(control_plane, client, &crd.name_any()).await?;
    }
    Ok(())
}

/// Waits until the API server serves the CRD with this name.
pub(super) async fn wait_until_served(
    control_plane: &ControlPlane,
    client: &Client,
    name: &str,
) -> Result<(), TestEnvError> {
    let refused = |reason| TestEnvError::Refused {
        object: format!("CustomResourceDefinition `{name}`"),
        reason,
        log: control_plane.api_server_log(),
    };
    let crds = Api::<CustomResourceDefinition>::all(client.clone());
    let decided = await_condition(crds, name, is_decided);
    let decided = timeout(START_TIMEOUT, decided).await;
    let decided = decided.map_err(|_| {
        control_plane.not_ready(&format!("CustomResourceDefinition `{name}` is not served"))
    })?;
    let crd = decided.map_err(|error| refused(error.to_string()))?;
    if let Some(reason) = crd.as_ref().and_then(conflict) {
        return Err(refused(reason));
    }
    Ok(())
}

/// Whether the API server serves a CRD, or never will.
fn is_decided(crd: Option<&CustomResourceDefinition>) -> bool {
    conditions::is_crd_established().matches_object(crd) || crd.and_then(conflict).is_some()
}

/// Why a CRD cannot be served: another CRD already has some of its names.
fn conflict(crd: &CustomResourceDefinition) -> Option<String> {
    let conditions = crd.status.as_ref()?.conditions.iter().flatten();
    let mut refusals = conditions
        .filter(|condition| condition.type_ == "NamesAccepted" && condition.status == "False");
    refusals.next()?.message.clone()
}

fn kustomize(kubectl: &Path, path: &Path) -> Result<Vec<Value>, TestEnvError> {
    let output = Command::new(kubectl).arg("kustomize").arg(path).output();
    let output = output.map_err(|source| TestEnvError::Start {
        program: kubectl.to_owned(),
        source,
    })?;
    let failed = |reason: String| TestEnvError::Kustomize {
        path: path.to_owned(),
        reason,
    };
    if !output.status.success() {
        return Err(failed(
            String::from_utf8_lossy(&output.stderr)
                .trim_end()
                .to_owned(),
        ));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    serde_saphyr::from_multiple(&text).map_err(|error| failed(error.to_string()))
}

/// Whether an object is the manager's Deployment.
pub(super) fn is_manager(document: &Value) -> bool {
    let label = &document["metadata"]["labels"]["control-plane"];
    document["kind"] == "Deployment" && label == "controller-manager"
}

pub(super) fn manager_container(documents: &[Value]) -> Option<&Value> {
    let deployment = documents.iter().find(|object| is_manager(object))?;
    let mut containers = items(&deployment["spec"]["template"]["spec"]["containers"]);
    containers.find(|container| container["name"] == "manager")
}

/// The arguments of a container.
pub(super) fn args(container: &Value) -> impl Iterator<Item = &str> {
    items(&container["args"]).filter_map(Value::as_str)
}

/// What follows `start` in the argument of a container that begins with it, expanded.
pub(super) fn arg<'a>(container: &'a Value, start: &str) -> Option<&'a str> {
    let mut args = args(container);
    let value = args.find_map(|arg| arg.strip_prefix(start))?;
    Some(expanded(container, value))
}

/// The value of `$(VARIABLE)` in an argument of a container, as Kubernetes expands it; any other text as it is.
pub(super) fn expanded<'a>(container: &'a Value, text: &'a str) -> &'a str {
    let variable = text.strip_prefix("$(").and_then(|it| it.strip_suffix(')'));
    let Some(name) = variable else {
        return text;
    };
    let mut variables = items(&container["env"]);
    let variable = variables.find(|variable| variable["name"] == name);
    variable
        .and_then(|variable| variable["value"].as_str())
        .unwrap_or_default()
}

fn manager_account(document: &Value) -> Option<Account> {
    if !is_manager(document) {
        return None;
    }
    let text = |value: &Value| value.as_str().map(str::to_owned);
    Some(Account {
        namespace: text(&document["metadata"]["namespace"])?,
        name: text(&document["spec"]["template"]["spec"]["serviceAccountName"])?,
    })
}

/// The `documents` that are installed, grouped by kind: those that others are in or depend on come
/// first.
pub(super) fn in_order(documents: &[Value]) -> impl Iterator<Item = (ApiResource, &Value)> {
    let kinds = [
        ApiResource::erase::<Namespace>(&()),
        ApiResource::erase::<CustomResourceDefinition>(&()),
        ApiResource::erase::<ServiceAccount>(&()),
        ApiResource::erase::<ClusterRole>(&()),
        ApiResource::erase::<Role>(&()),
        ApiResource::erase::<ClusterRoleBinding>(&()),
        ApiResource::erase::<RoleBinding>(&()),
        ApiResource::erase::<MutatingWebhookConfiguration>(&()),
        ApiResource::erase::<ValidatingWebhookConfiguration>(&()),
    ];
    let kinds = kinds.into_iter().chain(policies::resources());
    kinds.flat_map(|kind| {
        let of_kind = documents
            .iter()
            .filter(|document| document["kind"] == kind.kind);
        of_kind
            .map(|document| (kind.clone(), document))
            .collect::<Vec<_>>()
    })
}

/// Creates or changes an object to match `document`.
pub(super) async fn apply(
    client: &Client,
    resource: &ApiResource,
    name: &str,
    document: &Value,
) -> kube::Result<()> {
    let api: Api<DynamicObject> = match document["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, resource),
        None => Api::all_with(client.clone(), resource),
    };
    let params = PatchParams::apply(FIELD_MANAGER).force();
    api.patch(name, &params, &Patch::Apply(document)).await?;
    Ok(())
}

/// Returns a token for this ServiceAccount, requested as the kubelet would.
pub(super) async fn token(admin: Client, namespace: &str, account: &str) -> kube::Result<String> {
    let request = TokenRequest {
        spec: Some(TokenRequestSpec {
            expiration_seconds: Some(DAY),
            ..TokenRequestSpec::default()
        }),
        ..TokenRequest::default()
    };
    let api = Api::<ServiceAccount>::namespaced(admin, namespace);
    let answer = api
        .create_token_request(account, &PostParams::default(), &request)
        .await?;
    let status = answer.status.unwrap_or_default();
    Ok(status.token.unwrap_or_default())
}
