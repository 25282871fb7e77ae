//! A type whose objects run an image, and the controller that keeps a Deployment of it.

use crate::layout::Place;
use crate::names::ControllerName;
use crate::project::{Image, Project, Resource};
use crate::templates::{ImageContext, all};

use super::{Part, context};

/// The type, its sample, and the first object that it must always be able to read.
pub fn of_type(project: &Project, resource: &Resource, image: &Image) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = image_context(project, resource, image);
    vec![
        Part::file(place.types(), all::IMAGE_TYPES, &context),
        Part::file(place.sample(), all::IMAGE_SAMPLE, &context),
        Part::file(place.stored_sample(), all::IMAGE_SAMPLE, &context),
    ]
}

/// The reconciler, its desired children and its status, and its test.
pub fn of_controller(project: &Project, resource: &Resource, image: &Image) -> Vec<Part> {
    let place = Place::of(project, resource);
    let name: Option<&ControllerName> = image.controller.as_ref();
    let files = [
        (place.controller(name), all::IMAGE_CONTROLLER),
        (place.controller_part(name, "children"), all::IMAGE_CHILDREN),
        (place.controller_part(name, "status"), all::IMAGE_STATUS),
        (place.controller_test(name), all::IMAGE_CONTROLLER_TEST),
    ];
    let context = image_context(project, resource, image);
    let files = files.into_iter();
    files
        .map(|(path, template)| Part::file(path, template, &context))
        .collect()
}

fn image_context(project: &Project, resource: &Resource, image: &Image) -> ImageContext {
    let place = Place::of(project, resource);
    let words = image.command.iter();
    let words: Vec<String> = words
        .map(|word| format!("    {:?},", word.as_str()))
        .collect();
    ImageContext {
        resource: context(project, resource),
        command: words.join("\n"),
        has_command: !image.command.is_empty(),
        has_port: image.port.is_some(),
        has_user: image.run_as_user.is_some(),
        image: image.image.to_string(),
        name: place.controller_name(image.controller.as_ref()),
        port: image.port.map(|it| it.to_string()).unwrap_or_default(),
        user: image
            .run_as_user
            .map(|it| it.to_string())
            .unwrap_or_default(),
    }
}
