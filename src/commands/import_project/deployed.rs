//! How the operator in Go is deployed: the names of its objects, and what makes its certificates.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::commands::error::Result;
use crate::import::go::GoProject;
use crate::layout;
use crate::names::ProjectName;
use crate::names::objects::{MANAGER, NAMESPACE};
use crate::project::{Certificates, Project};
use crate::yaml;

use super::remaining::{Remaining, Step};

/// `config/default` of the operator in Go.
#[derive(Debug, Default)]
pub(super) struct Deployed {
    pub(super) namespace: Option<String>,
    /// Empty if the kustomization has none, and absent without a kustomization.
    pub(super) prefix: Option<String>,
    /// Without the dash at its end, if the namespace has the name that belongs to it.
    regular: Option<String>,
    pub(super) resources: Vec<String>,
    pub(super) kustomization: Value,
    pub(super) manager: Value,
}

impl Deployed {
    pub(super) fn read(go: &GoProject<'_>) -> Result<Self> {
        let kustomization = documents(go, layout::DEFAULT_KUSTOMIZATION)?
            .into_iter()
            .next()
            .unwrap_or_default();
        let documents = documents(go, layout::MANAGER)?;
        let manager = documents
            .into_iter()
            .find(|it| it["kind"] == "Deployment")
            .unwrap_or_default();
        let text = |name: &str| kustomization[name].as_str().map(str::to_owned);
        let (namespace, mut prefix) = (text("namespace"), text("namePrefix"));
        if !kustomization.is_null() {
            prefix.get_or_insert_default();
        }
        let regular = prefix
            .as_deref()
            .and_then(|prefix| prefix.strip_suffix('-'));
        let regular =
            regular.filter(|name| namespace.as_deref() == Some(&format!("{name}-{NAMESPACE}")));
        let mut resources = texts(&kustomization["resources"]);
        resources.extend(texts(&kustomization["bases"]));
        Ok(Self {
            regular: regular.map(str::to_owned),
            namespace,
            prefix,
            resources,
            kustomization,
            manager,
        })
    }

    pub(super) fn regular_name(&self) -> Option<&str> {
        self.regular.as_deref()
    }

    /// Whether objects have other names in the cluster than those of a new project with that name.
    pub(super) fn is_irregular(&self, name: &ProjectName) -> bool {
        let prefix = format!("{name}-");
        let has_other = |is: &Option<String>, own: String| is.as_ref().is_some_and(|it| *it != own);
        has_other(&self.namespace, name.namespace()) || has_other(&self.prefix, prefix)
    }

    /// The name of the new Deployment in the cluster, and its namespace.
    pub(super) fn manager(&self, project: &Project) -> (String, String) {
        let name = &project.project_name;
        let prefix = self.prefix.clone().unwrap_or_else(|| format!("{name}-"));
        let namespace = self.namespace.clone();
        (
            format!("{prefix}{MANAGER}"),
            namespace.unwrap_or_else(|| name.namespace()),
        )
    }

    /// Who makes the certificates: cert-manager if it does in Go. A manager that makes its own knows the names of a
    /// new project only.
    pub(super) fn certificates(&self, project: &Project) -> Certificates {
        let has_cert_manager = self.resources.iter().any(|it| it == "../certmanager");
        super::certificates(has_cert_manager || self.is_irregular(&project.project_name))
    }

    /// The managers in Rust and in Go share the Lease.
    pub(super) fn keep_lease(
        &self,
        go: &GoProject<'_>,
        project: &mut Project,
        remaining: &mut Remaining,
    ) {
        let found = go
            .sources
            .iter()
            .filter_map(|file| Some((file.path, file.text_of("LeaderElectionID")?)));
        let mut found: Vec<_> = found.collect();
        found.sort_by_key(|(path, _)| !path.ends_with("main.go"));
        let mut found = found.into_iter();
        let first = found.next();
        let others: Vec<_> = found
            .filter(|(_, id)| first.is_some_and(|(_, it)| it != *id))
            .collect();
        match first {
            Some((path, id)) => match id.parse() {
                Ok(lease) => {
                    project.leader_election_id = Some(lease);
                    for (other, id) in others {
                        remaining.add(Step::Lost, format!("`{other}` has another Lease, `{id}`; the new managers use `{}`, that of `{path}`", project.lease()));
                    }
                }
                Err(_) => remaining.add(Step::Lost, format!("the Lease `{id}` of `{path}` has no valid name: the new managers use `{}`", project.lease())),
            },
            None => remaining.add(
                Step::Lost,
                format!("no `LeaderElectionID` is a text in the Go code: if the managers in Go elect a leader, write the name of their Lease into `{}` (`LEADER_ELECTION_ID`) and into `config/rbac/leader_election_role.yaml` instead of `{}`, or stop them before the first deployment", layout::MANAGER, project.lease()),
            ),
        }
    }

    /// The folders of `config/` that the new project has too, and lists only if the project in Go does.
    pub(super) fn folders(&self) -> impl Iterator<Item = String> {
        let folders = self
            .resources
            .iter()
            .filter(|it| matches!(it.as_str(), "../prometheus" | "../grafana"));
        folders.map(|folder| format!("- {folder}"))
    }

    /// The files in which the names of objects differ from those of a new project.
    pub(super) fn texts(&self, project: &Project) -> BTreeMap<String, String> {
        let mut texts = BTreeMap::new();
        if !self.is_irregular(&project.project_name) {
            return texts;
        }
        let all = crate::commands::init_files::texts(project);
        let found = all
            .into_iter()
            .find(|(path, _)| path == layout::DEFAULT_KUSTOMIZATION);
        if let Some((path, text)) = found {
            let lines = text.lines().map(|line| {
                let key = line.split_once(':').map_or("", |(key, _)| key);
                let value = match key {
                    "namespace" => self.namespace.as_ref(),
                    "namePrefix" => self.prefix.as_ref(),
                    _ => None,
                };
                value.map_or_else(|| line.to_owned(), |value| format!("{key}: {value:?}"))
            });
            texts.insert(path, lines.collect::<Vec<_>>().join("\n") + "\n");
        }
        texts
    }
}

/// The texts of a list; of an object in it, its `path`.
pub(super) fn texts(list: &Value) -> Vec<String> {
    let items = list.as_array().into_iter().flatten();
    let text = |item: &Value| match item {
        Value::String(text) => text.clone(),
        item => item["path"].as_str().unwrap_or("written inline").to_owned(),
    };
    items.map(text).collect()
}

/// The documents of a file; none if there is no such file.
pub(super) fn documents(go: &GoProject<'_>, path: &str) -> Result<Vec<Value>> {
    let Some(text) = go.files.get(path) else {
        return Ok(Vec::new());
    };
    Ok(yaml::read(path, text)?)
}
