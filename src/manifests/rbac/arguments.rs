//! The arguments of an RBAC marker, which are controller-gen's, and checks of their combination.
//!
//! What the API server would refuse, or would accept and never grant, is refused here, with the
//! marker's location.

use super::super::code_marker::{CodeMarker, MarkerError, MarkerKind, suggest};
use super::cluster_scoped::is_out_of_reach;
use super::{Target, WordSet};
use crate::names::dns::{is_label, is_subdomain};
use crate::names::is_among;
use crate::names::objects::MANAGER_ROLE;

/// The verbs that Kubernetes uses. An authorizer may know others.
const VERBS: &str = "\
    approve attest bind create delete deletecollection escalate get impersonate list patch update use \
    watch";

/// The verbs of requests for URLs.
const URL_VERBS: &str = "delete get head options patch post put";

const ARGUMENTS: &str = "groups namespace resourceNames resources roleName urls verbs";

/// The arguments of one marker.
pub(super) struct RbacArguments {
    groups: WordSet,
    names: WordSet,
    pub(super) namespace: Option<String>,
    resources: WordSet,
    pub(super) role: String,
    urls: WordSet,
    pub(super) verbs: WordSet,
}

impl RbacArguments {
    /// An operator that is namespaced has only Roles.
    pub(super) fn parse(
        marker: &CodeMarker,
        own_namespace: &str,
        is_namespaced: bool,
    ) -> Result<Self, MarkerError> {
        marker.check_names(ARGUMENTS)?;
        let words = |name: &str| WordSet::from_iter(marker.words(name).unwrap_or_default());
        let one = |name: &str| -> Result<Option<String>, MarkerError> {
            let words = words(name);
            marker.ensure(
                words.len() < 2,
                format!("`{name}` takes one word"),
                "write a marker for each",
            )?;
            Ok(words.into_iter().next().filter(|word| !word.is_empty()))
        };
        let arguments = Self {
            groups: words("groups"),
            names: words("resourceNames"),
            namespace: one("namespace")?,
            resources: words("resources"),
            role: one("roleName")?.unwrap_or_else(|| MANAGER_ROLE.to_owned()),
            urls: words("urls"),
            verbs: words("verbs"),
        };
        arguments.check(marker, own_namespace)?;
        arguments.check_words(marker)?;
        let refused = |target: &Target| match target {
            Target::Resource(group, resource, _) => {
                is_out_of_reach(group, resource, &arguments.verbs).then(|| format!("`{resource}`"))
            }
            Target::Url(url) => Some(format!("the URL `{url}`")),
        };
        let targets = arguments.targets();
        match targets.iter().find_map(refused).filter(|_| is_namespaced) {
            None => Ok(arguments),
            Some(target) => Err(marker.error(
                format!(
                    "no Role can grant these verbs on {target}, and PROJECT has `namespaced: true`: the operator has only Roles"
                ),
                "remove it from the marker, or add a ClusterRole with its binding to `config/rbac` manually",
            )),
        }
    }

    /// Checks the combination of the arguments; an error says what to write instead.
    fn check(&self, marker: &CodeMarker, own_namespace: &str) -> Result<(), MarkerError> {
        marker.ensure(
            !self.verbs.is_empty() && !self.verbs.contains(""),
            "`+kbr:rbac` without `verbs` grants nothing",
            "add the verbs that you need, such as `verbs=get;list;watch`",
        )?;
        let is_part = |b: u8| b.is_ascii_lowercase() || b":-".contains(&b);
        let is_verb = |verb: &String| verb == "*" || verb.bytes().all(is_part);
        marker.ensure(
            self.verbs.iter().all(is_verb),
            "a verb is `*` or a word in lower case",
            "write the verbs that you need, such as `verbs=get;list;watch`",
        )?;
        let namespace = self.namespace.as_ref();
        marker.ensure(
            namespace.is_none_or(|name| name == own_namespace),
            "`namespace` is not the operator's own, and `config/default` puts every role there",
            "omit `namespace`, or write the project's name followed by `-system`",
        )?;
        marker.ensure(
            self.resources.is_empty() != self.urls.is_empty(),
            "`+kbr:rbac` must name either `resources` or `urls`",
            MarkerKind::Rbac.example(),
        )?;
        marker.ensure(
            self.resources.is_empty() == self.groups.is_empty(),
            "`groups` and `resources` go together",
            "write `groups=\"\"` for the core group",
        )?;
        let named = [&self.resources, &self.urls, &self.names];
        marker.ensure(
            !named.iter().any(|words| words.contains("")),
            "an empty word cannot be a resource, its name, or a URL",
            MarkerKind::Rbac.example(),
        )?;
        marker.ensure(
            self.urls.is_empty() || namespace.is_none() && self.names.is_empty(),
            "`urls` are cluster-wide",
            "omit `namespace` and `resourceNames`",
        )
    }

    /// Refuses words that no request in Kubernetes has; an error says what to write instead.
    fn check_words(&self, marker: &CodeMarker) -> Result<(), MarkerError> {
        for resource in &self.resources {
            let mut parts = resource.split('/');
            marker.ensure(
                parts.all(|part| part == "*" || is_label(part)),
                format!("`{resource}` cannot be the name of a resource"),
                "write the plural in lower case, such as `deployments` or `deployments/status`",
            )?;
        }
        for group in &self.groups {
            let help = match group.split_once('/') {
                Some((group, _)) => format!("write `groups={group}`: a rule is for all versions"),
                None => {
                    "write a group in lower case, such as `apps` or `batch.example.com`".to_owned()
                }
            };
            marker.ensure(
                matches!(group.as_str(), "" | "*") || is_subdomain(group),
                format!("`{group}` cannot be the name of an API group"),
                help,
            )?;
        }
        for url in &self.urls {
            let is_prefix = || url.find('*').is_none_or(|at| at + 1 == url.len());
            marker.ensure(
                url == "*" || url.starts_with('/') && is_prefix(),
                format!("`{url}` is not a path of a URL"),
                "write it with a leading slash, such as `/metrics`; it may end with `*`",
            )?;
        }
        let known = if self.urls.is_empty() {
            VERBS
        } else {
            URL_VERBS
        };
        for verb in &self.verbs {
            let is_known = verb == "*" || is_among(known, verb);
            if !is_known && let Some(help) = suggest(verb, known.split(' ')) {
                return Err(marker.error(format!("no request has the verb `{verb}`"), help));
            }
        }
        let role = &self.role;
        marker.ensure(
            is_subdomain(&role.replace(':', "-")),
            format!("`{role}` cannot be the name of a role"),
            "write lower-case letters, digits, `-` and `.`, such as `roleName=job-runner`",
        )
    }

    /// Every single resource or URL of the marker.
    pub(super) fn targets(&self) -> Vec<Target> {
        let of_group = |typed: &String| {
            let group = if typed == "core" { "" } else { typed.as_str() }.to_owned();
            self.resources.iter().map(move |resource| {
                Target::Resource(group.clone(), resource.clone(), self.names.clone())
            })
        };
        let urls = self.urls.iter().cloned().map(Target::Url);
        self.groups.iter().flat_map(of_group).chain(urls).collect()
    }
}
