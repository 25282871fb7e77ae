//! The scaffold as a function of the project model: every file and line that PROJECT's resources
//! and its scope need, except those that every project has from `kbr init`.
//!
//! A command adds the parts that only the scaffold of the new model has, and removes the parts that only
//! the scaffold of the old model has. So no code checks which resource is the first of its version or
//! the last of its group, and the order of commands does not matter. A part is rendered when its text is
//! needed, not for comparison. Pure.

mod api;
mod controller;
mod policy;
mod webhook;

use std::collections::BTreeSet;
use std::fmt::Display;

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::plan::Change;
use crate::project::{Admission, Certificates, License, Project, Resource};
use crate::rendered::Rendered;
use crate::templates::{
    CrdgenContext, CrdgenType, Filled, GroupContext, ResourceContext, ScopeContext, Template,
    Variables, all,
};

pub(crate) use api::type_files;
pub(crate) use controller::{Imported, controller_files, imported_controller};
pub(crate) use policy::policy_files;
pub(crate) use webhook::{
    CERTIFICATES_LINE, admission_files, conversion_files, imported_converter, webhook_name,
};

/// A file of the scaffold, or a line in one.
#[derive(Debug, Clone)]
pub(crate) struct Part {
    pub(crate) path: String,
    pub(crate) what: What,
}

#[derive(Debug, Clone)]
pub(crate) enum What {
    /// A user's file, from a template.
    File(Filled),
    /// A user's file whose text depends on more than the model: the command that creates it has the text. These lines
    /// of it follow from the model.
    Given(String),
    /// A line above a marker.
    Line {
        marker: ScaffoldMarker,
        fragment: String,
    },
}

/// What distinguishes one part from another.
pub(crate) type Identity<'a> = (&'a str, Option<(ScaffoldMarker, &'a str)>);

impl Part {
    fn file<C: Variables>(path: impl Into<String>, template: &Template<C>, context: &C) -> Self {
        Self {
            path: path.into(),
            what: What::File(template.with(context)),
        }
    }

    fn given(path: String) -> Self {
        Self::given_with(path, String::new())
    }

    fn given_with(path: String, lines: String) -> Self {
        Self {
            path,
            what: What::Given(lines),
        }
    }

    fn line(path: impl Into<String>, marker: ScaffoldMarker, fragment: impl Into<String>) -> Self {
        Self {
            path: path.into(),
            what: What::Line {
                marker,
                fragment: fragment.into(),
            },
        }
    }

    /// The line that declares a module.
    fn module(path: impl Into<String>, visibility: &str, name: impl Display) -> Self {
        let declaration = format!("{visibility}mod {name};");
        Self::line(path, ScaffoldMarker::Modules, declaration)
    }

    pub(crate) fn identity(&self) -> Identity<'_> {
        match &self.what {
            What::File(_) | What::Given(_) => (&self.path, None),
            What::Line { marker, fragment } => (&self.path, Some((*marker, fragment))),
        }
    }

    /// The change that creates it, unless its text is given; `force` is for a file that already exists.
    pub(crate) fn change(&self, project: &Project, force: bool) -> Option<Change> {
        let path = self.path.clone();
        match &self.what {
            What::File(_) => Some(Change::Create {
                path,
                text: self.text(project).unwrap_or_default(),
                force,
            }),
            What::Given(_) => None,
            What::Line { marker, fragment } => Some(Change::Insert {
                path,
                marker: *marker,
                fragment: fragment.clone(),
            }),
        }
    }

    /// What of a file follows from the model: its text, or lines of a text that is given.
    pub(crate) fn modelled(&self, project: &Project) -> Option<String> {
        match &self.what {
            What::Given(lines) => Some(lines.clone()),
            _ => self.text(project),
        }
    }

    /// The text of a file as it is scaffolded, before any line is inserted.
    pub(crate) fn text(&self, project: &Project) -> Option<String> {
        let What::File(template) = &self.what else {
            return None;
        };
        let text = template.render();
        Some(if self.path.ends_with(".rs") {
            with_license(project, text)
        } else {
            text
        })
    }
}

/// Everything that the project's resources and its scope need, each part once.
pub(crate) fn of(project: &Project) -> Vec<Part> {
    let resources = project.resources.iter();
    let mut parts: Vec<Part> = resources.flat_map(|it| of_resource(project, it)).collect();
    parts.push(of_scope(project));
    let mut seen = BTreeSet::new();
    parts.retain(|part| seen.insert(key(part)));
    parts
}

/// The file that binds the manager's role in the whole cluster, or the one that finds the bindings in namespaces.
pub(crate) fn of_scope(project: &Project) -> Part {
    let context = ScopeContext {
        project: project.project_name.to_string(),
    };
    if project.namespaced {
        let path = layout::NAMESPACE_REPLACEMENTS;
        Part::file(path, &all::NAMESPACE_REPLACEMENTS, &context)
    } else {
        Part::file(layout::ROLE_BINDING, &all::ROLE_BINDING, &context)
    }
}

/// The files that the tests of another operator's type need: its CRD, and an object.
fn of_external(project: &Project, resource: &Resource) -> [Part; 2] {
    let place = Place::of(project, resource);
    [place.external_crd(), place.sample()].map(Part::given)
}

/// The files that belong only to a resource, or to its kind.
pub(crate) fn files_of(project: &Project, resource: &Resource) -> Vec<Part> {
    let mut files = Vec::new();
    if resource.is_own() {
        files.extend(type_files(project, resource));
    }
    for name in &resource.controllers {
        files.extend(controller_files(project, resource, name.as_ref()));
    }
    let webhooks = resource.webhooks();
    let admissions = Admission::ALL.into_iter().filter(|it| webhooks.has(*it));
    files.extend(admissions.flat_map(|it| admission_files(project, resource, it)));
    let spokes = webhooks.spoke.iter();
    files.extend(spokes.flat_map(|spoke| conversion_files(project, resource, spoke)));
    let policies = resource.policies.all();
    files.extend(policies.flat_map(|it| policy_files(project, resource, it)));
    files
}

/// What kbr has rendered for the project. A release that changes a line above a marker must know the old line as
/// well, which `kbr update` would take for the owner's otherwise. The test with the kept scaffolds fails
/// then.
pub(crate) fn rendered(project: &Project) -> Rendered {
    let parts = of(project).into_iter();
    let lines = parts.filter_map(|part| match part.what {
        What::Line { marker, fragment } => Some((part.path, marker, fragment)),
        _ => None,
    });
    Rendered::new(project, lines)
}

/// The parts of two models with the same resources in the same order, as pairs: each part, and what
/// it becomes. Resources share parts, so one part may become several.
pub(crate) fn pairs(before: &Project, after: &Project) -> Vec<(Part, Part)> {
    let resources = before.resources.iter().zip(&after.resources);
    let pairs = resources.flat_map(|(old, new)| {
        of_resource(before, old)
            .into_iter()
            .zip(of_resource(after, new))
    });
    let of_scope = std::iter::once((of_scope(before), of_scope(after)));
    let mut seen = BTreeSet::new();
    let is_first = |(old, new): &(Part, Part)| seen.insert((key(old), key(new)));
    pairs.chain(of_scope).filter(is_first).collect()
}

/// Everything that one resource needs.
fn of_resource(project: &Project, resource: &Resource) -> Vec<Part> {
    let mut parts = files_of(project, resource);
    if resource.is_own() {
        parts.extend(api::around_type(project, resource));
    }
    if resource.external().is_some() {
        parts.extend(of_external(project, resource));
    }
    if resource.is_made_from_crd() {
        parts.extend(api::external_types(project, resource));
    }
    for name in resource.controllers.iter().map(Option::as_ref) {
        parts.extend(controller::around_controller(project, resource, name));
    }
    parts.extend(webhook::around_webhooks(project, resource));
    parts.extend(policy::around_policies(project, resource));
    parts
}

/// An identity that does not borrow from its part.
fn key(part: &Part) -> (String, Option<(ScaffoldMarker, String)>) {
    let (path, line) = part.identity();
    let owned = line.map(|(marker, fragment)| (marker, fragment.to_owned()));
    (path.to_owned(), owned)
}

/// The parts of `all` that are not among `others`.
pub(crate) fn without(all: Vec<Part>, others: &[Part]) -> Vec<Part> {
    let existing: BTreeSet<Identity<'_>> = others.iter().map(Part::identity).collect();
    let is_new = |part: &Part| !existing.contains(&part.identity());
    all.into_iter().filter(is_new).collect()
}

/// The module of the resource's group in a folder of the project, with the line that declares it; empty
/// in a project with one group.
fn of_group(place: &Place<'_>, folder: Folder, resource: &Resource) -> Vec<Part> {
    let (Some(module), Some(file)) = (place.group(), place.group_file(folder)) else {
        return Vec::new();
    };
    let (what, visibility) = match folder {
        Folder::Api => ("API types", "pub "),
        Folder::Controllers => ("controllers", "pub "),
        Folder::Tests => ("tests", ""),
        Folder::Webhooks => ("webhooks", "pub "),
    };
    let context = GroupContext {
        // Except for types, a module may serve two groups that are typed alike, one of the project and
        // one of Kubernetes.
        group: match folder {
            Folder::Api => resource.qualified_group(),
            _ => resource.group_name(),
        },
        what: what.to_owned(),
    };
    vec![
        Part::file(file, &all::GROUP, &context),
        Part::module(folder.file(), visibility, module),
    ]
}

/// The line that declares a module of integration tests, in the module of its group.
fn of_test(place: &Place<'_>, resource: &Resource, module: &str) -> Vec<Part> {
    let mut parts = of_group(place, Folder::Tests, resource);
    parts.push(Part::module(place.parent(Folder::Tests), "", module));
    parts
}

/// What templates know about a resource and its project.
fn context(project: &Project, resource: &Resource) -> ResourceContext {
    let place = Place::of(project, resource);
    let (core, image) = (resource.core_type(), resource.image());
    let words = image.map(|it| it.command.as_slice()).unwrap_or_default();
    let command = words.iter().map(|word| format!("    {:?},", word.as_str()));
    let port = image.and_then(|it| it.port);
    let user = image.and_then(|it| it.run_as_user);
    ResourceContext {
        api_kind: resource.kind.to_string(),
        api_version: resource.version.to_string(),
        cluster: resource.is_cluster_scoped(),
        command: command.collect::<Vec<_>>().join("\n"),
        core: core.is_some(),
        crate_name: project.project_name.crate_name(),
        example: core.map(|core| core.example).unwrap_or_default().to_owned(),
        external: resource.external().is_some(),
        group: match core {
            Some(core) if core.group.is_empty() => "\"\"".to_owned(),
            _ => resource.qualified_group(),
        },
        group_module: place.rust_prefix(),
        has_command: !words.is_empty(),
        has_root: resource.kind.type_name() != resource.kind.as_str(),
        has_port: port.is_some(),
        has_user: user.is_some(),
        image: image.map(|it| it.image.to_string()).unwrap_or_default(),
        kind: resource.kind.type_name(),
        kind_lower: resource.kind.lower(),
        namespaced: project.namespaced,
        own: resource.is_own(),
        plural: resource.plural.to_string(),
        port: port.map(|port| port.to_string()).unwrap_or_default(),
        project: project.project_name.to_string(),
        role: place.role(),
        sample: place.sample(),
        self_managed: project.certificates == Certificates::SelfManaged,
        sample_name: place.sample_name(),
        type_path: resource.foreign_path().unwrap_or_default(),
        user: user.map(|user| user.to_string()).unwrap_or_default(),
        version: resource.version.module(),
    }
}

/// The text of a user's Rust file, with the project's license header.
///
/// The header has no year, which would be wrong every January. The form of the second line is
/// that of the SPDX specification (annex E, "Using SPDX short identifiers in source files").
pub(crate) fn with_license(project: &Project, text: String) -> String {
    match project.license {
        License::None => text,
        License::Apache2 => {
            let owner = project.owner.as_ref().map_or_else(
                || format!("The {} authors", project.project_name),
                ToString::to_string,
            );
            format!("// Copyright {owner}\n// SPDX-License-Identifier: Apache-2.0\n\n{text}")
        }
    }
}

/// The program that prints the project's API types: owned by kbr, and the same for the same types.
pub(crate) fn crdgen(project: &Project) -> Change {
    let mut types: Vec<CrdgenType> = project
        .apis()
        .map(|api| CrdgenType {
            kind: api.kind.type_name(),
            module: format!(
                "{}{}",
                Place::of(project, api).rust_prefix(),
                api.version.module()
            ),
        })
        .collect();
    let with_policies = project
        .resources
        .iter()
        .filter(|it| !it.policies.is_empty());
    let mut kubernetes: Vec<CrdgenType> = with_policies
        .filter_map(Resource::core_type)
        .map(|core| CrdgenType {
            kind: core.kind.to_owned(),
            module: core.module.to_owned(),
        })
        .collect();
    for list in [&mut types, &mut kubernetes] {
        list.sort_by(|a, b| (&a.kind, &a.module).cmp(&(&b.kind, &b.module)));
    }
    let context = CrdgenContext {
        crate_name: format!("{}_api", project.project_name.crate_name()),
        has_kubernetes: !kubernetes.is_empty(),
        kubernetes,
        has_types: !types.is_empty(),
        types,
    };
    Change::Generate {
        path: layout::CRDGEN.to_owned(),
        text: all::CRDGEN.with(&context).render(),
    }
}
