// Copyright The kbr authors
// SPDX-License-Identifier: Apache-2.0

//! What a request to an API server is about.

/// The part of a URL that says what a request is about.
#[derive(Clone, Debug, Eq, PartialEq)]
pub(super) struct Target {
    /// `/api/v1` or `/apis/GROUP/VERSION`.
    pub(super) root: String,
    pub(super) group: String,
    pub(super) resource: String,
    pub(super) namespace: Option<String>,
    pub(super) name: Option<String>,
    pub(super) subresource: Option<String>,
}

impl Target {
    /// `None` for a request that is not about a resource.
    pub(super) fn of(path: &str) -> Option<Self> {
        let parts: Vec<&str> = path.trim_matches('/').split('/').collect();
        let (root, group, rest) = match parts.as_slice() {
            ["api", version, rest @ ..] => (format!("/api/{version}"), "", rest),
            ["apis", group, version, rest @ ..] => {
                (format!("/apis/{group}/{version}"), *group, rest)
            }
            _ => return None,
        };
        let (namespace, rest) = match rest {
            ["namespaces", _] | ["namespaces", _, "status" | "finalize"] => (None, rest),
            ["namespaces", namespace, rest @ ..] => (Some(*namespace), rest),
            _ => (None, rest),
        };
        let mut rest = rest.iter().map(|part| (*part).to_owned());
        Some(Self {
            root,
            group: group.to_owned(),
            resource: rest.next().filter(|resource| !resource.is_empty())?,
            namespace: namespace.map(str::to_owned),
            name: rest.next(),
            subresource: rest.next(),
        })
    }

    /// As in messages and in the names of CRDs, such as `jobs.batch/status`.
    pub(super) fn full_resource(&self) -> String {
        let mut text = self.resource.clone();
        if !self.group.is_empty() {
            text = format!("{text}.{}", self.group);
        }
        if let Some(subresource) = &self.subresource {
            text = format!("{text}/{subresource}");
        }
        text
    }

    /// The path of the object itself; `None` for a collection.
    pub(super) fn object_path(&self) -> Option<String> {
        let name = self.name.as_deref()?;
        let namespace = self.namespace.as_deref();
        let namespace = namespace.map_or_else(String::new, |it| format!("/namespaces/{it}"));
        Some(format!("{}{namespace}/{}/{name}", self.root, self.resource))
    }
}
