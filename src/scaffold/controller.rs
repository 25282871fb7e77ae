//! A controller: its reconciler, its test, and the lines that register it.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::names::ControllerName;
use crate::project::{Project, Resource};
use crate::templates::{ControllerContext, all};

use super::{Part, context, of_group, of_test};

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
        Part::line(layout::LIB, ScaffoldMarker::Controllers, registration),
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
    // The Deployment is kept by one controller.
    let image = resource.image().filter(|it| it.controller.as_ref() == name);
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
