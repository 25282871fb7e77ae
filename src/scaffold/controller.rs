//! A controller: its reconciler, its test, and the lines that register it.

use crate::layout::{self, Place};
use crate::marker::ScaffoldMarker;
use crate::names::ControllerName;
use crate::project::{Project, Resource};
use crate::templates::{ControllerContext, ForeignControllerContext, all};

use super::{Part, example, image, marker_group, of_group, of_test};

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
    parts.extend(of_group(&place, layout::Folder::Controllers, resource));
    parts.extend([
        Part::line(
            place.parent(layout::Folder::Controllers),
            ScaffoldMarker::Modules,
            format!("pub mod {module};"),
        ),
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
    let place = Place::of(project, resource);
    if !resource.is_own() {
        let context = foreign_context(project, resource, name);
        return vec![
            Part::file(place.controller(name), all::FOREIGN_CONTROLLER, &context),
            Part::file(
                place.controller_test(name),
                all::FOREIGN_CONTROLLER_TEST,
                &context,
            ),
        ];
    }
    if let Some(image) = resource.image_of(name) {
        return image::of_controller(project, resource, image);
    }
    let context = context(project, resource, name);
    vec![
        Part::file(place.controller(name), all::CONTROLLER, &context),
        Part::file(place.controller_test(name), all::CONTROLLER_TEST, &context),
    ]
}

fn context(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> ControllerContext {
    let place = Place::of(project, resource);
    ControllerContext {
        cluster: resource.is_cluster_scoped(),
        condition: condition(resource, name),
        crate_name: project.project_name.crate_name(),
        group: resource.qualified_group(),
        group_module: place.rust_prefix(),
        kind: resource.kind.to_string(),
        module: place.controller_module(name),
        name: place.controller_name(name),
        namespaced: project.namespaced,
        plural: resource.plural.to_string(),
        sample: place.sample(),
        version: resource.version.to_string(),
    }
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

fn foreign_context(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
) -> ForeignControllerContext {
    let core = resource.core_type();
    let place = Place::of(project, resource);
    ForeignControllerContext {
        cluster: resource.is_cluster_scoped(),
        core: core.is_some(),
        example: example(resource),
        group: marker_group(resource),
        kind: resource.kind.to_string(),
        name: place.controller_name(name),
        namespaced: project.namespaced,
        owner: match core {
            Some(_) => "Kubernetes' own".to_owned(),
            None => "another operator's".to_owned(),
        },
        plural: resource.plural.to_string(),
        sample: place.sample(),
        type_path: resource.foreign_path().unwrap_or_default(),
    }
}
