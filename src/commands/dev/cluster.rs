//! A cluster of the user's kubeconfig, as the deployed operator sees it.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::allowed;
use super::error::DevError;
use crate::commands::error::Result;
use crate::layout;
use crate::manifests::json::{list_of, text_of};
use crate::names::objects;
use crate::report::{Happening, Level, Report};
use crate::toolchain::secret_file::PrivateFile;
use crate::toolchain::{environment, kubectl};
use crate::tree::read_text;
use crate::yaml;

/// How the operator is started there.
pub(super) struct Cluster {
    /// For the one context, with the rights of the deployed operator.
    pub(crate) kubeconfig: PrivateFile,
    /// Those of the Deployment.
    pub(crate) arguments: Vec<String>,
    /// What the Deployment sets to a value, and the user to no other.
    pub(crate) environment: Vec<(String, String)>,
    pub(crate) namespace: String,
    /// Whether `config/default` has webhooks.
    pub(crate) has_webhooks: bool,
}

/// What `config/default` deploys.
#[derive(Debug, Default, PartialEq, Eq)]
struct Deployed {
    namespace: String,
    account: String,
    arguments: Vec<String>,
    environment: Vec<(String, String)>,
}

impl Cluster {
    /// The cluster of the context, which must be allowed, for the project at `root`.
    pub(super) fn open(root: &Path, name: &str, report: &Report) -> Result<Self> {
        allowed::check(root, name)?;
        let failed = |reason| DevError::Kubectl { reason };
        let objects = config(root).map_err(failed)?;
        let deployed = Deployed::of(&objects).ok_or(DevError::NoManager)?;
        let (account, namespace) = (&deployed.account, &deployed.namespace);
        let context = format!("--context={name}");
        let view = "config view --raw --minify --flatten --output=json";
        let view = kubectl::output(root, view, &[&context]).map_err(failed)?;
        let mut config: Value = serde_json::from_str(&view).unwrap_or_default();
        if config.pointer("/users/0/user").is_none() {
            let context = name.to_owned();
            return Err(DevError::NoUser { context }.into());
        }
        make_absolute(&mut config, &kubeconfigs(root));
        let whom = format!("serviceaccounts/{account}");
        let place = format!("--namespace={namespace}");
        let may = kubectl::output(root, "auth can-i impersonate", &[&whom, &place, &context]);
        let server = text_of(&config, "/clusters/0/cluster/server").to_owned();
        let account = format!("system:serviceaccount:{namespace}:{account}");
        config["contexts"][0]["context"]["namespace"] = json!(namespace);
        let text = match may {
            Ok(_) => {
                config["users"][0]["user"]["as"] = json!(account);
                format!("{server} as {account}")
            }
            Err(reason) => {
                let text = format!(
                    "you may not impersonate {account}, so the operator has your own rights, not those of its role: {reason}"
                );
                report.happening(&Happening::warning(&text));
                server
            }
        };
        report.happening(&Happening::new("cluster", Level::Note, "Using").text(&text));
        let kubeconfig = PrivateFile::write(&config.to_string())?;
        let is_webhook = |object: &Value| {
            let kind = object["kind"].as_str();
            kind.is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
        };
        Ok(Self {
            kubeconfig,
            has_webhooks: objects.iter().any(is_webhook),
            namespace: deployed.namespace,
            arguments: deployed.arguments,
            environment: deployed
                .environment
                .into_iter()
                .filter(|(name, _)| environment::variable(name, "").is_empty())
                .collect(),
        })
    }
}

impl Cluster {
    /// The flag of kubectl and of an operator.
    pub(super) fn flag(&self) -> String {
        format!("--kubeconfig={}", self.kubeconfig.path())
    }
}

/// The files of the user's kubeconfig, by the folders that they are in.
fn kubeconfigs(root: &Path) -> Vec<(PathBuf, Value)> {
    let paths = environment::kubeconfigs()
        .into_iter()
        .map(|path| root.join(path));
    let files = paths.filter_map(|path| {
        let text = read_text(&path).ok()??;
        let folder = std::path::absolute(path.parent()?).ok()?;
        Some((folder, serde_yaml::from_str(&text).ok()?))
    });
    files.collect()
}

/// Makes the paths absolute that kubectl leaves relative to the file that defines the user, the first of several.
fn make_absolute(config: &mut Value, files: &[(PathBuf, Value)]) {
    let name = config["users"][0]["name"].clone();
    let defines = |file: &Value| {
        list_of(file, "users")
            .iter()
            .any(|user| user["name"] == name)
    };
    let Some((folder, _)) = files.iter().find(|(_, file)| defines(file)) else {
        return;
    };
    for (path, is_command) in [
        ("/users/0/user/tokenFile", false),
        ("/users/0/user/exec/command", true),
    ] {
        if let Some(Value::String(path)) = config.pointer_mut(path)
            // Without a separator, a command is on PATH.
            && (!is_command || path.contains('/'))
        {
            *path = folder.join(&*path).display().to_string();
        }
    }
}

/// The objects of `config/default`.
pub(super) fn config(root: &Path) -> std::result::Result<Vec<Value>, String> {
    let manifests = kubectl::output(root, "kustomize", &[layout::DEFAULT])?;
    yaml::read(layout::DEFAULT, &manifests).map_err(|error| error.to_string())
}

impl Deployed {
    /// `None` without a Deployment of the operator, or with several.
    fn of(objects: &[Value]) -> Option<Self> {
        let found = objects.iter().filter_map(|object| {
            let pod = object
                .pointer("/spec/template/spec")
                .filter(|_| objects::is_manager(object))?;
            let mut containers = list_of(pod, "containers").iter();
            let manager = containers.find(|it| it["name"] == objects::MANAGER_CONTAINER)?;
            Some((object, pod, manager))
        });
        let found: Vec<_> = found.collect();
        let [(deployment, pod, manager)] = found[..] else {
            return None;
        };
        let arguments = list_of(manager, "args").iter();
        let text = |value: &Value| value.as_str().map(str::to_owned);
        let namespace = text_of(deployment, "/metadata/namespace").to_owned();
        let variables = list_of(manager, "env").iter().filter_map(|variable| {
            let of_pod = text_of(variable, "/valueFrom/fieldRef/fieldPath");
            let of_pod = (of_pod == "metadata.namespace").then(|| namespace.clone());
            Some((
                text(&variable["name"])?,
                text(&variable["value"]).or(of_pod)?,
            ))
        });
        let environment: Vec<_> = variables.collect();
        Some(Self {
            account: text(&pod["serviceAccountName"]).unwrap_or_else(|| "default".to_owned()),
            arguments: arguments
                .filter_map(|it| Some(expanded(it.as_str()?, &environment)))
                .collect(),
            environment,
            namespace,
        })
    }
}

/// An argument with the values of variables, as Kubernetes starts a container with it.
fn expanded(argument: &str, environment: &[(String, String)]) -> String {
    let variables = environment.iter();
    variables.fold(argument.to_owned(), |argument, (name, value)| {
        argument.replace(&format!("$({name})"), value)
    })
}

/// `arguments` without the flags that are also in `later`, each of which may be given once.
pub(super) fn without(arguments: &[String], later: &[String]) -> Vec<String> {
    let name = |argument: &String| argument.split('=').next().unwrap_or_default().to_owned();
    let later: Vec<_> = later.iter().map(name).collect();
    let arguments = arguments.iter();
    let kept = arguments.filter(|argument| !later.contains(&name(argument)));
    kept.cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_operator_is_that_of_the_deployment() {
        let objects = [
            // Another Deployment, whose container has the same name.
            json!({
                "kind": "Deployment",
                "metadata": { "name": "a", "namespace": "system", "labels": { "control-plane": "web" } },
                "spec": { "template": { "spec": { "serviceAccountName": "web", "containers": [{ "name": "manager" }] } } },
            }),
            json!({
                "kind": "Deployment",
                "metadata": { "name": "m", "namespace": "system", "labels": { "control-plane": "controller-manager" } },
                "spec": { "template": { "spec": {
                    "serviceAccountName": "account",
                    "containers": [{ "name": "proxy" }, {
                        "name": "manager",
                        "args": ["--leader-elect", "--leader-election-id=$(A)"],
                        "env": [
                            { "name": "A", "value": "b" },
                            { "name": "NAMESPACE", "valueFrom": { "fieldRef": { "fieldPath": "metadata.namespace" } } },
                            { "name": "POD", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
                        ],
                    }],
                } } },
            }),
        ];
        let expected = Deployed {
            namespace: "system".to_owned(),
            account: "account".to_owned(),
            arguments: vec![
                "--leader-elect".to_owned(),
                "--leader-election-id=b".to_owned(),
            ],
            environment: vec![
                ("A".to_owned(), "b".to_owned()),
                ("NAMESPACE".to_owned(), "system".to_owned()),
            ],
        };
        assert_eq!(Deployed::of(&objects), Some(expected));
        assert_eq!(Deployed::of(&objects[..1]), None);
        let twice = [objects[1].clone(), objects[1].clone()];
        assert_eq!(Deployed::of(&twice), None);
    }

    #[test]
    fn paths_are_relative_to_the_file_that_defines_the_user() {
        let file = |folder: &str, user: &str| {
            let users = json!({ "users": [{ "name": user, "user": {} }] });
            (PathBuf::from(folder), users)
        };
        let files = [file("/a", "other"), file("/b", "me"), file("/c", "me")];
        for (user, expected) in [
            (
                json!({ "tokenFile": "token" }),
                json!({ "tokenFile": "/b/token" }),
            ),
            (
                json!({ "tokenFile": "/token" }),
                json!({ "tokenFile": "/token" }),
            ),
            (
                json!({ "exec": { "command": "./login" } }),
                json!({ "exec": { "command": "/b/./login" } }),
            ),
            (
                json!({ "exec": { "command": "/bin/login" } }),
                json!({ "exec": { "command": "/bin/login" } }),
            ),
            (
                json!({ "exec": { "command": "aws" } }),
                json!({ "exec": { "command": "aws" } }),
            ),
        ] {
            let mut config = json!({ "users": [{ "name": "me", "user": user }] });
            make_absolute(&mut config, &files);
            assert_eq!(config["users"][0]["user"], expected);
        }
    }

    #[test]
    fn later_flags_replace_those_of_the_deployment() {
        let list = |line: &str| line.split(' ').map(str::to_owned).collect::<Vec<_>>();
        let kept = without(&list("--a=1 --b --ab=2"), &list("--a=3 --b"));
        assert_eq!(kept, ["--ab=2"]);
    }
}
