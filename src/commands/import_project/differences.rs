//! What the Kustomize files of the operator in Go have that kubebuilder does not scaffold, or that the new project has
//! otherwise: entries of the checklist. Pure.

use serde_json::Value;

use crate::commands::error::Result;
use crate::import::go::GoProject;
use crate::layout;
use crate::names::objects::MANAGER;
use crate::project::Project;

use super::deployed::{Deployed, documents, texts};
use super::remaining::{Remaining, Step};

/// What kubebuilder, operator-sdk and their plugins put into `config/default`.
const RESOURCES: [&str; 9] = [
    "../crd",
    "../rbac",
    "../manager",
    "../webhook",
    "../certmanager",
    "../prometheus",
    "../network-policy",
    "metrics_service.yaml",
    "../grafana",
];
const PATCHES: [&str; 7] = [
    "manager_metrics_patch.yaml",
    "manager_webhook_patch.yaml",
    "cert_metrics_manager_patch.yaml",
    "webhookcainjection_patch.yaml",
    "manager_auth_proxy_patch.yaml",
    "manager_config_patch.yaml",
    "manager_pull_policy.yaml",
];
const KEYS: [&str; 11] = [
    "apiVersion",
    "bases",
    "configurations",
    "kind",
    "labels",
    "namePrefix",
    "namespace",
    "patches",
    "patchesStrategicMerge",
    "replacements",
    "resources",
];
const ARGUMENTS: [&str; 5] = [
    "--leader-elect",
    "--enable-leader-election",
    "--health-probe-bind-address",
    "--metrics-bind-address",
    "--metrics-addr",
];

/// The settings of the pods that kubebuilder scaffolds, and volumes, which are listed on their own.
const POD: [&str; 5] = [
    "containers",
    "securityContext",
    "serviceAccountName",
    "terminationGracePeriodSeconds",
    "volumes",
];

impl Deployed {
    /// What the Kustomize files have that the new project does not.
    pub(super) fn differences(
        &self,
        go: &GoProject<'_>,
        project: &Project,
        remaining: &mut Remaining,
    ) -> Result<()> {
        let mut add = |text: String| remaining.add(Step::Deployment, text);
        if self.is_irregular(&project.project_name) {
            add(self.names(project));
        }
        for resource in self
            .resources
            .iter()
            .filter(|it| !is_one_of(it, &RESOURCES))
        {
            add(format!(
                "`{}` of the project in Go lists `{resource}`: copy it, and list it in the new one",
                layout::DEFAULT_KUSTOMIZATION
            ));
        }
        let mut patches = texts(&self.kustomization["patches"]);
        patches.extend(texts(&self.kustomization["patchesStrategicMerge"]));
        for patch in patches.iter().filter(|it| !is_one_of(it, &PATCHES)) {
            add(format!(
                "`{}` of the project in Go has the patch `{patch}`: write the same for the new objects",
                layout::DEFAULT_KUSTOMIZATION
            ));
        }
        if patches
            .iter()
            .any(|it| is_one_of(it, &["cert_metrics_manager_patch.yaml"]))
        {
            add(format!(
                "The metrics of the manager in Go have a certificate of cert-manager's: add a line `components: [../metrics-certificate]` to `{}`",
                layout::DEFAULT_KUSTOMIZATION
            ));
        }
        let mut resources = self.resources.iter();
        if !resources.any(|it| is_one_of(it, &["../network-policy"])) {
            add(format!(
                "The new project has a network policy, and the one in Go does not: only namespaces with the label `metrics: enabled` can read the metrics. Label that of Prometheus, or remove the line `- ../network-policy` from `{}`",
                layout::DEFAULT_KUSTOMIZATION
            ));
        }
        for (key, _) in self.kustomization.as_object().into_iter().flatten() {
            if !KEYS.contains(&key.as_str()) {
                add(format!(
                    "`{}` of the project in Go has `{key}`: decide whether the new one needs it",
                    layout::DEFAULT_KUSTOMIZATION
                ));
            }
        }
        self.manager_differences(project, &mut add);
        folder_differences(go, &mut add)
    }

    /// What the objects are called, if it is not what those of a new project are.
    fn names(&self, project: &Project) -> String {
        let file = layout::DEFAULT_KUSTOMIZATION;
        let (namespace, name) = (project.project_name.namespace(), &project.project_name);
        let prefix = match self.prefix.as_deref() {
            Some(prefix) if !prefix.is_empty() => format!("the prefix `{prefix}`"),
            _ => "no prefix".to_owned(),
        };
        match &self.namespace {
            Some(own) => format!(
                "The objects keep their namespace `{own}` and have {prefix}, as `{file}` says; other files, such as `hack/test-e2e.sh` and the bundle, expect `{namespace}` and `{name}-`"
            ),
            None => format!(
                "`{file}` of the project in Go has no namespace, so the new one has `{namespace}`, and {prefix}: if an overlay or the bundle gives the objects in the cluster other names, write them there; other files, such as `hack/test-e2e.sh`, expect `{namespace}` and `{name}-`"
            ),
        }
    }

    fn manager_differences(&self, project: &Project, add: &mut impl FnMut(String)) {
        let manager = &self.manager;
        if manager.is_null() {
            add(format!(
                "`{}` of the project in Go has no Deployment: stop what runs the operator in Go before the first deployment",
                layout::MANAGER
            ));
            return;
        }
        let name = manager["metadata"]["name"].as_str().unwrap_or_default();
        let selector = &manager["spec"]["selector"]["matchLabels"];
        let own = serde_json::json!({
            "control-plane": MANAGER,
            "app.kubernetes.io/name": project.project_name.as_str(),
        });
        if name != MANAGER {
            add(format!(
                "The Deployment in Go is called `{name}`: delete it when the new one, `{MANAGER}`, is deployed"
            ));
        } else if *selector != own {
            add(format!(
                "The Deployment in Go has another selector, which no Deployment can change: type `kubectl delete deployment` for it directly before the first `make deploy` (selector in Go: `{selector}`)"
            ));
        }
        pod_differences(&manager["spec"]["template"]["spec"], add);
    }
}

/// The resources that kubebuilder scaffolds.
fn usual_resources() -> Value {
    serde_json::json!({
        "limits": { "cpu": "500m", "memory": "128Mi" },
        "requests": { "cpu": "10m", "memory": "64Mi" },
    })
}

/// The containers of the manager in Go, what they are started with, and its volumes.
fn pod_differences(pod: &Value, add: &mut impl FnMut(String)) {
    let containers = pod["containers"].as_array().map_or(&[][..], Vec::as_slice);
    let manager = containers.iter().find(|it| it["name"] == "manager");
    let manager = manager.or(containers.first());
    for container in containers {
        let name = container["name"].as_str().unwrap_or_default();
        if Some(container) != manager {
            if name != "kube-rbac-proxy" {
                add(format!(
                    "The Deployment in Go has the container `{name}` as well"
                ));
            }
            continue;
        }
        let is_known = |it: &String| {
            ARGUMENTS
                .iter()
                .any(|known| it.split('=').next() == Some(known))
        };
        let arguments: Vec<String> = texts(&container["args"])
            .into_iter()
            .filter(|it| !is_known(it))
            .collect();
        if !arguments.is_empty() {
            add(format!(
                "The manager in Go has the arguments `{}`",
                arguments.join(" ")
            ));
        }
        let resources = &container["resources"];
        if !resources.is_null() && *resources != usual_resources() {
            add(format!(
                "The manager in Go has the resources `{resources}`: set them in `{}`",
                layout::MANAGER
            ));
        }
        let env = container["env"].as_array().into_iter().flatten();
        let names: Vec<&str> = env
            .filter_map(|it| it["name"].as_str())
            .filter(|it| *it != "WATCH_NAMESPACE")
            .collect();
        if !names.is_empty() {
            add(format!(
                "The manager in Go has the environment variables `{}`",
                names.join("`, `")
            ));
        }
    }
    let others = pod.as_object().into_iter().flatten().map(|(key, _)| key);
    let others: Vec<&str> = others
        .map(String::as_str)
        .filter(|key| !POD.contains(key))
        .collect();
    if !others.is_empty() {
        add(format!(
            "The pods in Go have `{}`: see `{}` there",
            others.join("`, `"),
            layout::MANAGER
        ));
    }
    if pod["volumes"].as_array().is_some_and(|it| !it.is_empty()) {
        add(format!(
            "The pods in Go have volumes: see `{}` there",
            layout::MANAGER
        ));
    }
}

/// The patches and roles of other folders of `config/`.
fn folder_differences(go: &GoProject<'_>, add: &mut impl FnMut(String)) -> Result<()> {
    let is_kustomization =
        |path: &&String| path.starts_with(layout::CONFIG) && path.ends_with("kustomization.yaml");
    for path in go.files.keys().filter(is_kustomization) {
        let value = documents(go, path)?.into_iter().next().unwrap_or_default();
        if path == layout::RBAC_KUSTOMIZATION {
            for resource in texts(&value["resources"]) {
                let known = ["role.yaml", "role_binding.yaml", "service_account.yaml"];
                let prefixes = [
                    "leader_election_role",
                    "auth_proxy_",
                    "metrics_auth_role",
                    "metrics_reader_role",
                ];
                let endings = ["_admin_role.yaml", "_editor_role.yaml", "_viewer_role.yaml"];
                let is_known = known.contains(&resource.as_str())
                    || prefixes.iter().any(|it| resource.starts_with(it))
                    || endings.iter().any(|it| resource.ends_with(it));
                if !is_known {
                    add(format!(
                        "`{path}` of the project in Go lists `{resource}`: copy it, and list it in the new one"
                    ));
                }
            }
        }
        if path == layout::CRD_KUSTOMIZATION {
            let patches = texts(&value["patches"])
                .into_iter()
                .chain(texts(&value["patchesStrategicMerge"]));
            for patch in patches {
                let name = patch.rsplit('/').next().unwrap_or_default();
                if !name.starts_with("webhook_in_") && !name.starts_with("cainjection_in_") {
                    add(format!(
                        "`{path}` of the project in Go has the patch `{patch}`: write the same as attributes of the types"
                    ));
                }
            }
        }
        for image in value["images"].as_array().into_iter().flatten() {
            let part = |name: &str| image[name].as_str().unwrap_or_default();
            if !["", "controller"].contains(&part("newName")) {
                add(format!(
                    "`{path}` of the project in Go sets the image `{}:{}`: type it after `make deploy IMG=`",
                    part("newName"),
                    part("newTag")
                ));
            }
        }
    }
    Ok(())
}

fn is_one_of(path: &str, known: &[&str]) -> bool {
    let path = path.trim_start_matches("./").trim_end_matches('/');
    known.contains(&path)
}
