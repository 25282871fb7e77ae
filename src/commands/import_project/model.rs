//! The model of the new project: its kinds from the CRDs, its controllers from PROJECT and the code.

use std::collections::{BTreeMap, BTreeSet};
use std::str::FromStr;

use crate::commands::clashes::{check_clashes, check_controller};
use crate::commands::error::{Error, Result};
use crate::commands::import_crd;
use crate::import::go::GoProject;
use crate::import::go::error::GoError;
use crate::import::go::project_file::GoResource;
use crate::import::go::reconcilers::{self, Reconciler};
use crate::import::types::Imported;
use crate::names::{ControllerName, Domain, Group, Kind, NameError, Version};
use crate::project::{CoreType, Gvk, Project, Resource};

use super::remaining::{Remaining, Step, external};

/// A controller of the new project: its type, and its own name if it has one.
pub(super) type ControllerKey = (Gvk, Option<ControllerName>);

/// The new project, and which reconciler each of its controllers is.
pub(super) struct Model {
    pub(crate) project: Project,
    /// The index of the reconciler of each controller.
    pub(crate) controllers: BTreeMap<ControllerKey, usize>,
}

/// For `map_err`: a name of the Go project that kbr cannot use.
fn bad(dir: &str, what: &'static str) -> impl FnOnce(NameError) -> Error {
    let dir = dir.to_owned();
    move |error| {
        GoError::Name {
            dir,
            what,
            reason: error.reason,
            remedy: error.remedy,
        }
        .into()
    }
}

fn named<T: FromStr<Err = NameError>>(dir: &str, what: &'static str, text: &str) -> Result<T> {
    text.parse().map_err(bad(dir, what))
}

/// The domain of the project. Without one, groups have no domain after them, and the first is taken for it.
pub(super) fn domain(dir: &str, go: &GoProject<'_>) -> Result<Domain> {
    let own = go.project.resources.iter().find(|it| it.is_own());
    let domain = match (go.project.domain.as_str(), own) {
        ("", Some(resource)) => resource.qualified_group(),
        (domain, _) => domain.to_owned(),
    };
    named(dir, "a domain", &domain)
}

/// Whether the CRDs have several groups.
pub(super) fn has_groups(go: &GoProject<'_>) -> bool {
    let groups: BTreeSet<&str> = go.crds.iter().map(|crd| crd.group.as_str()).collect();
    groups.len() > 1
}

impl Model {
    pub(super) fn of(
        dir: &str,
        project: Project,
        go: &GoProject<'_>,
        kinds: &[Imported],
        reconcilers: &[Reconciler<'_, '_>],
        remaining: &mut Remaining,
    ) -> Result<Self> {
        let mut model = Self {
            project,
            controllers: BTreeMap::new(),
        };
        let mut errors = Vec::new();
        for imported in kinds {
            errors.extend(model.own(dir, imported).err());
        }
        Error::all(errors)?;
        model.conversions(dir, go, remaining)?;
        for resource in &go.project.resources {
            model.controllers(dir, go, resource, reconcilers, remaining)?;
        }
        model.unlisted(go, reconcilers, remaining);
        Ok(model)
    }

    /// Adds a version of a kind.
    fn own(&mut self, dir: &str, imported: &Imported) -> Result<()> {
        let resource =
            import_crd::own_type(&self.project, imported, |what, error| bad(dir, what)(error))?;
        import_crd::check(&self.project, imported, &resource)?;
        self.project.upsert(resource);
        Ok(())
    }

    /// Hubs and spokes, as PROJECT lists them.
    fn conversions(
        &mut self,
        dir: &str,
        go: &GoProject<'_>,
        remaining: &mut Remaining,
    ) -> Result<()> {
        for resource in &go.project.resources {
            let Some(listed) = resource.webhooks.as_ref().filter(|it| it.conversion) else {
                continue;
            };
            let gvk = resource.gvk();
            let Some(mut hub) = self.find(
                &resource.qualified_group(),
                &resource.version,
                &resource.kind,
            ) else {
                continue;
            };
            let mut spokes = Vec::new();
            for spoke in &listed.spoke {
                spokes.push(named::<Version>(dir, "a version", spoke)?);
            }
            // Before kubebuilder 4.4, PROJECT did not say which version is the hub.
            if spokes.is_empty() {
                if !hub.is_stored() {
                    continue;
                }
                let others = self.project.versions_of(&hub).map(|it| it.version.clone());
                spokes = others.filter(|version| *version != hub.version).collect();
            }
            if spokes.is_empty() {
                continue;
            }
            if !hub.is_stored() {
                remaining.add(
                    Step::Lost,
                    format!("`{gvk}` is the hub of its conversions and not the stored version, which kbr needs it to be: they are not carried over"),
                );
                continue;
            }
            let mut webhooks = hub.webhooks();
            webhooks.conversion = true;
            webhooks.spoke = spokes;
            hub.webhooks = Some(webhooks);
            self.project.upsert(hub);
        }
        Ok(())
    }

    /// The resource with that group, version and kind; a group of Kubernetes may be without its domain.
    pub(super) fn find(&self, group: &str, version: &str, kind: &str) -> Option<Resource> {
        let is_named = |it: &&Resource| {
            let is_group = it.qualified_group() == group
                || it.core_type().is_some_and(|core| core.group == group);
            is_group && it.version.as_str() == version && it.kind.as_str() == kind
        };
        self.project.resources.iter().find(is_named).cloned()
    }

    /// The same, or one of Kubernetes' own that the project does not have yet.
    pub(super) fn find_or_core(&self, group: &str, version: &str, kind: &str) -> Option<Resource> {
        if let Some(known) = self.find(group, version, kind) {
            return Some(known);
        }
        let group: Group = if group.is_empty() { "core" } else { group }.parse().ok()?;
        let core = CoreType::of_kind(&group, &kind.parse::<Kind>().ok()?)?;
        let core = (core.version == version).then_some(core)?;
        Resource::core(core)
            .ok()
            .filter(|it| check_clashes(&self.project, it).is_ok())
    }

    /// The controllers that PROJECT lists for a resource.
    fn controllers(
        &mut self,
        dir: &str,
        go: &GoProject<'_>,
        listed: &GoResource,
        reconcilers: &[Reconciler<'_, '_>],
        remaining: &mut Remaining,
    ) -> Result<()> {
        let mut names = Vec::new();
        for controller in &listed.controllers {
            names.push(Some(named::<ControllerName>(
                dir,
                "a controller",
                &controller.name,
            )?));
        }
        if names.is_empty()
            && listed.controller
            && reconcilers::is_of_version(go, listed, reconcilers)
        {
            names.push(None);
        }
        if listed.external {
            remaining.add(Step::Types, external(go, listed));
            return Ok(());
        }
        for name in names {
            let group = listed.qualified_group();
            let Some(resource) = self.find_or_core(&group, &listed.version, &listed.kind) else {
                remaining.add(
                    Step::Lost,
                    format!(
                        "the controller of `{}`: kbr does not know that type",
                        listed.gvk()
                    ),
                );
                continue;
            };
            let reconciler = self.reconciler(go, &resource, name.as_ref(), reconcilers);
            let Some(at) = reconciler else {
                remaining.add(
                    Step::Controllers,
                    format!(
                        "PROJECT lists a controller of `{}`, and no function `Reconcile` is for it: find what does its work, \
                         and add a controller with `kbr create api --resource=false` if it is one",
                        listed.gvk()
                    ),
                );
                continue;
            };
            self.add_controller(resource, name, at);
        }
        Ok(())
    }

    /// The reconciler of a controller: by its name if it has one.
    fn reconciler(
        &self,
        go: &GoProject<'_>,
        resource: &Resource,
        name: Option<&ControllerName>,
        reconcilers: &[Reconciler<'_, '_>],
    ) -> Option<usize> {
        let taken: Vec<usize> = self.controllers.values().copied().collect();
        let free = (0..reconcilers.len()).filter(|at| !taken.contains(at));
        let candidates: Vec<usize> = free
            .filter(|&at| is_of(go, &reconcilers[at], resource))
            .collect();
        let named = candidates.iter().copied().find(|&at| {
            let own = reconcilers[at].name.as_deref();
            name.is_some() && own == name.map(ControllerName::as_str)
        });
        let of_kind = || {
            let usual = format!("{}Reconciler", resource.kind);
            candidates
                .iter()
                .copied()
                .find(|&at| reconcilers[at].receiver == usual)
        };
        named.or_else(of_kind).or(candidates.first().copied())
    }

    fn add_controller(&mut self, mut resource: Resource, name: Option<ControllerName>, at: usize) {
        self.controllers.insert((resource.gvk(), name.clone()), at);
        resource.controllers.push(name);
        self.project.upsert(resource);
    }

    /// The reconcilers that PROJECT does not list.
    fn unlisted(
        &mut self,
        go: &GoProject<'_>,
        reconcilers: &[Reconciler<'_, '_>],
        remaining: &mut Remaining,
    ) {
        for (at, reconciler) in reconcilers.iter().enumerate() {
            if self.controllers.values().any(|taken| *taken == at) {
                continue;
            }
            let own = self.project.resources.iter().find(|it| {
                let is_first = it.is_stored() || it.core_type().is_some();
                is_first && is_of(go, reconciler, it)
            });
            let found = own.cloned().or_else(|| {
                let (gv, kind) = reconciler.target.as_ref()?;
                let (group, version) = gv.as_ref()?;
                self.find_or_core(group, version, kind)
            });
            let words = words(
                reconciler
                    .receiver
                    .strip_suffix("Reconciler")
                    .unwrap_or(reconciler.receiver),
            );
            let added = found.and_then(|resource| {
                let has_one = self
                    .project
                    .resources
                    .iter()
                    .any(|it| it.is_kind_of(&resource) && !it.controllers.is_empty());
                let name: Option<ControllerName> = if has_one {
                    Some(reconciler.name.clone().unwrap_or(words).parse().ok()?)
                } else {
                    None
                };
                let is_new = !resource.controllers.contains(&name);
                check_controller(&self.project, &resource, name.as_ref())
                    .ok()
                    .filter(|()| is_new)?;
                Some((resource, name))
            });
            match added {
                Some((resource, name)) => self.add_controller(resource, name, at),
                None => {
                    let (path, line) = (reconciler.file.path, reconciler.function.line);
                    let what = reconciler.full_name();
                    let kind = reconciler
                        .target
                        .as_ref()
                        .map_or("a type that is not in the code", |(_, kind)| kind.as_str());
                    let mut others = go.project.resources.iter().filter(|it| it.external);
                    remaining.add(Step::Controllers, if others.any(|it| it.kind == kind) {
format!("Translate `{what}` ({path}:{line}), once `kbr create api` has added the controller of `{kind}`, see above")
} else {
format!("`{what}` ({path}:{line}) reconciles `{kind}`, which is no type of the new project: add a controller for it by hand")
});
                }
            }
        }
    }
}

/// Whether a reconciler is for that type.
fn is_of(go: &GoProject<'_>, reconciler: &Reconciler<'_, '_>, resource: &Resource) -> bool {
    let Some((gv, kind)) = &reconciler.target else {
        return false;
    };
    let is_kind = kind == resource.kind.as_str();
    match gv {
        Some((group, _)) => {
            let is_group = *group == resource.qualified_group()
                || resource
                    .core_type()
                    .is_some_and(|core| core.group == group || core.is_meant_by(group));
            is_kind && is_group
        }
        // The package could not be read: the name of the kind must do, if only one group has it.
        None => is_kind && go.crds.iter().filter(|crd| crd.kind == *kind).count() < 2,
    }
}

/// `CaptainBackup` as `captain-backup`.
fn words(name: &str) -> String {
    let mut words = String::new();
    let mut was_lower = false;
    for c in name.chars() {
        if c.is_uppercase() && was_lower {
            words.push('-');
        }
        was_lower = c.is_lowercase() || c.is_ascii_digit();
        words.extend(c.to_lowercase());
    }
    words
}

#[cfg(test)]
mod tests {
    use super::words;

    #[test]
    fn a_receiver_becomes_a_name() {
        for (receiver, name) in [
            ("CaptainBackup", "captain-backup"),
            ("HTTPRoute", "httproute"),
            ("V1Job", "v1-job"),
        ] {
            assert_eq!(words(receiver), name);
        }
    }
}
