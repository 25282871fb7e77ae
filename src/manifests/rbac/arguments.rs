//! The arguments of an RBAC marker, which are controller-gen's, and checks of their combination.
//!
//! What the API server would refuse, or would accept and never grant, is refused here, with the
//! marker's location.

use super::super::code_marker::{CodeMarker, Location, MarkerError, MarkerKind, suggest};
use super::{Target, Words};
use crate::names::dns::{is_label, is_subdomain};

/// The verbs that Kubernetes uses. An authorizer may know others.
const VERBS: [&str; 14] = [
    "approve",
    "attest",
    "bind",
    "create",
    "delete",
    "deletecollection",
    "escalate",
    "get",
    "impersonate",
    "list",
    "patch",
    "update",
    "use",
    "watch",
];

/// The verbs of requests for URLs.
const URL_VERBS: [&str; 7] = ["delete", "get", "head", "options", "patch", "post", "put"];

const ARGUMENTS: [&str; 7] = [
    "groups",
    "namespace",
    "resourceNames",
    "resources",
    "roleName",
    "urls",
    "verbs",
];

/// The arguments of one marker, known and parsed, but not yet checked in combination.
pub(super) struct RbacArguments {
    groups: Words,
    names: Words,
    pub(super) namespace: Option<String>,
    resources: Words,
    pub(super) role: Option<String>,
    urls: Words,
    pub(super) verbs: Words,
}

impl RbacArguments {
    pub(super) fn read(marker: &CodeMarker) -> Result<Self, MarkerError> {
        marker.check_names(&ARGUMENTS)?;
        let words = |name: &str| -> Words {
            let words = marker.words(name).unwrap_or_default();
            words.into_iter().collect()
        };
        let one = |name: &str| {
            let words = words(name);
            if words.len() > 1 {
                let message = format!("`{name}` takes one word");
                return Err(marker.location.error(message, "write a marker for each"));
            }
            Ok(words.into_iter().next().filter(|word| !word.is_empty()))
        };
        Ok(Self {
            groups: words("groups"),
            names: words("resourceNames"),
            namespace: one("namespace")?,
            resources: words("resources"),
            role: one("roleName")?,
            urls: words("urls"),
            verbs: words("verbs"),
        })
    }

    /// Checks the combination of the arguments; an error says what to write instead.
    pub(super) fn check(&self, at: &Location, own_namespace: &str) -> Result<(), MarkerError> {
        if self.verbs.is_empty() || self.verbs.contains("") {
            return Err(at.error(
                "`+kbr:rbac` without `verbs` grants nothing",
                "add the verbs that you need, such as `verbs=get;list;watch`",
            ));
        }
        let is_part = |b: u8| b.is_ascii_lowercase() || b":-".contains(&b);
        let is_verb = |verb: &String| verb == "*" || verb.bytes().all(is_part);
        if !self.verbs.iter().all(is_verb) {
            return Err(at.error(
                "a verb is `*` or a word in lower case",
                "write the verbs that you need, such as `verbs=get;list;watch`",
            ));
        }
        if self
            .namespace
            .as_ref()
            .is_some_and(|name| name != own_namespace)
        {
            return Err(at.error(
                "`namespace` is not the operator's own, and `config/default` puts every role there",
                "omit `namespace`, or write the project's name followed by `-system`",
            ));
        }
        if self.resources.is_empty() == self.urls.is_empty() {
            return Err(at.error(
                "`+kbr:rbac` must name either `resources` or `urls`",
                MarkerKind::Rbac.example(),
            ));
        }
        if self.resources.is_empty() != self.groups.is_empty() {
            return Err(at.error(
                "`groups` and `resources` go together",
                "write `groups=\"\"` for the core group",
            ));
        }
        if [&self.resources, &self.urls, &self.names]
            .iter()
            .any(|words| words.contains(""))
        {
            return Err(at.error(
                "an empty word cannot be a resource, its name, or a URL",
                MarkerKind::Rbac.example(),
            ));
        }
        if !self.urls.is_empty() && (self.namespace.is_some() || !self.names.is_empty()) {
            return Err(at.error(
                "`urls` are cluster-wide",
                "omit `namespace` and `resourceNames`",
            ));
        }
        Ok(())
    }

    /// Refuses words that no request in Kubernetes has; an error says what to write instead.
    pub(super) fn check_words(&self, at: &Location) -> Result<(), MarkerError> {
        let is_path = |resource: &String| {
            resource
                .split('/')
                .all(|part| part == "*" || is_label(part))
        };
        if let Some(resource) = self.resources.iter().find(|resource| !is_path(resource)) {
            let message = format!("`{resource}` cannot be the name of a resource");
            let help =
                "write the plural in lower case, such as `deployments` or `deployments/status`";
            return Err(at.error(message, help));
        }
        let is_group = |group: &String| matches!(group.as_str(), "" | "*") || is_subdomain(group);
        if let Some(group) = self.groups.iter().find(|group| !is_group(group)) {
            let message = format!("`{group}` cannot be the name of an API group");
            let help = match group.split_once('/') {
                Some((group, _)) => format!("write `groups={group}`: a rule is for all versions"),
                None => {
                    "write a group in lower case, such as `apps` or `batch.example.com`".to_owned()
                }
            };
            return Err(at.error(message, help));
        }
        let is_url = |url: &String| {
            url == "*" || url.starts_with('/') && url.find('*').is_none_or(|at| at + 1 == url.len())
        };
        if let Some(url) = self.urls.iter().find(|url| !is_url(url)) {
            let message = format!("`{url}` is not a path of a URL");
            let help = "write it with a leading slash, such as `/metrics`; it may end with `*`";
            return Err(at.error(message, help));
        }
        let is_of_url = !self.urls.is_empty();
        let known = if is_of_url {
            &URL_VERBS[..]
        } else {
            &VERBS[..]
        };
        let is_odd = |verb: &&String| *verb != "*" && !known.contains(&verb.as_str());
        for verb in self.verbs.iter().filter(is_odd) {
            if let Some(help) = suggest(verb, known.iter().copied()) {
                return Err(at.error(format!("no request has the verb `{verb}`"), help));
            }
        }
        let is_name = |role: &&String| is_subdomain(&role.replace(':', "-"));
        if let Some(role) = self.role.as_ref().filter(|role| !is_name(role)) {
            let message = format!("`{role}` cannot be the name of a role");
            let help =
                "write lower-case letters, digits, `-` and `.`, such as `roleName=job-runner`";
            return Err(at.error(message, help));
        }
        Ok(())
    }

    /// Every single resource or URL of the marker.
    pub(super) fn targets(&self) -> Vec<Target> {
        let of_group = |group: &String| {
            let group = if group == "core" { "" } else { group.as_str() }.to_owned();
            let resource = move |resource: &String| Target::Resource {
                group: group.clone(),
                resource: resource.clone(),
                names: self.names.clone(),
            };
            self.resources.iter().map(resource)
        };
        let urls = self.urls.iter().cloned().map(Target::Url);
        self.groups.iter().flat_map(of_group).chain(urls).collect()
    }
}
