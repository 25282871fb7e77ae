//! A controller: its reconciler, its test, and the lines that register it.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker;
use crate::names::ControllerName;
use crate::project::{Project, Resource};
use crate::templates::{ControllerContext, ImportedContext, all};

use super::{Part, context, of_group, of_test};

/// What one controller of a type needs besides its own files; one without a name is named after the kind.
pub(super) fn around_controller(
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
    // Kubernetes' own types have no sample.
    if resource.core_type().is_none() {
        let sample = format!("\"{}\",", place.sample());
        let marker = ScaffoldMarker::CrashSamples;
        parts.push(Part::line(layout::CRASH_TEST, marker, sample));
    }
    parts
}

/// Its reconciler and its test; if it keeps a Deployment of an image, also the desired children and the status.
pub(crate) fn controller_files(
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
        // The fields of an imported type are not known here, such as those of its status.
        None if resource.is_own() && !resource.is_imported() => {
            (all::CONTROLLER, all::CONTROLLER_TEST)
        }
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

/// What a controller has of a reconciler in Go.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Imported {
    /// The calls by which the reconciler hears of other objects.
    pub(crate) calls: Vec<String>,
    /// The lines of the comment of its function.
    pub(crate) doc: Vec<String>,
    /// The name of its function.
    pub(crate) function: String,
    /// Its markers.
    pub(crate) markers: Vec<String>,
    /// Its file.
    pub(crate) path: String,
}

/// The reconciler and the test of a controller of a project in Go, whose logic is to be translated: path and text.
pub(crate) fn imported_controller(
    project: &Project,
    resource: &Resource,
    name: Option<&ControllerName>,
    imported: &Imported,
) -> Vec<(String, String)> {
    let place = Place::of(project, resource);
    let line = |line: &String| match line.as_str() {
        "" => String::new(),
        line => format!(" {line}"),
    };
    let context = ImportedContext {
        controller: ControllerContext {
            resource: context(project, resource),
            condition: condition(resource, name),
            module: place.controller_module(name),
            name: place.controller_name(name),
        },
        calls: imported.calls.clone(),
        doc: imported.doc.iter().map(line).collect(),
        function: imported.function.clone(),
        markers: imported.markers.clone(),
        path: imported.path.clone(),
    };
    let parts = [
        Part::file(place.controller(name), &all::IMPORTED_CONTROLLER, &context),
        Part::file(
            place.controller_test(name),
            &all::FOREIGN_CONTROLLER_TEST,
            &context.controller,
        ),
    ];
    let texts = parts
        .into_iter()
        .filter_map(|part| Some((part.path.clone(), part.text(project)?)));
    texts.collect()
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
