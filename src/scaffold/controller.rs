//! A controller: its reconciler, its test, and the lines that register it.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::names::ControllerName;
use crate::project::{Project, Resource};
use crate::templates::{ControllerContext, all};

use super::{Part, context, image, of_group, of_test};

/// Everything that one controller of a type needs; one without a name is named after the kind.
pub fn of_controller(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> Vec<Part> {
    let place = Place::of(project, resource);
    let module = place.controller_module(name);
    let registration = format!("controller::{}{module}::register,", place.rust_prefix());
    let mut parts = controller_files(project, resource, name);
    parts.extend(of_group(&place, Folder::Controllers, resource));
    parts.extend([
        Part::module(place.parent(Folder::Controllers), "pub ", &module),
        Part::line(layout::LIB, ScaffoldMarker::Controllers, registration),
    ]);
    parts.extend(of_test(&place, resource, &module));
    parts
}

/// Its reconciler and its test.
pub fn controller_files(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> Vec<Part> {
    if let Some(image) = resource.image_of(name) {
        return image::of_controller(project, resource, image);
    }
    let place = Place::of(project, resource);
    let context = ControllerContext {
        resource: context(project, resource),
        condition: condition(resource, name),
        module: place.controller_module(name),
        name: place.controller_name(name),
        owner: match resource.core_type() {
            Some(_) => "Kubernetes' own".to_owned(),
            None => "another operator's".to_owned(),
        },
    };
    let (controller, test) = if resource.is_own() {
        (all::CONTROLLER, all::CONTROLLER_TEST)
    } else {
        (all::FOREIGN_CONTROLLER, all::FOREIGN_CONTROLLER_TEST)
    };
    vec![
        Part::file(place.controller(name), controller, &context),
        Part::file(place.controller_test(name), test, &context),
    ]
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
