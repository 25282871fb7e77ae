//! The files and lines of one API: what is rendered, and what goes above which marker.

use crate::layout;
use crate::marker::ScaffoldMarker;
use crate::plan::Change;
use crate::project::{Project, Resource};
use crate::templates::{self, ApiContext};

use super::super::init::with_license;
use super::super::{create, insert};

/// For whom the roles for people are.
const PEOPLE: [&str; 3] = ["admin", "editor", "viewer"];

/// The type with its sample, the first object that it must always read, and its roles for people; the lines that wire it in where it is new.
pub fn of_resource(
    project: &Project,
    resource: &Resource,
    force: bool,
    is_new: bool,
) -> Vec<Change> {
    let (version, kind) = (&resource.version, &resource.kind);
    let context = context(project, resource);
    let render = |name: &str| templates::render(&format!("api/{name}"), &context);
    let file = layout::sample_file(resource);
    let sample = format!("config/samples/{file}");
    let stored = format!("{}{file}", layout::STORED);
    let types = with_license(project, render("types.rs"));
    let mut changes = vec![
        create(layout::types(version, kind), types, force),
        create(sample, render("sample.yaml"), force),
        create(stored, render("sample.yaml"), force),
    ];
    let has_version = project.apis().any(|api| api.kind == *kind);
    for who in PEOPLE {
        let path = format!("config/rbac/{}", layout::role_file(kind, who));
        let text = render(&format!("{who}_role.yaml"));
        // The roles are one for all versions: another version leaves them as they are.
        changes.push(if is_new && has_version {
            Change::Keep { path, text }
        } else {
            create(path, text, force)
        });
    }
    if is_new {
        changes.extend(of_first(project, resource, &context, force));
        changes.extend(lines(project, resource));
    }
    changes
}

/// What the first API of a version brings along, and the first of the project.
fn of_first(
    project: &Project,
    resource: &Resource,
    context: &ApiContext,
    force: bool,
) -> Vec<Change> {
    let render = |name: &str| templates::render(&format!("api/{name}"), context);
    let version = &resource.version;
    let mut changes = Vec::new();
    if !project.apis().any(|api| api.version == *version) {
        let text = with_license(project, render("version.rs"));
        changes.push(create(layout::version_module(version), text, force));
        let module = format!("pub mod {version};");
        changes.push(insert(layout::API_LIB, ScaffoldMarker::Modules, module));
    }
    if project.apis().next().is_none() {
        for (path, template) in [
            (layout::CRD_KUSTOMIZATION, "crd_kustomization.yaml"),
            (layout::SAMPLES_KUSTOMIZATION, "samples_kustomization.yaml"),
        ] {
            changes.push(create(path, render(template), force));
        }
        let test = with_license(project, render("samples_test.rs"));
        changes.push(create(layout::SAMPLES_TEST, test, force));
        let module = "mod samples;".to_owned();
        changes.push(insert(layout::TESTS, ScaffoldMarker::Modules, module));
        let crd = "- ../crd".to_owned();
        changes.push(insert(
            layout::DEFAULT_KUSTOMIZATION,
            ScaffoldMarker::DefaultResources,
            crd,
        ));
    }
    changes
}

/// The lines that wire a new type in; its kind's, where it is the kind's first version.
fn lines(project: &Project, resource: &Resource) -> Vec<Change> {
    let kind = &resource.kind;
    let (module, stem) = (layout::version_module(&resource.version), kind.lower());
    let sample = format!("- \"{}\"", layout::sample_file(resource));
    let mut changes = vec![
        insert(
            &module,
            ScaffoldMarker::Modules,
            format!("mod {stem}_types;"),
        ),
        insert(
            &module,
            ScaffoldMarker::Exports,
            format!("pub use {stem}_types::*;"),
        ),
        insert(
            layout::SAMPLES_KUSTOMIZATION,
            ScaffoldMarker::Samples,
            sample,
        ),
    ];
    if !project.apis().any(|api| api.kind == *kind) {
        let crd = layout::crd_file(&resource.qualified_group(), resource.plural.as_str());
        let crd = format!("- \"bases/{crd}\"");
        changes.push(insert(
            layout::CRD_KUSTOMIZATION,
            ScaffoldMarker::CrdResources,
            crd,
        ));
        changes.extend(PEOPLE.map(|who| {
            let role = format!("- {}", layout::role_file(kind, who));
            insert(
                layout::RBAC_KUSTOMIZATION,
                ScaffoldMarker::RbacResources,
                role,
            )
        }));
    }
    changes
}

/// The reconciler with its test; their modules and the registration where they are new.
pub fn of_controller(
    project: &Project,
    resource: &Resource,
    force: bool,
    is_new: bool,
) -> Vec<Change> {
    let kind = &resource.kind;
    let context = context(project, resource);
    let render =
        |name: &str| with_license(project, templates::render(&format!("api/{name}"), &context));
    let mut changes = vec![
        create(layout::controller(kind), render("controller.rs"), force),
        create(
            layout::controller_test(kind),
            render("controller_test.rs"),
            force,
        ),
    ];
    if is_new {
        let module = layout::controller_module(kind);
        let registration = format!("controller::{module}::register,");
        changes.extend([
            insert(
                layout::CONTROLLERS,
                ScaffoldMarker::Modules,
                format!("pub mod {module};"),
            ),
            insert(
                layout::TESTS,
                ScaffoldMarker::Modules,
                format!("mod {module};"),
            ),
            insert(layout::LIB, ScaffoldMarker::Controllers, registration),
        ]);
    }
    changes
}

fn context(project: &Project, resource: &Resource) -> ApiContext {
    ApiContext {
        cluster: resource.is_cluster_scoped(),
        group: resource.qualified_group(),
        kind: resource.kind.to_string(),
        kind_lower: resource.kind.lower(),
        namespaced: project.namespaced,
        plural: resource.plural.to_string(),
        project: project.project_name.to_string(),
        sample: layout::sample_file(resource),
        sample_name: layout::sample_name(resource),
        version: resource.version.to_string(),
    }
}
