// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a request to an API server is about, from its path. Pure.

use std::fmt;

/// An object, or all objects of a kind in a namespace or the cluster. Prints as `jobs.batch default/example`.
#[derive(Clone, Debug, Default, Eq, PartialEq)]
pub struct Target {
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    pub root: String,
    /// Empty for the core group.
    pub group: String,
    /// The plural, such as `jobs`.
    pub resource: String,
    /// `None` for a cluster-scoped kind, and for all namespaces.
    pub namespace: Option<String>,
    /// `None` for a collection.
    pub name: Option<String>,
    /// Such as `status`.
    pub subresource: Option<String>,
}

impl Target {
    /// `None` for a path that is not that of a resource.
    #[must_use]
    pub fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.split('/').filter(|part| !part.is_empty()).collect();
        let (root, group, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => (format!("/api/{version}"), "", rest),
            ["apis", group, version, rest @ ..] => {
                (format!("/apis/{group}/{version}"), *group, rest)
            }
            _ => return None,
        };
        let (namespace, rest) = match rest {
            // A namespace is an object itself, and has subresources.
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let mut rest = rest.iter().map(|part| (*part).to_owned());
        Some(Self {
            root,
            group: group.to_owned(),
            resource: rest.next()?,
            namespace: namespace.map(str::to_owned),
            name: rest.next(),
            subresource: rest.next(),
        })
    }

    /// The name of a CRD has the same form, such as `jobs.batch`.
    #[must_use]
    pub fn full_resource(&self) -> String {
        match self.group.as_str() {
            "" => self.resource.clone(),
            group => format!("{}.{group}", self.resource),
        }
    }

    /// The path of the object itself, without a subresource; `None` for a collection.
    #[must_use]
    pub fn object_path(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        let namespace = self.namespace.as_deref();
        let namespace = namespace.map_or_else(String::new, |it| format!("/namespaces/{it}"));
        Some(format!("{}{namespace}/{}/{name}", self.root, self.resource))
    }
}

impl fmt::Display for Target {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} ", self.full_resource())?;
        if let Some(namespace) = &self.namespace {
            write!(f, "{namespace}/")?;
        }
        f.write_str(self.name.as_deref().unwrap_or("*"))
    }
}
