//! The markers of the Go code, at the controllers and the webhooks where they stood.

use std::collections::BTreeMap;

use crate::import::go::GoProject;
use crate::import::go::reconcilers::Reconciler;
use crate::import::go::source::Marker;
use crate::layout;
use crate::manifests;
use crate::manifests::code_marker::{self, CodeMarker};
use crate::names::WebhookPath;
use crate::project::{Admission, Gvk, Resource};
use crate::scaffold;

use super::model::{ControllerKey, Model};
use super::remaining::{Remaining, Step};
use super::role;

/// The markers as kbr writes them, without slashes.
#[derive(Debug, Default)]
pub struct Markers {
    pub of_controllers: BTreeMap<ControllerKey, Vec<String>>,
    /// The marker of each webhook, and where it stood.
    pub of_webhooks: BTreeMap<(Gvk, &'static str), (String, String)>,
    /// Those of the rest of the code, each with its file.
    pub of_rest: Vec<(String, String)>,
}

impl Markers {
    /// Reads the markers, and adds the webhooks that have one to the model.
    pub fn of(
        go: &GoProject<'_>,
        model: &mut Model,
        reconcilers: &[Reconciler<'_, '_>],
        remaining: &mut Remaining,
    ) -> Self {
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
        let of_role = role::missing(go, model, &found, remaining);
        let file = role::PATH.to_owned();
        found
            .of_rest
            .extend(of_role.into_iter().map(|text| (text, file.clone())));
        found
    }

    /// All markers that make roles.
    pub fn of_roles(&self) -> Vec<&str> {
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
        let text = format!("+kbr:{}", marker.text.replace('`', "\""));
        let mut lose = |why: &str| {
            let text = format!("{place}: `+kubebuilder:{}`: {why}", marker.text);
            remaining.add(Step::Lost, text);
        };
        let (read, mut errors) = code_marker::read(place, &format!("// {text}\n"));
        if errors.is_empty()
            && let Err(refused) = manifests::webhook::configurations(&read, false)
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
        candidates.retain(|it| {
            !self
                .of_webhooks
                .contains_key(&(it.gvk(), admission.option()))
        });
        let of_path = candidates.iter().position(|it| {
            it.webhook_path(admission)
                .is_ok_and(|default| default.as_str() == path)
        });
        let Some(resource) = candidates.get(of_path.unwrap_or(0)) else {
            let groups = words("groups");
            let mut listed = go.project.resources.iter().filter(|it| it.external);
            lose(
                match listed.any(|it| groups.contains(&it.qualified_group())) {
                    true => "its type belongs to another operator: see below",
                    false => {
                        "it is for no type of the new project, or for one that has such a webhook already: add it by hand"
                    }
                },
            );
            return;
        };
        if resource.core_type().is_some_and(|core| !core.has_webhooks) {
            lose(
                "kbr adds no webhook to that type: the cluster itself could not work while the operator is down",
            );
            return;
        }
        let typed = path.parse().ok().filter(|_| of_path.is_none());
        let resource = with_webhook(resource.clone(), admission, typed);
        let key = (resource.gvk(), admission.option());
        self.of_webhooks.insert(key, (text, place.to_owned()));
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

/// The folders of other Go modules in the project, which controller-gen does not read.
fn nested_modules(go: &GoProject<'_>) -> Vec<String> {
    let files = go
        .files
        .keys()
        .filter_map(|path| path.strip_suffix("/go.mod"));
    files.map(|folder| format!("{folder}/")).collect()
}

impl Markers {
    /// The line of a scaffolded webhook with its marker, replaced by the marker of the Go project.
    pub fn in_webhook(
        &self,
        resource: &Resource,
        admission: Admission,
        text: &str,
    ) -> Option<String> {
        let (marker, place) = self
            .of_webhooks
            .get(&(resource.gvk(), admission.option()))?;
        let lines = text
            .lines()
            .map(|line| match line.starts_with("// +kbr:webhook:") {
                true => format!("// {marker}"),
                false => line.to_owned(),
            });
        let lines: Vec<String> = lines.collect();
        let comment = format!("// In Go: {place}.\n");
        let text = lines.join("\n") + "\n";
        Some(text.replacen("// +kbr:webhook:", &format!("{comment}// +kbr:webhook:"), 1))
    }

    /// `src/lib.rs` with the markers of the rest of the code.
    pub fn in_lib(&self, text: &str) -> Option<String> {
        if self.of_rest.is_empty() {
            return None;
        }
        let mut block = String::new();
        let mut last = None;
        for (marker, file) in &self.of_rest {
            if last.replace(file) != Some(file) {
                block += &format!("// In Go: {file}.\n");
            }
            block += &format!("// {marker}\n");
        }
        let place = "/// The functions that register the controllers";
        debug_assert!(text.contains(place), "{}", layout::LIB);
        Some(text.replacen(place, &format!("{block}\n{place}"), 1))
    }

    /// The controllers as the scaffold of `kbr import project` has them.
    pub fn imported(
        &self,
        key: &ControllerKey,
        reconciler: &Reconciler<'_, '_>,
    ) -> scaffold::Imported {
        let doc = reconciler.function.doc.iter().map(|line| harmless(line));
        let is_wanted = |line: &String| !line.starts_with("nolint") && !line.starts_with("go:");
        scaffold::Imported {
            calls: reconciler.calls.clone(),
            doc: doc.filter(is_wanted).collect(),
            function: reconciler.full_name(),
            markers: self.of_controllers.get(key).cloned().unwrap_or_default(),
            path: reconciler.file.path.to_owned(),
        }
    }
}

/// A line of a comment in Go as one in Rust: nothing that rustc refuses, that rustfmt changes, or that kbr takes for a
/// marker.
fn harmless(line: &str) -> String {
    let is_fine = |c: &char| {
        !c.is_control()
            && !matches!(c, '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}')
    };
    let line: String = line.replace('\t', "    ").chars().filter(is_fine).collect();
    let line = line.trim_end();
    let (markers, errors) = code_marker::read("", &format!("// {line}\n"));
    match markers.is_empty() && errors.is_empty() {
        true => line.to_owned(),
        false => format!("| {line}"),
    }
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
    fn a_comment_in_go_is_no_marker() {
        assert_eq!(harmless("\tuses kbr:rbac: it"), "    uses kbr:rbac: it");
        assert_eq!(
            harmless("kubebuilder:rbac:groups=x"),
            "| kubebuilder:rbac:groups=x"
        );
        assert_eq!(harmless("a\u{202e}b  "), "ab");
    }
}
