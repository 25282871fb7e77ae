//! The admission policies of one version of one kind.

use serde::{Deserialize, Serialize};

/// Which policies exist.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Policies {
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) mutating: bool,
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub(crate) validating: bool,
}

/// What a policy does with objects when they are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PolicyType {
    Mutating,
    Validating,
}

impl PolicyType {
    pub(crate) const ALL: [Self; 2] = [Self::Mutating, Self::Validating];

    /// Those that were typed.
    pub(crate) fn typed(mutating: bool, validating: bool) -> Vec<Self> {
        let typed = Policies {
            mutating,
            validating,
        };
        typed.all().collect()
    }

    /// The option that requests it.
    pub(crate) fn option(self) -> &'static str {
        match self {
            Self::Mutating => "--mutating",
            Self::Validating => "--validating",
        }
    }
}

impl std::fmt::Display for PolicyType {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Mutating => "mutating",
            Self::Validating => "validating",
        })
    }
}

impl Policies {
    pub(crate) fn has(self, policy: PolicyType) -> bool {
        match policy {
            PolicyType::Mutating => self.mutating,
            PolicyType::Validating => self.validating,
        }
    }

    /// Adds or removes a policy.
    pub(crate) fn set(&mut self, policy: PolicyType, exists: bool) {
        match policy {
            PolicyType::Mutating => self.mutating = exists,
            PolicyType::Validating => self.validating = exists,
        }
    }

    /// Those that exist.
    pub(crate) fn all(self) -> impl Iterator<Item = PolicyType> {
        PolicyType::ALL.into_iter().filter(move |it| self.has(*it))
    }

    pub(crate) fn is_empty(&self) -> bool {
        *self == Self::default()
    }
}
