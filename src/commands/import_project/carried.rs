//! The markers of the Go code, at the controllers and the webhooks where they stood.

use std::collections::{BTreeMap, BTreeSet};

use crate::commands::error::Result;
use crate::import::go::GoProject;
use crate::import::go::reconcilers::Reconciler;
use crate::import::go::source::Marker;
use crate::manifests;
use crate::manifests::code_marker::{self, CodeMarker};
use crate::names::WebhookPath;
use crate::project::{Admission, Gvk, Resource};

use super::model::{ControllerKey, Model};
use super::remaining::{Remaining, Step};
use super::role;

/// The markers as kbr writes them, without slashes.
#[derive(Debug, Default)]
pub(super) struct Markers {
    pub(crate) of_controllers: BTreeMap<ControllerKey, Vec<String>>,
    /// The markers of each webhook, and where each stood. One webhook may be called in several ways, such as with
    /// another failure policy when an object is deleted.
    pub(crate) of_webhooks: BTreeMap<(Gvk, &'static str), Vec<(String, String)>>,
    /// Those of the rest of the code, each with its file.
    pub(crate) of_rest: Vec<(String, String)>,
}

impl Markers {
    /// Reads the markers, and adds the webhooks that have one to the model.
    pub(super) fn of(
        go: &GoProject<'_>,
        model: &mut Model,
        reconcilers: &[Reconciler<'_, '_>],
        remaining: &mut Remaining,
    ) -> Result<Self> {
        let mut found = Self::default();
        let nested = nested_modules(go);
        for file in &go.sources {
            if nested.iter().any(|folder| file.path.starts_with(folder)) {
                continue;
            }
            for marker in &file.markers {
                let place = format!("{}:{}", file.path, marker.line);
                match marker.text.split(':').next().unwrap_or_default() {
                    "rbac" => {
                        let Some(text) = found.rbac(go, model, marker, &place, remaining) else {
                            continue;
                        };
                        let here = reconcilers.iter().filter(|it| it.file.path == file.path);
                        let at = file.at_marker(marker, here.map(|it| it.function));
                        let key = at.and_then(|function| {
                            let mut all = model.controllers.iter();
                            let is_it =
                                |at: usize| std::ptr::eq(reconcilers[at].function, function);
                            Some(all.find(|(_, at)| is_it(**at))?.0.clone())
                        });
                        match key {
                            Some(key) => found.of_controllers.entry(key).or_default().push(text),
                            None => found.of_rest.push((text, file.path.to_owned())),
                        }
                    }
                    "webhook" => found.webhook(go, model, marker, &place, remaining),
                    "webhookconfiguration" => {
                        let text = format!("+kbr:{}", marker.text);
                        found.of_rest.push((text, file.path.to_owned()));
                    }
                    _ => {}
                }
            }
        }
        found.check_webhooks(go, model, remaining);
        let of_role = role::missing(go, model, &found, remaining)?;
        let file = role::PATH.to_owned();
        found
            .of_rest
            .extend(of_role.into_iter().map(|text| (text, file.clone())));
        Ok(found)
    }

    /// All markers that make roles.
    pub(super) fn of_roles(&self) -> Vec<&str> {
        let controllers = self.of_controllers.values().flatten().map(String::as_str);
        let rest = self.of_rest.iter().map(|(text, _)| text.as_str());
        controllers.chain(rest).collect()
    }

    /// An RBAC marker as kbr writes it, if kbr accepts it.
    fn rbac(
        &self,
        go: &GoProject<'_>,
        model: &Model,
        marker: &Marker<'_>,
        place: &str,
        remaining: &mut Remaining,
    ) -> Option<String> {
        let mut text = format!("+kbr:{}", marker.text.replace('`', "\""));
        if go.project.namespaced {
            text = without_namespace(&text);
        }
        let (read, mut errors) = code_marker::read(place, &format!("// {text}\n"));
        let own = model.project.project_name.namespace();
        if errors.is_empty()
            && let Err(refused) = manifests::rbac::roles(&read, &own, None)
        {
            errors.extend(refused);
        }
        match errors.first() {
            None => Some(text),
            Some(error) => {
                remaining.add(
                    Step::Lost,
                    format!(
                        "{place}: `+kubebuilder:{}`: {}; {}",
                        marker.text, error.message, error.help
                    ),
                );
                None
            }
        }
    }

    /// A webhook marker, for the type that it is for.
    fn webhook(
        &mut self,
        go: &GoProject<'_>,
        model: &mut Model,
        marker: &Marker<'_>,
        place: &str,
        remaining: &mut Remaining,
    ) {
        let text = format!("+kbr:{}", once(marker.text).replace('`', "\""));
        let mut lose = |why: &str| {
            let text = format!("{place}: `+kubebuilder:{}`: {why}", marker.text);
            remaining.add(Step::Lost, text);
        };
        let (read, mut errors) = code_marker::read(place, &format!("// {text}\n"));
        if errors.is_empty()
            && let Err(refused) = manifests::webhook::configurations(&read, false, &BTreeSet::new())
        {
            errors.extend(refused);
        }
        if let Some(error) = errors.first() {
            lose(&format!("{}; {}", error.message, error.help));
            return;
        }
        let Some(read) = read.first() else { return };
        let words = |name: &str| read.words(name).unwrap_or_default();
        let admission = match words("mutating").first().map(String::as_str) {
            Some("true") => Admission::Defaulting,
            _ => Admission::Validation,
        };
        let path = words("path").into_iter().next().unwrap_or_default();
        let mut candidates = candidates(model, read);
        let is_at = |it: &Resource| {
            it.webhook_path(admission)
                .is_ok_and(|own| own.as_str() == path)
        };
        candidates.retain(|it| {
            let key = (it.gvk(), admission.option());
            !self.of_webhooks.contains_key(&key) || is_at(it)
        });
        let of_path = candidates.iter().position(is_at);
        let Some(resource) = candidates.get(of_path.unwrap_or(0)) else {
            let groups = words("groups");
            let mut listed = go.project.resources.iter().filter(|it| it.external);
            lose(if listed.any(|it| groups.contains(&it.qualified_group())) {
                "its type belongs to another operator: see below"
            } else {
                "no type of the new project matches, or the type already has this webhook: add it by hand"
            });
            return;
        };
        if resource.core_type().is_some_and(|core| !core.has_webhooks) {
            lose(
                "kbr adds no webhook to that type: an unavailable operator would block the cluster itself",
            );
            return;
        }
        let mut resource = resource.clone();
        if !resource.webhooks().has(admission) {
            let typed = path.parse().ok().filter(|_| of_path.is_none());
            resource = with_webhook(resource, admission, typed);
        }
        let key = (resource.gvk(), admission.option());
        let markers = self.of_webhooks.entry(key).or_default();
        markers.push((text, place.to_owned()));
        model.project.upsert(resource);
    }

    /// Tells which webhooks PROJECT lists that no marker is for.
    fn check_webhooks(&self, go: &GoProject<'_>, model: &Model, remaining: &mut Remaining) {
        for listed in go.project.resources.iter().filter(|it| !it.external) {
            let Some(webhooks) = &listed.webhooks else {
                continue;
            };
            let found =
                model.find_or_core(&listed.qualified_group(), &listed.version, &listed.kind);
            for (admission, is_listed) in [
                (Admission::Defaulting, webhooks.defaulting),
                (Admission::Validation, webhooks.validation),
            ] {
                let has = found
                    .as_ref()
                    .is_some_and(|it| it.webhooks().has(admission));
                if is_listed && !has {
                    remaining.add(
                        Step::Lost,
                        format!("PROJECT lists a {admission} webhook of `{}`, and no `+kubebuilder:webhook` marker is for it", listed.gvk()),
                    );
                }
            }
        }
    }
}

/// The type with that webhook, at the path if it is not the usual one.
fn with_webhook(
    mut resource: Resource,
    admission: Admission,
    path: Option<WebhookPath>,
) -> Resource {
    let mut webhooks = resource.webhooks();
    match admission {
        Admission::Defaulting => (webhooks.defaulting, webhooks.defaulting_path) = (true, path),
        Admission::Validation => (webhooks.validation, webhooks.validation_path) = (true, path),
    }
    resource.webhooks = Some(webhooks);
    resource
}

/// The types that a webhook marker names.
fn candidates(model: &Model, marker: &CodeMarker) -> Vec<Resource> {
    let words = |name: &str| marker.words(name).unwrap_or_default();
    let mut found = Vec::new();
    for group in words("groups") {
        let group = match group.as_str() {
            "core" => String::new(),
            _ => group,
        };
        for version in words("versions") {
            found.extend(types(model, &group, &version, &words("resources")));
        }
    }
    found
}

/// The types with that group and version, and one of these plurals.
fn types(model: &Model, group: &str, version: &str, plurals: &[String]) -> Vec<Resource> {
    let is_own = |it: &&Resource| it.qualified_group() == group && it.version.as_str() == version;
    let own = model.project.resources.iter().filter(is_own);
    let is_named = |it: &&Resource| plurals.iter().any(|plural| plural == it.plural.as_str());
    let mut found: Vec<Resource> = own.filter(is_named).cloned().collect();
    if found.is_empty() {
        let kinds = plurals
            .iter()
            .filter_map(|plural| core_kind(group, version, plural));
        found.extend(kinds.filter_map(|kind| model.find_or_core(group, version, kind)));
    }
    found
}

fn core_kind(group: &str, version: &str, plural: &str) -> Option<&'static str> {
    let typed = if group.is_empty() { "core" } else { group }.parse().ok()?;
    let version = version.parse().ok()?;
    let mut core = crate::project::CoreType::of_version(&typed, &version);
    core.find(|core| core.plural == plural)
        .map(|core| core.kind)
}

/// A marker without the argument `namespace`: in a project that watches namespaces, every role is in each of them.
fn without_namespace(text: &str) -> String {
    let parts = text
        .split(',')
        .map(|part| match part.split_once("namespace=") {
            Some((before, _)) if before.is_empty() || before.ends_with(':') => before,
            _ => part,
        });
    let kept: Vec<&str> = parts.filter(|part| !part.is_empty()).collect();
    kept.join(",").replace("rbac:,", "rbac:")
}

/// A marker without arguments that repeat an earlier one, which controller-gen accepts.
fn once(text: &str) -> String {
    let mut kept: Vec<&str> = Vec::new();
    for part in text.split(',') {
        if !part.contains('=') || !kept.contains(&part) {
            kept.push(part);
        }
    }
    kept.join(",")
}

/// The folders of other Go modules in the project, which controller-gen does not read.
fn nested_modules(go: &GoProject<'_>) -> Vec<String> {
    let files = go
        .files
        .keys()
        .filter_map(|path| path.strip_suffix("/go.mod"));
    files.map(|folder| format!("{folder}/")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_of_a_marker_is_left_out() {
        for (text, without) in [
            (
                "+kbr:rbac:groups=a,namespace=x,verbs=get",
                "+kbr:rbac:groups=a,verbs=get",
            ),
            ("+kbr:rbac:namespace=x,groups=a", "+kbr:rbac:groups=a"),
            ("+kbr:rbac:groups=a,namespace=x", "+kbr:rbac:groups=a"),
        ] {
            assert_eq!(without_namespace(text), without);
        }
    }

    #[test]
    fn an_argument_that_is_given_twice_is_left_out() {
        assert_eq!(once("webhook:a=b,c=,d=b,c="), "webhook:a=b,c=,d=b");
    }
}
