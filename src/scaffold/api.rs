//! An API type: its module, its sample, the first object that it must always be able to read, the roles
//! for users of the API, and the lines that refer to them.

use crate::layout::{self, Folder, Place};
use crate::marker::ScaffoldMarker::{
    CrdResources, DefaultResources, Exports, RbacResources, Samples,
};
use crate::project::{Project, Resource};
use crate::templates::{GroupContext, ResourceContext, Template, all};

use super::{Part, context, of_group};

/// The roles for users of the API, each with its template.
const PEOPLE: [(&str, Template<ResourceContext>); 3] = [
    ("admin", all::ADMIN_ROLE),
    ("editor", all::EDITOR_ROLE),
    ("viewer", all::VIEWER_ROLE),
];

/// What one version of a type needs besides its own files.
pub(super) fn around_type(project: &Project, resource: &Resource) -> Vec<Part> {
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
        Part::module(place.parent(Folder::Api), "pub ", resource.version.module()),
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

/// The modules of a type of another operator that kbr made from its CRD.
pub(super) fn external_types(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let group = GroupContext {
        group: resource.qualified_group(),
        what: "types".to_owned(),
    };
    let context = context(project, resource);
    let [in_group, in_version, types] = place.external_types();
    let module = place.types_module();
    vec![
        Part::file(layout::EXTERNAL_TYPES, &all::EXTERNAL_TYPES, &context),
        Part::module(layout::API_LIB, "pub ", "external"),
        Part::file(&in_group, &all::GROUP, &group),
        Part::module(layout::EXTERNAL_TYPES, "pub ", resource.external_module()),
        Part::file(&in_version, &all::VERSION, &context),
        Part::module(&in_group, "pub ", resource.version.module()),
        Part::module(&in_version, "", &module),
        Part::line(&in_version, Exports, format!("pub use {module}::*;")),
        Part::given(types),
    ]
}

/// The files that belong only to this type; all versions of a kind share the roles.
pub(crate) fn type_files(project: &Project, resource: &Resource) -> Vec<Part> {
    let place = Place::of(project, resource);
    let context = context(project, resource);
    let (types, sample) = match resource.image() {
        Some(_) => (all::IMAGE_TYPES, all::IMAGE_SAMPLE),
        None => (all::TYPES, all::SAMPLE),
    };
    let mut parts = if resource.is_imported() {
        let api_version = format!("{}/{}", resource.qualified_group(), resource.version);
        let head = format!("apiVersion: {api_version}\nkind: {}\n", resource.kind);
        vec![
            Part::given(place.types()),
            Part::given_with(place.sample(), head.clone()),
            Part::given_with(place.stored_sample(), head),
        ]
    } else {
        vec![
            Part::file(place.types(), &types, &context),
            Part::file(place.sample(), &sample, &context),
            Part::file(place.stored_sample(), &sample, &context),
        ]
    };
    parts.extend(PEOPLE.map(|(who, template)| {
        let path = format!("{}{}", layout::RBAC, place.role_file(who));
        Part::file(path, &template, &context)
    }));
    parts
}
