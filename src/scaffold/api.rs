//! An API type: its module, its sample, the first object that it must always be able to read, the roles
//! for users of the API, and the lines that refer to them.

use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::project::{Project, Resource};
use crate::templates::{RoleContext, Template, all};

use super::{Part, context, image, of_group};

/// The roles for users of the API, each with its template.
const PEOPLE: [(&str, Template<RoleContext>); 3] = [
    ("admin", all::ADMIN_ROLE),
    ("editor", all::EDITOR_ROLE),
    ("viewer", all::VIEWER_ROLE),
];

/// Everything that one version of a type needs.
pub fn of_type(project: &Project, resource: &Resource) -> Vec<Part> {
    let mut parts = type_files(project, resource);
    parts.extend(of_version(project, resource));
    parts.extend(of_project(project, resource));
    parts.extend(lines(project, resource));
    parts
}

/// The files that belong only to this type; all versions of a kind share the roles.
pub fn type_files(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = context(project, resource);
    let mut parts = match resource.image() {
        Some(image) => image::of_type(project, resource, image),
        None => vec![
            Part::file(place.types(), all::TYPES, &context),
            Part::file(place.sample(), all::SAMPLE, &context),
            Part::file(place.stored_sample(), all::SAMPLE, &context),
        ],
    };
    parts.extend(PEOPLE.map(|(who, template)| {
        let context = RoleContext {
            resource: context.clone(),
            role: place.role_name(who),
        };
        let path = format!("{}{}", layout::RBAC, place.role_file(who));
        Part::file(path, template, &context)
    }));
    parts
}

/// The module of the version, in the module of its group.
fn of_version(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = context(project, resource);
    let mut parts = of_group(&place, layout::Folder::Api, resource);
    parts.push(Part::file(place.version_module(), all::VERSION, &context));
    parts.push(Part::line(
        place.parent(layout::Folder::Api),
        ScaffoldMarker::Modules,
        format!("pub mod {};", resource.version),
    ));
    parts
}

/// What all types share.
fn of_project(project: &Project, resource: &Resource) -> Vec<Part> {
    let context = context(project, resource);
    let mut parts: Vec<Part> = [
        (layout::CRD_KUSTOMIZATION, all::CRD_KUSTOMIZATION),
        (layout::SAMPLES_KUSTOMIZATION, all::SAMPLES_KUSTOMIZATION),
        (layout::SAMPLES_TEST, all::SAMPLES_TEST),
    ]
    .map(|(path, template)| Part::file(path, template, &context))
    .into();
    parts.push(Part::line(
        layout::TESTS,
        ScaffoldMarker::Modules,
        "mod samples;",
    ));
    parts.push(Part::line(
        layout::DEFAULT_KUSTOMIZATION,
        ScaffoldMarker::DefaultResources,
        "- ../crd",
    ));
    parts
}

/// The lines that register the type.
fn lines(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let (version, module) = (place.version_module(), place.types_module());
    let crd = layout::crd_file(&resource.qualified_group(), resource.plural.as_str());
    let mut parts = vec![
        Part::line(&version, ScaffoldMarker::Modules, format!("mod {module};")),
        Part::line(
            &version,
            ScaffoldMarker::Exports,
            format!("pub use {module}::*;"),
        ),
        Part::line(
            layout::SAMPLES_KUSTOMIZATION,
            ScaffoldMarker::Samples,
            format!("- \"{}\"", place.sample_file()),
        ),
        Part::line(
            layout::CRD_KUSTOMIZATION,
            ScaffoldMarker::CrdResources,
            format!("- \"bases/{crd}\""),
        ),
    ];
    parts.extend(PEOPLE.map(|(who, _)| {
        let role = format!("- {}", place.role_file(who));
        Part::line(
            layout::RBAC_KUSTOMIZATION,
            ScaffoldMarker::RbacResources,
            role,
        )
    }));
    parts
}
