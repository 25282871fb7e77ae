//! The file PROJECT of kubebuilder and operator-sdk, version 3. Keys that kbr does not need are ignored, because every
//! plugin may add its own. Pure.

use serde::Deserialize;
use serde_yaml::Value;

use super::error::GoError;

/// The layouts that are read: where their files are is known.
const LAYOUTS: [&str; 2] = ["go.kubebuilder.io/v3", "go.kubebuilder.io/v4"];

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct ProjectFile {
    #[serde(default)]
    pub(crate) domain: String,
    #[serde(default)]
    pub(crate) multigroup: bool,
    #[serde(default)]
    pub(crate) namespaced: bool,
    #[serde(default)]
    pub(crate) project_name: String,
    #[serde(default)]
    pub(crate) repo: String,
    #[serde(default)]
    pub(crate) resources: Vec<GoResource>,
}

/// One version of one kind.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GoResource {
    /// Present if the project defines the type.
    pub(crate) api: Option<Value>,
    pub(crate) controller: bool,
    pub(crate) controllers: Vec<GoController>,
    /// Whether the type is Kubernetes' own, since kubebuilder 4.3.
    pub(crate) core: bool,
    pub(crate) domain: String,
    pub(crate) external: bool,
    pub(crate) group: String,
    pub(crate) kind: String,
    /// The Go module of a type of another operator.
    pub(crate) module: String,
    /// The Go package of the type.
    pub(crate) path: String,
    pub(crate) version: String,
    pub(crate) webhooks: Option<GoWebhooks>,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(crate) struct GoController {
    pub(crate) name: String,
}

#[derive(Debug, Clone, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
pub(crate) struct GoWebhooks {
    pub(crate) conversion: bool,
    pub(crate) defaulting: bool,
    pub(crate) spoke: Vec<String>,
    pub(crate) validation: bool,
}

impl GoResource {
    /// The group with its domain; empty for Kubernetes' nameless group.
    pub(crate) fn qualified_group(&self) -> String {
        let parts = [self.group.as_str(), self.domain.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        match parts.join(".").as_str() {
            "core" if !self.is_own() => String::new(),
            group => group.to_owned(),
        }
    }

    pub(crate) fn is_own(&self) -> bool {
        self.api.is_some() && !self.external && !self.core
    }

    /// Whether it may be the type of a file, which has neither a controller nor webhooks.
    pub(crate) fn is_of_file(&self) -> bool {
        !self.controller && self.controllers.is_empty() && self.webhooks.is_none()
    }

    pub(crate) fn gvk(&self) -> String {
        let group = self.qualified_group();
        let group = if group.is_empty() { "core" } else { &group };
        format!("{group}/{} {}", self.version, self.kind)
    }
}

impl ProjectFile {
    /// Reads the text of PROJECT; `dir` is the folder for messages.
    pub(crate) fn read(dir: &str, text: &str) -> Result<Self, GoError> {
        let unreadable = |error: serde_yaml::Error| GoError::Unreadable {
            dir: dir.to_owned(),
            reason: error.to_string(),
        };
        let value: Value = serde_yaml::from_str(text).map_err(unreadable)?;
        let layouts = match &value["layout"] {
            Value::String(layout) => layout.split(',').map(str::to_owned).collect(),
            Value::Sequence(list) => list
                .iter()
                .filter_map(Value::as_str)
                .map(str::to_owned)
                .collect(),
            _ => Vec::new(),
        };
        let is_of = |plugin: &str| layouts.iter().any(|layout| layout.starts_with(plugin));
        let layout = |what: &str, help: &'static str| GoError::Layout {
            dir: dir.to_owned(),
            what: what.to_owned(),
            help,
        };
        if is_of("kbr/") {
            return Err(GoError::IsKbr {
                dir: dir.to_owned(),
            });
        }
        if is_of("ansible") {
            return Err(layout(
                "an operator in Ansible",
                "begin with `kbr import crd` for its CRDs, and write its logic in Rust",
            ));
        }
        if is_of("helm") || is_of("quarkus") {
            return Err(layout(
                "an operator that is not written in Go",
                "begin with `kbr import crd` for its CRDs, and write its logic in Rust",
            ));
        }
        let version = match &value["version"] {
            Value::String(version) => version.clone(),
            Value::Number(version) => version.to_string(),
            _ => String::new(),
        };
        const MIGRATE: &str = "migrate it to `go.kubebuilder.io/v4` first, as the kubebuilder book explains under \
                               \"Migrations\"; or begin with `kbr import crd` for its CRDs";
        if version != "3" {
            let what = match version.as_str() {
                "" => "a project whose PROJECT has no `version`".to_owned(),
                _ => format!("a project of version {version}"),
            };
            return Err(layout(&what, MIGRATE));
        }
        let is_known = |layout: &String| LAYOUTS.iter().any(|known| layout.ends_with(known));
        if !layouts.iter().any(is_known) {
            let what = if layouts.is_empty() {
                "a project whose PROJECT has no `layout`".to_owned()
            } else {
                format!("a project with the layout `{}`", layouts.join(", "))
            };
            return Err(layout(&what, MIGRATE));
        }
        serde_yaml::from_value(value).map_err(unreadable)
    }
}
