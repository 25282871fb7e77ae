//! The webhooks of one version of one kind, with kubebuilder's keys.

use serde::{Deserialize, Serialize};

use super::Resource;
use crate::names::{NameError, Version, WebhookPath};

/// Which webhooks exist, and what was typed for them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct Webhooks {
    /// Whether this version is the hub, which the spokes are converted to and from.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) conversion: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) defaulting: bool,
    /// Absent if it is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) defaulting_path: Option<WebhookPath>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub(crate) spoke: Vec<Version>,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) validation: bool,
    /// Absent if it is the default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub(crate) validation_path: Option<WebhookPath>,
    webhook_version: String,
}

impl Default for Webhooks {
    fn default() -> Self {
        Self {
            conversion: false,
            defaulting: false,
            defaulting_path: None,
            spoke: Vec::new(),
            validation: false,
            validation_path: None,
            webhook_version: "v1".to_owned(),
        }
    }
}

/// A webhook that validates or changes objects when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Admission {
    Defaulting,
    Validation,
}

impl Admission {
    pub(crate) const ALL: [Self; 2] = [Self::Defaulting, Self::Validation];

    /// Those that were typed.
    pub(crate) fn typed(defaulting: bool, validation: bool) -> Vec<Self> {
        let typed = [
            (Self::Defaulting, defaulting),
            (Self::Validation, validation),
        ];
        let typed = typed.into_iter().filter(|(_, is_typed)| *is_typed);
        typed.map(|(admission, _)| admission).collect()
    }

    /// The API server's word for it.
    fn verb(self) -> &'static str {
        match self {
            Self::Defaulting => "mutate",
            Self::Validation => "validate",
        }
    }

    /// The option for another path.
    pub(crate) fn path_option(self) -> &'static str {
        match self {
            Self::Defaulting => "--defaulting-path",
            Self::Validation => "--validation-path",
        }
    }

    /// The option that requests it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Defaulting => "--defaulting",
            Self::Validation => "--programmatic-validation",
        }
    }
}

impl std::fmt::Display for Admission {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Defaulting => "defaulting",
            Self::Validation => "validating",
        })
    }
}

impl Webhooks {
    pub(crate) fn has(&self, admission: Admission) -> bool {
        match admission {
            Admission::Defaulting => self.defaulting,
            Admission::Validation => self.validation,
        }
    }

    pub(crate) fn has_admission(&self) -> bool {
        self.defaulting || self.validation
    }

    fn custom_path(&self, admission: Admission) -> Option<&WebhookPath> {
        match admission {
            Admission::Defaulting => self.defaulting_path.as_ref(),
            Admission::Validation => self.validation_path.as_ref(),
        }
    }

    /// Checks what the keys require of each other.
    pub(super) fn check(&self) -> Result<(), &'static str> {
        if self.webhook_version != "v1" {
            return Err("must have `webhookVersion: v1`");
        }
        if !self.conversion && !self.has_admission() {
            return Err("has none of `conversion`, `defaulting` and `validation`");
        }
        if self.conversion == self.spoke.is_empty() {
            return Err("must have `conversion` and `spoke` together");
        }
        let is_lost = |admission| self.custom_path(admission).is_some() && !self.has(admission);
        if Admission::ALL.into_iter().any(is_lost) {
            return Err("has the path of a webhook that it does not have");
        }
        Ok(())
    }
}

impl Resource {
    /// The path of that webhook, whether it exists or not: the typed path, or the default, which may be
    /// too long.
    pub(crate) fn webhook_path(&self, admission: Admission) -> Result<WebhookPath, NameError> {
        let webhooks = self.webhooks();
        if let Some(typed) = webhooks.custom_path(admission) {
            return Ok(typed.clone());
        }
        let group = match self.core_type() {
            Some(core) => core.group.to_owned(),
            None => self.qualified_group(),
        };
        let (verb, group) = (admission.verb(), group.replace('.', "-"));
        format!("/{verb}-{group}-{}-{}", self.version, self.kind.lower()).parse()
    }

    /// The paths of all admission webhooks of this type.
    pub(crate) fn webhook_paths(&self) -> impl Iterator<Item = (Admission, WebhookPath)> {
        let webhooks = self.webhooks();
        let all = Admission::ALL.into_iter();
        let existing = all.filter(move |admission| webhooks.has(*admission));
        existing.filter_map(|admission| Some((admission, self.webhook_path(admission).ok()?)))
    }
}
