//! An API type: its module, its sample, the first object that it must always be able to read, the roles
//! for users of the API, and the lines that refer to them. A controller: its reconciler, its test, and the lines
//! that register it.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker::{
    Controllers, CrdResources, DefaultResources, Exports, RbacResources, Samples,
};
use crate::names::ControllerName;
use crate::project::{Project, Resource};
use crate::templates::{ControllerContext, ResourceContext, Template, all};

use super::{Part, context, of_group, of_test};

/// The roles for users of the API, each with its template.
const PEOPLE: [(&str, Template<ResourceContext>); 3] = [
    ("admin", all::ADMIN_ROLE),
    ("editor", all::EDITOR_ROLE),
    ("viewer", all::VIEWER_ROLE),
];

/// What one version of a type needs besides its own files.
pub fn around_type(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = context(project, resource);
    let (version, module) = (place.version_module(), place.types_module());
    let exports = format!("pub use {module}::*;");
    let crd = layout::crd_file(&resource.qualified_group(), resource.plural.as_str());
    let base = format!("- \"bases/{crd}\"");
    let sample = format!("- \"{}\"", place.sample_file());

    let mut parts = of_group(&place, Folder::Api, resource);
    // What all types share.
    let shared = [
        (layout::CRD_KUSTOMIZATION, all::CRD_KUSTOMIZATION),
        (layout::SAMPLES_KUSTOMIZATION, all::SAMPLES_KUSTOMIZATION),
        (layout::SAMPLES_TEST, all::SAMPLES_TEST),
    ];
    parts.extend(shared.map(|(path, template)| Part::file(path, &template, &context)));
    parts.extend([
        Part::file(&version, &all::VERSION, &context),
        Part::module(place.parent(Folder::Api), "pub ", &resource.version),
        Part::module(layout::TESTS, "", "samples"),
        Part::line(layout::DEFAULT_KUSTOMIZATION, DefaultResources, "- ../crd"),
        Part::module(&version, "", &module),
        Part::line(&version, Exports, exports),
        Part::line(layout::SAMPLES_KUSTOMIZATION, Samples, sample),
        Part::line(layout::CRD_KUSTOMIZATION, CrdResources, base),
    ]);
    parts.extend(PEOPLE.map(|(who, _)| {
        let role = format!("- {}", place.role_file(who));
        Part::line(layout::RBAC_KUSTOMIZATION, RbacResources, role)
    }));
    parts
}

/// The files that belong only to this type; all versions of a kind share the roles.
pub fn type_files(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = context(project, resource);
    let (types, sample) = match resource.image() {
        Some(_) => (all::IMAGE_TYPES, all::IMAGE_SAMPLE),
        None => (all::TYPES, all::SAMPLE),
    };
    let mut parts = vec![
        Part::file(place.types(), &types, &context),
        Part::file(place.sample(), &sample, &context),
        Part::file(place.stored_sample(), &sample, &context),
    ];
    parts.extend(PEOPLE.map(|(who, template)| {
        let path = format!("{}{}", layout::RBAC, place.role_file(who));
        Part::file(path, &template, &context)
    }));
    parts
}

/// What one controller of a type needs besides its own files; one without a name is named after the kind.
pub fn around_controller(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> Vec<Part> {
    let place = Place::of(project, resource);
    let module = place.controller_module(name);
    let registration = format!("controller::{}{module}::register,", place.rust_prefix());
    let mut parts = of_group(&place, Folder::Controllers, resource);
    parts.extend([
        Part::module(place.parent(Folder::Controllers), "pub ", &module),
        Part::line(layout::LIB, Controllers, registration),
    ]);
    parts.extend(of_test(&place, resource, &module));
    parts
}

/// Its reconciler and its test; if it keeps a Deployment of an image, also the desired children and the status.
pub fn controller_files(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = ControllerContext {
        resource: context(project, resource),
        condition: condition(resource, name),
        module: place.controller_module(name),
        name: place.controller_name(name),
    };
    let image = resource.image_of(name);
    let (controller, test) = match image {
        Some(_) => (all::IMAGE_CONTROLLER, all::IMAGE_CONTROLLER_TEST),
        None if resource.is_own() => (all::CONTROLLER, all::CONTROLLER_TEST),
        None => (all::FOREIGN_CONTROLLER, all::FOREIGN_CONTROLLER_TEST),
    };
    let mut parts = vec![Part::file(place.controller(name), &controller, &context)];
    if image.is_some() {
        let modules = [
            ("children", all::IMAGE_CHILDREN),
            ("status", all::IMAGE_STATUS),
        ];
        parts.extend(modules.map(|(module, template)| {
            let path = place.controller_part(name, module);
            Part::file(path, &template, &context)
        }));
    }
    parts.push(Part::file(place.controller_test(name), &test, &context));
    parts
}

/// Type of the condition that a controller writes: `Ready`, or a type of its own if the kind may have
/// another controller.
fn condition(resource: &Resource, name: Option<&ControllerName>) -> String {
    let own = name.filter(|name| name.as_str() != resource.kind.lower());
    let words = own.iter().flat_map(|name| name.as_str().split('-'));
    let capital = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|letter| letter.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    format!("{}Ready", words.map(capital).collect::<String>())
}
